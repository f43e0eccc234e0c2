"""Check `ctxheap suggest` on a generated leak: rules that pay, a file that replay reads, honest noes."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from cli.worlds import FakeProfiler, run
from ctxheap.reclaim.policy import load_policy
from report.samples import profile

DEMO = str(files("ctxheap_collector").joinpath("demo/session.jsonl.gz"))
CALLS = 40
LISTING = " ".join(f"entry-{k:04}.log" for k in range(900))


def polling(path: Path) -> str:
    """Write an agent that asks for the same listing at every step and looks at one new line of it."""
    messages: list[dict[str, object]] = [{"role": "user", "content": "Watch the folder until it is empty."}]
    for k in range(CALLS):
        call = {"name": "list_dir", "arguments": json.dumps({"path": "/var/spool"})}
        asked = {"id": f"c{k}", "type": "function", "function": call}
        messages.append({"role": "assistant", "content": f"Look number {k}.", "tool_calls": [asked]})
        messages.append({"role": "tool", "tool_call_id": f"c{k}", "content": LISTING})
    messages.append({"role": "assistant", "content": "It is not empty."})
    file = path / "watch.json"
    file.write_text(json.dumps({"model": "gpt-4o", "messages": messages}), "utf-8")
    return str(file)


def test_copies_are_freed_and_the_file_is_a_policy(tmp_path: Path) -> None:
    rules = tmp_path / "reclaim.yaml"

    outcome = run(
        "suggest", polling(tmp_path), "-o", str(rules), profiler=FakeProfiler(profile()), home=tmp_path
    )

    assert outcome.code == 0
    assert "dedupe tool_result:list_dir" in outcome.out
    actions = [(rule.action, rule.match.tags) for rule in load_policy(rules).rules]
    assert ("dedupe", ("tool_result:list_dir",)) in actions


def test_json_holds_the_keys_of_the_contract(tmp_path: Path) -> None:
    outcome = run("suggest", polling(tmp_path), "--json", profiler=FakeProfiler(profile()), home=tmp_path)

    document = json.loads(outcome.out)
    row = document["suggestions"][0]
    assert document["sessions"] == 1
    assert row["accepted"] is True
    assert row["net_tokens"] > 0


def test_rules_that_do_not_pay_are_not_written(tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text('[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]', "utf-8")
    rules = tmp_path / "reclaim.yaml"

    outcome = run("suggest", str(chat), "-o", str(rules), profiler=FakeProfiler(profile()), home=tmp_path)

    assert outcome.code == 0
    assert "was not written" in outcome.err
    assert not rules.exists()


def test_rejected_rules_say_why(tmp_path: Path) -> None:
    outcome = run("suggest", DEMO, profiler=FakeProfiler(profile()), home=tmp_path)

    assert outcome.code == 0
    assert "No rule would have paid here" in outcome.out
    assert "not evict tool_" in outcome.out


def test_session_that_is_not_there_is_named(tmp_path: Path) -> None:
    outcome = run("suggest", DEMO, "--session", "zzz", profiler=FakeProfiler(profile()), home=tmp_path)

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "ctxheap: there is no session 'zzz' among the 1 read\n"


@pytest.mark.parametrize("name", ["none.jsonl", "empty"])
def test_nothing_to_read_ends_with_code_2(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()

    outcome = run("suggest", str(tmp_path / name), profiler=FakeProfiler(profile()), home=tmp_path)

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err
