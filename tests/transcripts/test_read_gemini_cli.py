"""Check the reader of Gemini CLI on a small real file, on the corpus and on the cases these lack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxheap.heap.model import Compaction, Usage
from ctxheap.providers.json_fields import fields, objects, tokens
from transcripts.written import DATA, calls_of, grows, read_file, tags, texts, write_json, write_lines

Json = dict[str, object]
HEADER: Json = {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-02T03:04:05Z", "kind": "main"}


def user(name: str, text: str) -> Json:
    return {"id": name, "type": "user", "timestamp": "2026-01-02T03:04:05Z", "content": [{"text": text}]}


def model(name: str, text: str, billed: int = 0) -> Json:
    answer: Json = {"id": name, "type": "gemini", "content": text, "model": "gemini-2.5-pro"}
    return {**answer, "tokens": {"input": billed, "output": 1}} if billed else answer


def test_a_document_holds_calls_with_their_tools_and_results() -> None:
    name, calls, skipped = read_file(DATA / "gemini-cli" / "session.json")

    assert (name, skipped) == ("gemini-cli", [])
    assert [call.usage for call in calls] == [
        Usage(uncached=3994, cache_read=7900, output=412, reasoning=344),
        Usage(uncached=9126, cache_read=11834, output=19809, reasoning=10849),
        Usage(uncached=23402, cache_read=20092, output=720, reasoning=423),
    ]
    assert tags(calls[1].prompt) == [
        "system_prompt",
        "user_turn",
        "agent_reasoning",
        *["tool_call:read_file"] * 3,
        *["tool_result:read_file"] * 3,
    ]
    assert calls[1].prompt[2].tokens == 344
    ids = [part.call_id for part in calls[1].prompt[3:]]
    assert (ids[:3], len(set(ids))) == (ids[3:], 3)
    assert {(call.session, call.provider) for call in calls} == {
        ("8a20078e-2d5e-4f81-a640-9b879bbb7e6d", "gcp.gemini")
    }
    assert grows(calls)


def test_a_message_that_is_written_again_is_one_call_with_its_last_counts(tmp_path: Path) -> None:
    called: Json = {"id": "c", "name": "f", "args": {}, "result": "out"}
    lines = [HEADER, user("u", "go"), model("a", ""), {**model("a", "", 10), "toolCalls": [called]}]

    calls = calls_of(write_lines(tmp_path / "s.jsonl", [*lines, model("b", "done", 20)]))

    assert [call.usage and call.usage.input for call in calls] == [10, 20]
    assert tags(calls[1].prompt)[1:] == ["user_turn", "tool_call:f", "tool_result:f"]
    assert calls[0].prompt[0].kind == "hidden"


def test_what_is_rewound_was_billed_and_leaves_the_prompt(tmp_path: Path) -> None:
    lines = [
        HEADER,
        user("u", "one"),
        model("a", "1", 10),
        user("v", "two"),
        model("b", "2", 20),
        {"$rewindTo": "v"},
        user("w", "three"),
        model("c", "3", 30),
    ]

    calls = calls_of(write_lines(tmp_path / "s.jsonl", lines))

    assert [call.usage and call.usage.input for call in calls] == [10, 20, 30]
    assert texts(calls[2].prompt)[1:] == ["one", "1", "three"]


def test_a_history_that_is_replaced_is_a_compaction(tmp_path: Path) -> None:
    snapshot = user("x", "<state_snapshot>so far</state_snapshot>")
    lines = [
        HEADER,
        {"$set": {"messages": [user("u", "<session_context>here</session_context>")]}},
        user("v", "one"),
        model("a", "1", 10),
        {"$set": {"messages": [snapshot]}},
        {"$set": {"lastUpdated": "later"}},
        model("b", "2", 20),
    ]

    calls = calls_of(write_lines(tmp_path / "s.jsonl", lines))

    assert tags(calls[0].prompt)[1:] == ["harness:session-context", "user_turn"]
    assert tags(calls[1].prompt)[1:] == ["summary"]
    assert [call.compaction for call in calls] == [None, Compaction()]


def test_a_sub_agents_session_has_the_folder_as_parent_and_thoughts_of_old_models_stay_away(
    tmp_path: Path,
) -> None:
    thoughts = {"thoughts": [{"subject": "s", "description": "d"}]}
    lines = [{**HEADER, "kind": "subagent"}, user("u", "go"), {**model("a", "1", 5), **thoughts}]
    folder = tmp_path / "parent-id"
    folder.mkdir()

    calls = calls_of(write_lines(folder / "s.jsonl", [*lines, model("b", "2", 9)]))

    assert {(call.parent, call.agent) for call in calls} == {("parent-id", "subagent")}
    assert tags(calls[0].output) == ["agent_reasoning", "agent_output"]
    assert tags(calls[1].prompt)[1:] == ["user_turn", "agent_output"]


def test_calls_without_tokens_are_implied_and_what_is_no_change_is_named(tmp_path: Path) -> None:
    body = {**HEADER, "messages": [user("u", "go"), {"id": "i", "type": "info"}, model("a", "1")]}
    path = write_lines(tmp_path / "s.jsonl", [HEADER, [1], {"a": 1}, {"id": "z", "type": "odd"}])
    with path.open("a", encoding="utf-8") as file:
        file.write('{"id": "u", "ty')

    implied = calls_of(write_json(tmp_path / "s.json", body))

    assert [(call.implied, call.usage) for call in implied] == [(True, None)]
    assert read_file(path)[2] == [
        "no message and no change: no object",
        "no message and no change: no type",
        "truncated",
        "a message of the unknown type 'odd'",
        "no answer of a model, so no call",
    ]


@pytest.mark.shared
def test_the_totals_that_the_messages_of_the_corpus_hold_agree(shared: Path) -> None:
    path = shared / "data" / "vibecodingtracker" / "examples" / "test_conversation_gemini.json"
    messages = objects(fields(json.loads(path.read_bytes()))["messages"])

    calls = calls_of(path)

    told = [tokens(fields(message["tokens"])["total"]) for message in messages if "tokens" in message]
    assert told == [call.usage.input + call.usage.output for call in calls if call.usage]
