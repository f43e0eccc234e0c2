"""Check the reader of pi's sessions on a small real file, on the corpus and on the cases these lack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxheap.heap.model import Compaction, Usage
from ctxheap.providers.json_fields import fields, tokens
from ctxheap_collector.transcripts.detect import read_all
from transcripts.written import DATA, calls_of, grows, read_file, tags, texts, write_lines

Json = dict[str, object]
HEADER: Json = {"type": "session", "id": "s", "timestamp": "2026-01-02T03:04:05Z", "cwd": "/p"}


def entry(text: str, *, role: str = "user", billed: int = 0, stop: str = "stop", **more: object) -> Json:
    message: Json = {"role": role, "content": [{"type": "text", "text": text}], "timestamp": 1763681581544}
    if role == "assistant":
        message |= {"usage": {"input": billed, "output": 1}, "stopReason": stop, "model": "claude-opus-4-5"}
    return {"type": "message", "timestamp": "2026-01-02T03:04:05Z", "message": message, **more}


def linked(entries: list[Json]) -> list[Json]:
    """Return entries of version 3: each with an id and, unless it has one, the parent before it."""
    ids: list[str | None] = [None, *(f"e{index}" for index in range(len(entries)))]
    return [{"id": ids[at + 1], "parentId": ids[at], **item} for at, item in enumerate(entries)]


def test_answers_are_calls_and_aborted_ones_without_anything_are_named() -> None:
    name, calls, skipped = read_file(DATA / "pi" / "version1.jsonl")

    assert name == "pi"
    assert skipped == ["an answer without content and usage: Request was aborted"]
    assert calls[0].usage == Usage(uncached=3, cache_write_5m=1684, output=191)
    assert tags(calls[1].prompt) == [
        "system_prompt",
        "user_turn",
        "user_turn",
        "agent_output",
        *["tool_call:read"] * 2,
        "tool_call:bash",
        *["tool_result:read"] * 2,
        "tool_result:bash",
    ]
    assert {(call.session, call.parent, call.model, call.provider) for call in calls} == {
        ("d703a1a9-1b7b-4fb1-b512-c9738b1fe617", None, "claude-sonnet-4-5", "anthropic")
    }
    assert grows(calls)


def test_a_compaction_keeps_what_stands_from_its_index_on(tmp_path: Path) -> None:
    compaction = {"type": "compaction", "summary": "so far", "firstKeptEntryIndex": 3, "tokensBefore": 900}
    lines = [
        HEADER,
        entry("one"),
        entry("1", role="assistant", billed=10),
        entry("two"),
        entry("2", role="assistant", billed=20),
        compaction,
        entry("three"),
        entry("3", role="assistant", billed=30),
    ]

    calls = calls_of(write_lines(tmp_path / "s.jsonl", lines))

    assert texts(calls[2].prompt)[1:] == ["so far", "two", "2", "three"]
    assert [call.compaction for call in calls] == [None, None, Compaction(900)]


def test_a_compaction_keeps_what_stands_from_its_id_on_and_drops_the_one_before(tmp_path: Path) -> None:
    lines = linked(
        [
            entry("one"),
            {"type": "compaction", "summary": "first", "firstKeptEntryId": "e0"},
            entry("1", role="assistant", billed=10),
            entry("two"),
            {"type": "compaction", "summary": "second", "firstKeptEntryId": "e2"},
            entry("2", role="assistant", billed=20),
        ]
    )

    calls = calls_of(write_lines(tmp_path / "s.jsonl", [{**HEADER, "version": 3}, *lines]))

    assert texts(calls[0].prompt)[1:] == ["first", "one"]
    assert texts(calls[1].prompt)[1:] == ["second", "1", "two"]


def test_going_on_from_an_older_entry_is_a_fork(tmp_path: Path) -> None:
    lines = linked(
        [
            entry("one"),
            entry("1", role="assistant", billed=10),
            entry("two"),
            entry("2", role="assistant", billed=20),
            entry("other", parentId="e1"),
            entry("3", role="assistant", billed=30),
        ]
    )

    calls = calls_of(write_lines(tmp_path / "s.jsonl", [{**HEADER, "version": 3}, *lines]))

    assert texts(calls[2].prompt)[1:] == ["one", "1", "other"]
    assert [(call.session, call.parent) for call in calls] == [("s", None), ("s", None), ("s/fork-6", "s")]


def test_an_answer_that_was_cut_off_is_billed_but_not_sent_back(tmp_path: Path) -> None:
    lines = [
        HEADER,
        entry("one"),
        entry("half", role="assistant", billed=10, stop="aborted"),
        entry("two"),
        entry("whole", role="assistant", billed=20),
    ]

    calls = calls_of(write_lines(tmp_path / "s.jsonl", lines))

    assert [call.usage and call.usage.input for call in calls] == [10, 20]
    assert texts(calls[1].prompt)[1:] == ["one", "two"]


def test_what_the_person_ran_and_what_extensions_add_is_the_harness(tmp_path: Path) -> None:
    ran = {"role": "bashExecution", "command": "ls", "output": "a"}
    lines = [
        HEADER,
        {"type": "message", "timestamp": "2026-01-02T03:04:05Z", "message": ran},
        {"type": "custom_message", "customType": "todo", "content": "do it"},
        {"type": "branch_summary", "summary": "was elsewhere"},
        entry("1", role="assistant", billed=10),
    ]

    calls = calls_of(write_lines(tmp_path / "s.jsonl", lines))

    assert tags(calls[0].prompt)[1:] == ["harness:command-output", "harness:todo", "summary"]


def test_a_branched_session_bills_its_copied_past_once(tmp_path: Path) -> None:
    past = [entry("one"), entry("1", role="assistant", billed=10)]
    branched = {**HEADER, "id": "t", "parentSession": "/x/2026-01-02T03-04-05-000Z_s.jsonl"}
    old = write_lines(tmp_path / "1.jsonl", [HEADER, *past])
    new = write_lines(
        tmp_path / "2.jsonl", [branched, *past, entry("two"), entry("2", role="assistant", billed=20)]
    )

    readings = [list(reading.exchanges) for reading in read_all([str(old), str(new)])]

    assert [[call.usage and call.usage.input for call in calls] for calls in readings] == [[10], [20]]
    assert [(call.session, call.parent) for call in readings[1]] == [("t", "s")]


def test_half_a_line_and_what_is_no_entry_are_named(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", [HEADER, entry("1", role="assistant", billed=10), [1], {"a": 1}])
    with path.open("a", encoding="utf-8") as file:
        file.write('{"type": "new"}\n{"type": "mess')

    _, calls, skipped = read_file(path)

    assert len(calls) == 1
    assert skipped == [
        "no entry of a session: no object",
        "no entry of a session: no type",
        "truncated",
        "1 line of the unknown type 'new'",
    ]


@pytest.mark.shared
def test_all_usage_of_the_corpus_is_counted(shared: Path) -> None:
    place = shared / "data" / "pi-mono" / "packages" / "coding-agent" / "test" / "fixtures"
    path = place / "large-session.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    usages = [fields(fields(line["message"]).get("usage")) for line in lines if "message" in line]

    billed = [call.usage for call in calls_of(path) if call.usage]

    assert [
        sum(tokens(usage.get(key)) for usage in usages) for key in ("input", "cacheRead", "cacheWrite")
    ] == [
        sum(usage.uncached for usage in billed),
        sum(usage.cache_read for usage in billed),
        sum(usage.cache_write for usage in billed),
    ]


@pytest.mark.shared
def test_what_a_compaction_of_the_corpus_says_it_kept_is_in_the_prompt(shared: Path) -> None:
    path = shared / "data" / "agentsview" / "internal" / "parser" / "testdata" / "pi" / "session.jsonl"

    calls = calls_of(path)

    first_kept = calls[0].prompt[1]
    assert calls[1].prompt[2] is first_kept
    assert calls[1].compaction == Compaction(5000)
