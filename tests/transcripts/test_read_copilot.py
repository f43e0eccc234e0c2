"""Check the reader of Copilot's events; no log of its CLI that may be passed on was at hand."""

from __future__ import annotations

from pathlib import Path

from ctxheap.heap.model import Compaction, Usage
from transcripts.written import calls_of, read_file, tags, texts, write_lines

Json = dict[str, object]


def event(kind: str, **data: object) -> Json:
    return {
        "type": kind,
        "data": data,
        "id": f"{kind}",
        "timestamp": "2026-03-07T15:15:20Z",
        "parentId": None,
    }


START = event("session.start", sessionId="s", selectedModel="claude-opus-4.6")
TOTALS = (
    "gpt-5: 2 requests, 30 input tokens (0 read from the cache, 0 written), 4 output in all; "
    "which calls' is not said"
)
SPLIT: Json = {"systemTokens": 3000, "toolDefinitionsTokens": 9000, "conversationTokens": 500}


def said(name: str, text: str, *called: str, **more: object) -> Json:
    asked = [{"toolCallId": each, "name": "view", "arguments": {"path": each}} for each in called]
    return event("assistant.message", messageId=name, content=text, toolRequests=asked, **more)


def test_a_message_is_a_call_and_what_is_not_in_the_log_has_the_size_that_copilot_reports(
    tmp_path: Path,
) -> None:
    lines = [
        START,
        event("user.message", content="hi", transformedContent="<system_reminder>x</system_reminder>\nhi"),
        said("m1", "", "c1", reasoningText="hm"),
        event("tool.execution_complete", toolCallId="c1", success=False, error={"message": "no"}),
        said("m2", "done"),
        event("session.shutdown", currentTokens=12500, **SPLIT),
    ]

    name, calls, skipped = read_file(write_lines(tmp_path / "events.jsonl", lines))

    assert (name, skipped) == ("copilot", [])
    assert [(call.call_id, call.session, call.model, call.usage) for call in calls] == [
        ("m1", "s", "claude-opus-4.6", None),
        ("m2", "s", "claude-opus-4.6", None),
    ]
    assert [(part.tag, part.tokens, part.error) for part in calls[1].prompt] == [
        ("tool_definition:copilot", 9000, False),
        ("system_prompt", 3000, False),
        ("harness:system-reminder", None, False),
        ("user_turn", None, False),
        ("agent_reasoning", None, False),
        ("tool_call:view", None, False),
        ("tool_result:view", None, True),
    ]


def test_the_usage_of_a_stream_belongs_to_the_message_before_it(tmp_path: Path) -> None:
    usage = {"inputTokens": 100, "outputTokens": 9, "cacheReadTokens": 60, "cacheWriteTokens": 5}
    lines = [START, event("user.message", content="hi"), said("m1", "yes"), event("assistant.usage", **usage)]

    _, calls, skipped = read_file(write_lines(tmp_path / "e.jsonl", [*lines, lines[-1]]))

    assert [call.usage for call in calls] == [Usage(35, 60, 5, output=9)]
    assert skipped == ["usage of a call that is not in the log"]


def test_a_compaction_is_a_call_and_starts_the_context_anew(tmp_path: Path) -> None:
    spent = {"inputTokens": 900, "cacheReadTokens": 800, "outputTokens": 40, "model": "gpt-5.5"}
    lines = [
        START,
        event("user.message", content="hi"),
        said("m1", "yes"),
        event("session.compaction_start"),
        event("user.message", content="while it runs"),
        event(
            "session.compaction_complete",
            success=True,
            preCompactionTokens=1000,
            summaryContent="so far",
            compactionTokensUsed=spent,
            requestId="r",
        ),
        said("m2", "on"),
    ]

    calls = calls_of(write_lines(tmp_path / "e.jsonl", lines))

    assert [call.usage for call in calls] == [None, Usage(100, 800, output=40), None]
    assert texts(calls[1].prompt)[1:] == ["hi", "yes"]
    assert texts(calls[1].output) == ["so far"]
    assert texts(calls[2].prompt)[1:] == ["so far", "while it runs"]
    assert calls[2].compaction == Compaction(1000)


def test_a_sub_agent_is_a_child_session_that_starts_with_its_task(tmp_path: Path) -> None:
    task = {"toolCallId": "t", "name": "task", "arguments": {"prompt": "look around"}}
    lines = [
        START,
        event("user.message", content="hi"),
        event("assistant.message", messageId="m1", content="", toolRequests=[task]),
        event("subagent.started", toolCallId="t", agentName="explore"),
        said("m2", "found", parentToolCallId="t"),
        event("tool.execution_complete", toolCallId="t", success=True, result={"content": "found"}),
        said("m3", "done"),
    ]

    calls = calls_of(write_lines(tmp_path / "e.jsonl", lines))

    by_id = {call.call_id: call for call in calls}
    child = by_id["m2"]
    assert (child.session, child.parent, child.agent) == ("s/t", "s", "explore")
    assert texts(child.prompt)[1:] == ["look around"]
    assert tags(by_id["m3"].prompt)[1:] == ["user_turn", "tool_call:task", "tool_result:task"]


def test_a_rewind_goes_back_and_what_cannot_be_known_is_named(tmp_path: Path) -> None:
    metrics = {"gpt-5": {"requests": {"count": 2}, "usage": {"inputTokens": 30, "outputTokens": 4}}}
    lines = [
        START,
        {**event("user.message", content="one"), "id": "first"},
        said("m1", "1"),
        event("user.message", content="two"),
        event("session.snapshot_rewind", upToEventId="first"),
        event("session.truncation", tokensRemovedDuringTruncation=7),
        said("m2", "2"),
        event("session.shutdown", modelMetrics=metrics),
        [1],
    ]
    path = write_lines(tmp_path / "e.jsonl", lines)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"type": "assist')

    _, calls, skipped = read_file(path)

    assert texts(calls[1].prompt)[1:] == ["one"]
    assert calls[1].incomplete
    assert skipped == [
        "truncated",
        "7 tokens were truncated; which ones is not said",
        TOTALS,
        "no event: no object",
    ]
