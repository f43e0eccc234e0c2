"""Check the reader of Claude Code's stream on the corpus and on lines made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxheap.heap.model import Compaction, Usage
from transcripts.written import calls_of, read_file, tags, texts, write_lines

Json = dict[str, object]
INIT: Json = {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Bash"], "model": "m"}


def line(kind: str, message: Json, parent: str | None = None, session: str = "s") -> Json:
    return {"type": kind, "message": message, "parent_tool_use_id": parent, "session_id": session}


def said(text: str, parent: str | None = None, session: str = "s") -> Json:
    return line("user", {"role": "user", "content": text}, parent, session)


def answer(name: str, block: Json, parent: str | None = None, billed: int = 10) -> Json:
    usage = {"input_tokens": billed, "output_tokens": 1}
    body: Json = {"id": name, "model": "claude-sonnet-4-6", "content": [block], "usage": usage}
    return line("assistant", {"role": "assistant", **body}, parent)


def text(value: str) -> Json:
    return {"type": "text", "text": value}


def test_messages_of_a_response_are_one_call_and_what_was_sent_before_the_session_is_named_counts(
    tmp_path: Path,
) -> None:
    lines = [
        said("go", session="default"),
        INIT,
        answer("m1", {"type": "thinking", "thinking": "hm", "signature": "x"}),
        answer("m1", {"type": "tool_use", "id": "c", "name": "Bash", "input": {}}),
        line(
            "user", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "r"}]}
        ),
        answer("m2", text("done"), billed=20),
        {"type": "result", "usage": {"output_tokens": 90}},
    ]

    name, calls, skipped = read_file(write_lines(tmp_path / "s.jsonl", lines))

    assert name == "claude-stream"
    assert [call.usage for call in calls] == [Usage(10, output=1), Usage(20, output=1)]
    assert tags(calls[1].prompt) == [
        "system_prompt",
        "user_turn",
        "agent_reasoning",
        "tool_call:Bash",
        "tool_result:Bash",
    ]
    assert skipped == ["the calls report 2 output tokens, the result of the run 90"]


def test_sub_agents_are_children_and_compactions_start_anew(tmp_path: Path) -> None:
    boundary: Json = {"type": "system", "subtype": "compact_boundary", "session_id": "s"}
    lines = [
        INIT,
        said("go"),
        answer("m1", {"type": "tool_use", "id": "t", "name": "Task", "input": {"prompt": "look"}}),
        said("look", "t"),
        answer("m2", text("found"), "t"),
        {**boundary, "compact_metadata": {"pre_tokens": 900, "trigger": "auto"}},
        answer("m3", text("on")),
        [1],
    ]
    path = write_lines(tmp_path / "s.jsonl", lines)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"type": "us')

    _, calls, skipped = read_file(path)

    by_id = {call.call_id.rpartition(":")[2]: call for call in calls}
    assert (by_id["m2"].session, by_id["m2"].parent) == ("s/t", "s")
    assert texts(by_id["m2"].prompt)[1:] == ["look"]
    assert by_id["m3"].compaction == Compaction(900, "auto")
    assert skipped == ["no message: no object", "truncated"]


@pytest.mark.shared
def test_the_totals_of_the_corpus_agree(shared: Path) -> None:
    folder = shared / "data" / "cassettes-logfire" / "tests" / "otel_integrations" / "cassettes"
    calls = calls_of(folder / "test_claude_agent_sdk" / "tool_use_conversation.json")

    usages = [call.usage for call in calls if call.usage]

    assert sum(usage.uncached for usage in usages) == 4
    assert sum(usage.cache_read for usage in usages) == 17653
    assert sum(usage.cache_write for usage in usages) == 1215
    assert texts(calls[0].prompt)[1:] == ["List files in the current directory"]
