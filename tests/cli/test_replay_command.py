"""Check `ctxheap replay`: what it prints, and what it says when it cannot."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from cli.worlds import Pipe
from ctxheap_collector.cli.exits import Exit
from ctxheap_collector.cli.main import main
from ctxheap_collector.cli.world import World

LISTING = "\n".join(f"src/orders/handler_{n}.py region-{n * 37}" for n in range(400))
POLICY = """
budget_tokens: 1000
rules:
  - action: evict
    match: {tags: ["tool_result:*"]}
    when: {older_calls: 3}
"""


def turn(number: int, result: str) -> list[dict[str, Any]]:
    function = {"name": "list", "arguments": json.dumps({"page": number})}
    return [
        {
            "role": "assistant",
            "content": f"page {number}",
            "tool_calls": [{"id": f"t{number}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"t{number}", "content": result},
    ]


def chat(folder: Path) -> Path:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "list all"}]
    for number in range(8):
        messages += turn(number, f"{number}: {LISTING}")
    messages.append({"role": "assistant", "content": "done"})
    path = folder / "chat.json"
    path.write_text(json.dumps({"model": "gpt-4o", "messages": messages}), "utf-8")
    return path


def run(folder: Path, *arguments: str, installed: bool = True) -> tuple[int, str, str]:
    out, err = Pipe(), io.StringIO()
    world = World(out=out, err=err, env={}, home=folder, is_installed=lambda name: installed)
    code = main(["replay", *arguments], world=world)
    out.flush()
    return code, out.buffer.getvalue().decode(), err.getvalue()  # type: ignore[attr-defined]


def test_all_triggers_stand_side_by_side(tmp_path: Path) -> None:
    policy = tmp_path / "reclaim.yaml"
    policy.write_text(POLICY, "utf-8")

    code, out, err = run(tmp_path, "--policy", str(policy), str(chat(tmp_path)))

    assert (code, err) == (Exit.FINE, "")
    assert [line.split()[0] for line in out.splitlines() if line] == [
        "session",
        "trigger",
        "on_demand",
        "economic",
        "eager",
    ]


def test_json_holds_policy_bills_and_what_was_freed(tmp_path: Path) -> None:
    policy = tmp_path / "reclaim.yaml"
    policy.write_text(POLICY, "utf-8")

    code, out, _ = run(
        tmp_path, "--policy", str(policy), "--trigger", "on_demand", "--json", str(chat(tmp_path))
    )

    document = json.loads(out)
    (row,) = document["replays"]
    assert code == Exit.FINE
    assert document["policy"]["budget_tokens"] == 1_000
    assert row["trigger"] == "on_demand"
    assert row["refusals"] == []
    assert {item["action"] for item in row["freed"]} == {"evict"}
    assert row["replayed"]["input"] < row["baseline"]["input"]
    assert row["replayed"]["peak"] < row["baseline"]["peak"]


def test_an_unusable_policy_ends_with_key_value_and_remedy(tmp_path: Path) -> None:
    policy = tmp_path / "reclaim.yaml"
    policy.write_text("rules: [{action: forget}]", "utf-8")

    code, out, err = run(tmp_path, "--policy", str(policy), str(chat(tmp_path)))

    assert (code, out) == (Exit.USAGE, "")
    assert err == (
        f"ctxheap: {policy}: rules[0].action: 'forget'; "
        "one of dedupe, truncate, evict, pin, compact is wanted\n"
    )


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    code, _, err = run(tmp_path, str(chat(tmp_path)), installed=False)

    assert code == Exit.USAGE
    assert err == 'ctxheap: rich, genai-prices and pyyaml missing; run: pip install "ctxheap[profile]"\n'


def test_a_session_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, "--session", "none", "--json", str(chat(tmp_path)))

    assert (code, out) == (Exit.USAGE, "")
    assert err == "ctxheap: there is no session 'none'; the largest are chat\n"


def test_no_session_is_wrong_use(tmp_path: Path) -> None:
    code, _, err = run(tmp_path, str(tmp_path))

    assert code == Exit.USAGE
    assert err == f"ctxheap: no session in {tmp_path}\n"


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_an_input_that_cannot_be_read_is_told_beside_those_that_can(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    missing = tmp_path / "missing.jsonl"

    code, out, err = run(tmp_path, *flags, str(chat(tmp_path)), str(missing))

    assert code == Exit.USAGE
    assert "on_demand" in out
    assert err.startswith(f"ctxheap: {missing}: ")


def test_the_order_of_paths_changes_nothing_and_all_sessions_are_summed(tmp_path: Path) -> None:
    first, second = chat(tmp_path), tmp_path / "again.json"
    second.write_bytes(first.read_bytes())

    code, out, _ = run(tmp_path, "--json", str(first), str(second))
    _, turned, _ = run(tmp_path, "--json", str(second), str(first))
    _, text, _ = run(tmp_path, str(first), str(second))

    document = json.loads(out)
    rows = document["replays"]
    assert (code, out) == (Exit.FINE, turned)
    assert [file["path"] for file in document["files"]] == [str(second), str(first)]
    assert [total["sessions"] for total in document["totals"]] == [2, 2, 2]
    for number, total in enumerate(document["totals"]):
        each = rows[number::3]
        assert total["trigger"] == each[0]["trigger"] == each[1]["trigger"]
        assert total["net_equivalents"] == pytest.approx(sum(row["net_equivalents"] for row in each))
        assert total["replayed"]["input"] == sum(row["replayed"]["input"] for row in each)
    assert "all 2 sessions: " in text
