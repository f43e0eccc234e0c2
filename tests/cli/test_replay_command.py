"""Check `ctxheap replay`: what it prints, and what it says when it cannot."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

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


def test_no_session_is_wrong_use(tmp_path: Path) -> None:
    code, _, err = run(tmp_path, "--session", "none", str(chat(tmp_path)))

    assert code == Exit.USAGE
    assert err == f"ctxheap: no session in {tmp_path / 'chat.json'}\n"
