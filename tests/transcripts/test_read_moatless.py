"""Check the reader of moatless on small real files, on the corpus and on the cases these lack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxheap.heap.model import Usage
from ctxheap.providers.json_fields import fields, objects, tokens
from transcripts.written import DATA, calls_of, read_file, tags, texts, write_json

Json = dict[str, object]


def node(number: int, parent: int | None, text: str) -> Json:
    answer = {"id": f"m{number}", "type": "message", "role": "assistant", "content": text}
    asked: Json = {"input": [{"role": "user", "content": "do it"}], "response": answer}
    return {"node_id": number, "parent_id": parent, "completions": {"build_action": asked}}


def test_calls_of_a_tree_hold_their_whole_input_and_what_an_action_asks_is_a_child() -> None:
    name, calls, skipped = read_file(DATA / "moatless" / "trajectory.json")

    assert (name, skipped) == ("moatless", [])
    assert [(call.session, call.parent, call.agent) for call in calls] == [
        ("psf__requests-1963", None, ""),
        ("psf__requests-1963/execute_action/1", "psf__requests-1963", "execute_action"),
        ("psf__requests-1963", None, ""),
    ]
    assert [call.usage for call in calls] == [
        Usage(uncached=536, cache_write_5m=3982, output=191),
        Usage(uncached=5030, output=481),
        Usage(uncached=5, cache_read=3982, cache_write_5m=3132, output=423),
    ]
    assert tags(calls[2].prompt) == [
        "system_prompt",
        "system_prompt",
        "user_turn",
        "user_turn",
        "agent_output",
        "tool_call:SemanticSearch",
        "tool_result:SemanticSearch",
    ]


def test_a_further_child_of_a_node_is_a_fork(tmp_path: Path) -> None:
    body: Json = {"nodes": [node(0, None, "a"), node(1, 0, "b"), node(2, 0, "c"), node(3, 2, "d")]}

    calls = calls_of(write_json(tmp_path / "t.json", body))

    assert [(call.session, call.parent) for call in calls] == [
        ("t", None),
        ("t", None),
        ("t/node-2", "t"),
        ("t/node-2", "t"),
    ]


def test_each_state_of_a_machine_is_a_session_that_remembers_its_own_answers() -> None:
    name, calls, skipped = read_file(DATA / "moatless" / "transitions.json")

    assert (name, skipped) == ("moatless", [])
    assert [call.agent for call in calls] == [
        "SearchCode",
        "IdentifyCode",
        "DecideRelevance",
        "PlanToCode",
        *["ClarifyCodeChange"] * 3,
    ]
    assert calls[0].usage == Usage(uncached=2658, output=293)
    assert {call.incomplete for call in calls} == {True}
    assert tags(calls[5].prompt) == [
        "system_prompt",
        "user_turn",
        "tool_call:ClarifyCodeChange",
        "tool_result:ClarifyCodeChange",
    ]
    assert calls[5].prompt[3].error
    assert (calls[0].parent, calls[1].parent) == (None, calls[0].session)


def test_a_state_without_history_sees_only_its_own_retries(tmp_path: Path) -> None:
    again: Json = {"action": {"a": 1}, "retry_message": "no"}
    step: Json = {"name": "Edit", "actions": [again, {"action": {"a": 2}, "output": {"x": 1}}]}
    body: Json = {"initial_message": "task", "transitions": [step, step, {"name": "Odd", "actions": []}]}

    _, calls, skipped = read_file(write_json(tmp_path / "t.json", body))

    assert [texts(call.prompt)[1:] for call in calls] == [["task"], ["task", '{"a":1}', "no"]] * 2
    assert skipped == ["transition 2 (Odd): no action"]


@pytest.mark.shared
def test_every_file_of_the_corpus_bills_what_its_records_count(shared: Path) -> None:
    paths = sorted((shared / "data" / "moatless").rglob("*.json"))

    assert len(paths) == 32
    for path in paths:
        billed = [call.usage.input + call.usage.output for call in calls_of(path) if call.usage]
        assert sum(billed) == _counted(json.loads(path.read_bytes())), path


def _counted(value: object) -> int:
    """Return all tokens that a file counts, without the reader."""
    document = fields(value)
    keys = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    steps = [action for step in objects(document.get("transitions")) for action in objects(step["actions"])]
    for item in objects(document.get("nodes")):
        steps += [
            fields(fields(fields(made)["response"])["usage"]) for made in fields(item["completions"]).values()
        ]
    return sum(tokens(step.get(key)) for step in steps for key in keys)
