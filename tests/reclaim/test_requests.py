"""Check the checker: it accepts what was sent, and refuses what providers refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxheap.heap.model import Part
from ctxheap.reclaim.requests import SHAPES, Json, Shape, refusals, refused, request_of, shape_of
from ctxheap_collector.transcripts.detect import read_all

SYSTEM = Part("system", "text", "system_prompt", "be brief")
TASK = Part("user", "text", "user_turn", "fix it")
THOUGHT = Part("assistant", "reasoning", "agent_reasoning", "hm")
CALL = Part("assistant", "tool_call", "tool_call:read", '{"path": "a"}', "read", "t1")
RESULT = Part("tool", "tool_result", "tool_result:read", "text", "read", "t1")
LATE = Part("user", "text", "harness:reminder", "mind the time")

# Fixtures in which a tool call has no answer at all; agents cannot have sent them like this.
UNANSWERED = {
    "valid_session.jsonl",
    "sidechain.jsonl",
    "memory_sidechain.jsonl",
    "agent-ag000001.jsonl",
    "agent-ag000002.jsonl",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_turn_with_its_answer_is_fine_whatever_stands_between(shape: Shape) -> None:
    assert refused([SYSTEM, TASK, THOUGHT, CALL, LATE, RESULT], shape) == []


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "parts",
    [[TASK, CALL], [TASK, RESULT], [TASK, CALL, RESULT, RESULT], [TASK, CALL, CALL, RESULT], []],
    ids=["no answer", "no call", "two answers", "one id twice", "nothing"],
)
def test_broken_pairs_are_refused(shape: Shape, parts: list[Part]) -> None:
    assert refused(parts, shape) != []


@pytest.mark.parametrize("shape", SHAPES)
def test_a_tool_defined_twice_is_refused(shape: Shape) -> None:
    tool = Part("system", "tool_definition", "tool_definition:read", "{}", "read")

    assert refused([tool, tool, TASK], shape) == ["tools: read is defined twice"]


def test_an_answer_must_stand_right_behind_its_call() -> None:
    said = Part("assistant", "text", "agent_output", "done")

    assert refused([TASK, CALL, TASK, said, RESULT], "anthropic") != []
    assert refused([TASK, CALL, TASK, said, RESULT], "chat") != []


def test_anthropic_wants_the_user_first_and_no_thinking_last() -> None:
    text: Json = {"type": "text", "text": "hello"}
    messages = [{"role": "assistant", "content": [text, {"type": "thinking", "thinking": "hm"}]}]

    assert refusals({"system": [], "messages": messages, "tools": []}, "anthropic") == [
        "messages[0]: the first message must be the user's",
        "messages[0]: ends in thinking",
    ]


def test_shapes_are_those_of_the_wire() -> None:
    parts = [SYSTEM, TASK, CALL, RESULT]

    assert request_of(parts, "chat")["messages"] == [
        {"role": "system", "content": [{"type": "text", "text": "be brief"}]},
        {"role": "user", "content": [{"type": "text", "text": "fix it"}]},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "t1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "text"},
    ]
    assert request_of(parts, "anthropic")["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "fix it"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "text", "is_error": False}],
        },
    ]
    assert [item["type"] for item in request_of(parts, "responses")["input"]] == [  # type: ignore[attr-defined]
        "message",
        "message",
        "function_call",
        "function_call_output",
    ]


@pytest.mark.parametrize(
    ("provider", "shape"),
    [("anthropic", "anthropic"), ("aws.bedrock", "anthropic"), ("openai", "chat"), ("", "chat")],
)
def test_each_provider_has_a_shape(provider: str, shape: Shape) -> None:
    assert shape_of(provider) == shape


# Formats whose every prompt was looked at; cassettes, spans and exports hold requests that failed on purpose.
CHECKED_FORMATS = frozenset(
    {
        "claude-code",
        "openhands",
        "openhands-events",
        "mini-swe-agent",
        "tau-bench",
        "tau2-bench",
        "swe-agent",
        "request-log",
        "anthropic-messages",
        "openai-messages",
    }
)


@pytest.mark.shared
def test_every_complete_prompt_of_the_corpus_is_valid_as_it_is(shared: Path) -> None:
    checked, wrong = 0, list[str]()
    for reading in read_all([str(shared / "data")]):
        name = Path(str(reading.source.name)).name
        if reading.format not in CHECKED_FORMATS:
            continue
        for exchange in reading.exchanges:
            has_content = any(part.kind != "hidden" for part in exchange.prompt)
            if exchange.incomplete or not has_content or name in UNANSWERED:
                continue
            checked += 1
            wrong += [
                f"{name} {exchange.call_id} {shape}: {problem}"
                for shape in SHAPES
                for problem in refused(exchange.prompt, shape)
            ]

    assert wrong == []
    assert checked > 2_500
