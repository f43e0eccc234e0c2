"""Check the reader of Codex rollouts on a small real file, on the corpus and on the cases these lack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxheap.heap.model import Compaction, Usage
from ctxheap.providers.json_fields import fields, objects
from ctxheap_collector.transcripts.detect import read_all
from transcripts.written import DATA, calls_of, grows, read_file, tags, texts, write_lines

Json = dict[str, object]


def line(kind: str, payload: Json) -> Json:
    return {"timestamp": "2026-01-02T03:04:05.000Z", "type": kind, "payload": payload}


def said(role: str, text: str) -> Json:
    return line("response_item", {"type": "message", "role": role, "content": [{"text": text}]})


def asked(call_id: str) -> Json:
    call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": call_id}
    return line("response_item", {**call})


def answered(call_id: str, output: str) -> Json:
    return line("response_item", {"type": "function_call_output", "call_id": call_id, "output": output})


def counted(last: int, total: int) -> Json:
    usage = {"last_token_usage": {"input_tokens": last}, "total_token_usage": {"input_tokens": total}}
    return line("event_msg", {"type": "token_count", "info": usage})


META = line("session_meta", {"id": "thread"})


def test_a_count_in_front_of_its_items_opens_the_call() -> None:
    name, calls, skipped = read_file(DATA / "codex" / "rollout.jsonl")

    assert (name, skipped) == ("codex", [])
    assert [call.usage for call in calls] == [
        Usage(uncached=141, cache_read=5504, output=810, reasoning=640),
        Usage(uncached=5822, output=244, reasoning=192),
        Usage(uncached=6565, output=895, reasoning=832),
    ]
    assert tags(calls[1].prompt) == [
        "system_prompt",
        "harness:environment",
        "user_turn",
        "agent_output",
        "tool_call:update_plan",
        "tool_result:update_plan",
    ]
    assert tags(calls[1].output) == ["agent_reasoning", "agent_output", "tool_call:shell"]
    assert calls[1].output[0].tokens == 192
    assert {(call.session, call.parent, call.provider) for call in calls} == {
        ("01996135-afde-7911-97f0-d863511eca56", None, "openai")
    }
    assert grows(calls)


def test_a_count_behind_its_items_closes_the_call(tmp_path: Path) -> None:
    lines = [
        META,
        said("user", "do it"),
        asked("a"),
        counted(10, 10),
        answered("a", "one"),
        counted(10, 10),
        said("assistant", "done"),
        counted(20, 30),
    ]

    name, calls, skipped = read_file(write_lines(tmp_path / "r.jsonl", lines))

    assert name == "codex"
    assert [call.usage and call.usage.input for call in calls] == [10, 20]
    assert tags(calls[1].prompt) == ["system_prompt", "user_turn", "tool_call:shell", "tool_result:shell"]
    assert skipped == ["1 count of tokens was written again: not billed twice"]


def test_results_written_between_the_calls_of_one_response_come_behind_it(tmp_path: Path) -> None:
    lines = [
        META,
        said("user", "do it"),
        counted(10, 10),
        asked("a"),
        answered("a", "one"),
        asked("b"),
        answered("b", '{"output":"x","metadata":{"exit_code":2}}'),
        counted(20, 30),
        said("assistant", "done"),
    ]

    calls = calls_of(write_lines(tmp_path / "r.jsonl", lines))

    assert tags(calls[0].output) == ["tool_call:shell", "tool_call:shell"]
    assert [part.call_id for part in calls[1].prompt[2:]] == ["a", "b", "a", "b"]
    assert [part.error for part in calls[1].prompt[4:]] == [False, True]


def test_the_call_that_wrote_a_summary_is_billed_and_the_next_one_starts_with_it(tmp_path: Path) -> None:
    lines = [
        META,
        said("user", "do it"),
        said("assistant", "half"),
        counted(10, 10),
        counted(12, 22),
        line("compacted", {"message": "half is done"}),
        counted(12, 22),
        said("user", "go on"),
        said("assistant", "whole"),
        counted(7, 29),
    ]

    calls = calls_of(write_lines(tmp_path / "r.jsonl", lines))

    assert [call.usage and call.usage.input for call in calls] == [10, 12, 7]
    assert texts(calls[1].output) == ["half is done"]
    assert tags(calls[2].prompt) == ["system_prompt", "user_turn", "summary", "user_turn"]
    assert [call.compaction for call in calls] == [None, None, Compaction(12)]


def test_a_history_that_replaces_the_old_one_is_the_prompt(tmp_path: Path) -> None:
    kept = {"type": "message", "role": "user", "content": [{"text": "do it"}]}
    opaque = {"type": "compaction", "encrypted_content": "gAAAA"}
    lines = [
        META,
        said("user", "do it"),
        said("assistant", "half"),
        counted(10, 10),
        line("compacted", {"message": "", "replacement_history": [kept, opaque]}),
        said("assistant", "whole"),
        counted(7, 17),
    ]

    calls = calls_of(write_lines(tmp_path / "r.jsonl", lines))

    assert tags(calls[1].prompt) == ["system_prompt", "user_turn", "summary"]


def test_turns_that_were_rolled_back_leave_the_prompt(tmp_path: Path) -> None:
    lines = [
        META,
        said("user", "one"),
        said("assistant", "1"),
        counted(10, 10),
        said("user", "two"),
        said("assistant", "2"),
        counted(20, 30),
        line("event_msg", {"type": "thread_rolled_back", "num_turns": 1}),
        said("user", "three"),
        said("assistant", "3"),
        counted(20, 50),
    ]

    calls = calls_of(write_lines(tmp_path / "r.jsonl", lines))

    assert texts(calls[2].prompt)[1:] == ["one", "1", "three"]


def test_a_spawned_thread_is_a_child_whose_copied_past_is_billed_once(tmp_path: Path) -> None:
    past = [said("user", "do it"), asked("a"), counted(10, 10)]
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "thread", "agent_role": "explorer"}}}
    child = line("session_meta", {"id": "child", "source": spawned})
    parent_file = write_lines(tmp_path / "1.jsonl", [META, *past])
    own = [said("user", "explore"), said("assistant", "ok"), counted(30, 40)]
    child_file = write_lines(tmp_path / "2.jsonl", [child, META, *past, *own])

    readings = [list(reading.exchanges) for reading in read_all([str(parent_file), str(child_file)])]

    assert [[call.usage and call.usage.input for call in calls] for calls in readings] == [[10], [30]]
    assert [(call.session, call.parent, call.agent) for call in readings[1]] == [
        ("child", "thread", "explorer")
    ]


def test_calls_without_any_count_are_implied_and_totals_that_disagree_are_named(tmp_path: Path) -> None:
    bare = [META, said("user", "u"), asked("a"), answered("a", "one"), said("assistant", "done")]
    odd = [META, said("user", "u"), said("assistant", "x"), counted(10, 10), asked("a"), counted(5, 17)]

    implied = calls_of(write_lines(tmp_path / "1.jsonl", bare))
    skipped = read_file(write_lines(tmp_path / "2.jsonl", odd))[2]

    assert [(call.implied, call.usage) for call in implied] == [(True, None), (True, None)]
    assert skipped == ["running totals moved by 7/0 in, 0/0 out, the call itself says 5/0 in, 0/0 out"]


def test_half_a_line_at_the_end_is_left_for_the_next_run(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "r.jsonl", [META, said("user", "u"), said("assistant", "x")])
    with path.open("a", encoding="utf-8") as file:
        file.write('[1]\n{"type": "event_msg", "payl')

    _, calls, skipped = read_file(path)

    assert len(calls) == 1
    assert skipped == ["no line of a rollout: no object", "truncated"]


@pytest.mark.shared
def test_the_totals_of_another_tracker_agree(shared: Path) -> None:
    folder = shared / "data" / "vibecodingtracker" / "tests" / "fixtures" / "sessions"
    expected = json.loads((folder / "codex.expected.json").read_bytes())

    usages = [call.usage for call in calls_of(folder / "codex.jsonl") if call.usage]

    record = fields(objects(fields(expected).get("records"))[0].get("conversationUsage"))
    total = fields(fields(record["aide-gpt-5"])["total_token_usage"])
    assert {
        "input_tokens": sum(usage.input for usage in usages),
        "cached_input_tokens": sum(usage.cache_read for usage in usages),
        "output_tokens": sum(usage.output for usage in usages),
        "reasoning_output_tokens": sum(usage.reasoning for usage in usages),
        "total_tokens": sum(usage.input + usage.output for usage in usages),
    } == total
