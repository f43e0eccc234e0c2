"""Check the reader of Langfuse's exports on a small real file, on the corpus and on the cases these lack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxheap.heap.model import Exchange, Usage
from ctxheap.providers.json_fields import fields, objects, tokens
from ctxheap_collector.transcripts.detect import read_all
from transcripts.written import DATA, calls_of, read_file, tags, texts, write_json, write_lines

Json = dict[str, object]


def generation(name: str, given: object, output: object, **more: object) -> Json:
    usage = {"input": 10, "output": 2, "total": 12}
    about: Json = {
        "id": name,
        "traceId": "t",
        "type": "GENERATION",
        "startTime": f"2026-01-02T03:04:0{name}Z",
    }
    return {**about, "input": given, "output": output, "usageDetails": usage, **more}


def exported(tmp_path: Path, *observations: Json, session: str | None = None) -> list[Exchange]:
    body = {"trace": {"id": "t", "sessionId": session}, "observations": [*observations]}
    return calls_of(write_json(tmp_path / "t.json", body))


def test_generations_of_a_trace_are_calls_in_the_order_of_their_start() -> None:
    name, calls, skipped = read_file(DATA / "langfuse" / "langgraph.trace.json")

    assert (name, skipped) == ("langfuse", [])
    assert [call.usage for call in calls] == [
        Usage(uncached=142, output=24),
        Usage(uncached=179, output=99, reasoning=64),
    ]
    assert tags(calls[1].prompt) == ["user_turn", "tool_call:get_weather", "tool_result:get_weather"]
    assert calls[1].prompt[2].call_id == calls[1].prompt[1].call_id
    assert calls[0].output[0] is calls[1].prompt[1]
    assert {(call.session, call.model, call.provider) for call in calls} == {
        ("", "gpt-5-mini-2025-08-07", "openai")
    }


def test_cached_tokens_are_beside_the_input_unless_input_and_output_make_the_total(tmp_path: Path) -> None:
    beside = {"input": 10, "input_cached_tokens": 90, "output": 5, "output_reasoning_tokens": 3, "total": 108}
    inside = {"input": 100, "prompt_details.cache_read": 90, "output": 8, "total": 108}
    thoughts = {"input": 5, "output": 800, "total": 2000}

    calls = exported(
        tmp_path,
        generation("1", "q", "a", usageDetails=beside),
        generation("2", "q", "a", usageDetails=inside),
        generation("3", "q", "a", usageDetails=thoughts),
    )

    assert [call.usage for call in calls] == [
        Usage(uncached=10, cache_read=90, output=8, reasoning=3),
        Usage(uncached=10, cache_read=90, output=8),
        Usage(uncached=5, output=1995, reasoning=1195),
    ]


def test_a_call_that_two_tracers_recorded_is_one(tmp_path: Path) -> None:
    messages = {"messages": [{"role": "user", "content": "q"}]}
    outer_knows = [generation("1", messages, "a"), generation("2", "q", "a", parentObservationId="1")]
    inner_knows = [
        generation("3", {"prompt": "q"}, "a"),
        generation("4", [{"role": "user", "content": "q"}], "a", parentObservationId="3"),
    ]

    calls = exported(tmp_path, *outer_knows, *inner_knows, session="s")

    assert [(call.call_id, call.session) for call in calls] == [("1", "s"), ("4", "s")]


def test_messages_are_read_in_the_words_of_any_framework(tmp_path: Path) -> None:
    convention = [
        {"role": "system", "parts": [{"type": "text", "content": "s"}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c", "name": "f", "arguments": {"x": 1}}],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "r"}]},
    ]
    vercel: list[Json] = [
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "d", "toolName": "g", "input": {}}],
        },
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "d", "output": {"value": "r"}}]},
    ]
    gemini = {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "config": {"system_instruction": "s"}}
    langchain: list[Json] = [
        {"role": "tool", "content": {"type": "function", "function": {"name": "h"}}},
        {"role": "user", "content": "q"},
        {
            "id": ["langchain", "AIMessage"],
            "kwargs": {"content": "a", "tool_calls": [{"name": "h", "args": {}}]},
        },
    ]
    flat = "system: be good\nuser: hi\nassistant: hello"

    calls = exported(
        tmp_path,
        generation("1", json.dumps(convention), "a"),
        generation("2", vercel, [{"toolCallId": "e", "toolName": "g", "input": "{}"}]),
        generation("3", gemini, {"content": {"role": "model", "parts": [{"text": "a"}]}}),
        generation("4", langchain, {"choices": [{"message": {"content": "a"}}]}),
        generation("5", flat, {"role": "assistant", "content": "a"}),
    )

    assert [tags(call.prompt) for call in calls] == [
        ["system_prompt", "tool_call:f", "tool_result:f"],
        ["tool_call:g", "tool_result:g"],
        ["system_prompt", "user_turn"],
        ["tool_definition:h", "user_turn", "agent_output", "tool_call:h"],
        ["system_prompt", "user_turn", "agent_output"],
    ]
    assert [tags(call.output) for call in calls] == [
        ["agent_output"],
        ["tool_call:g"],
        *[["agent_output"]] * 3,
    ]
    assert texts(calls[4].prompt) == ["be good", "hi", "hello"]


def test_observations_may_stand_one_a_line_and_empty_ones_are_counted(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "o.jsonl", [generation("1", "q", "a"), {"odd": 1}])
    silent = generation("2", None, None, usageDetails={})
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(silent) + '\n{"id": "3", "trac')

    _, calls, skipped = read_file(path)

    assert [call.call_id for call in calls] == ["1"]
    assert skipped == ["no observations", "truncated", "1 generation holds neither output nor usage"]


@pytest.mark.shared
def test_every_trace_of_the_corpus_is_read_and_adds_up(shared: Path) -> None:
    paths = sorted(
        path
        for path in (shared / "data" / "langfuse").rglob("framework-traces/*.json")
        if not path.name.endswith(".chatml.json")
    )

    assert len(paths) == 33
    for path in paths:
        exchanges = calls_of(path)
        assert exchanges, path
        counted = {string: tokens(usage.get("total")) for string, usage in _usages(path).items()}
        for call in exchanges:
            total = call.usage.input + call.usage.output if call.usage else 0
            assert total == counted[call.call_id], (path, call.call_id)


def _usages(path: Path) -> dict[str, Json]:
    document = fields(json.loads(path.read_bytes()))
    return {
        str(item["id"]): dict(fields(item.get("usageDetails"))) for item in objects(document["observations"])
    }


@pytest.mark.shared
def test_the_same_trace_in_two_files_is_billed_once(shared: Path) -> None:
    folder = shared / "data" / "langfuse"
    copies = sorted(str(path) for path in folder.rglob("framework-traces/openai-agents-2025-09-30*.json"))

    readings = [
        list(reading.exchanges) for reading in read_all(path for path in copies if "chatml.json" not in path)
    ]

    assert [len(calls) for calls in readings] == [2, 0]
