"""Check the reader of dumped traces on a small real file, on captures with known truths and by hand."""

from __future__ import annotations

import base64
import importlib
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ctxheap.heap.model import Usage
from ctxheap.providers.json_fields import fields, items, objects, tokens
from transcripts.written import DATA, calls_of, read_file, tags, write_json, write_lines

Json = dict[str, object]
# Captures in which each request of a model has one span with usage.
EXACT = (
    "anthropic-native-content",
    "genai-langchain",
    "genai-openai-long",
    "oi-langchain",
    "oi-openai-long-nolimit",
    "pydantic-ai",
    "strands",
    "traceloop-langchain",
    "traceloop-openai-long",
    "vercel-ai5",
    "vercel-ai7-legacy",
)


def exported(*spans: Json) -> Json:
    return {"resourceSpans": [{"scopeSpans": [{"spans": [*spans]}]}]}


def span(name: str, parent: str = "", start: int = 1, **told: object) -> Json:
    attributes = [{"key": key.replace("__", "."), "value": _wrapped(value)} for key, value in told.items()]
    about: Json = {"traceId": "t", "spanId": name, "parentSpanId": parent, "name": name}
    return {
        **about,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 5),
        "attributes": attributes,
    }


def _wrapped(value: object) -> Json:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def test_spans_of_vercels_sdk_are_calls_and_their_wrappers_are_none() -> None:
    name, calls, skipped = read_file(DATA / "otlp" / "vercel_spans.json")

    assert (name, skipped) == ("otlp", [])
    assert [call.usage for call in calls] == [Usage(uncached=14, output=20), Usage(uncached=50, output=9)]
    assert [(tags(call.prompt), tags(call.output)) for call in calls] == [
        (["user_turn"], ["agent_output"]),
        (["system_prompt", "user_turn", "agent_output", "user_turn"], ["agent_output"]),
    ]


def test_the_conventions_old_and_new_and_openinference_are_read(tmp_path: Path) -> None:
    asked = [{"role": "user", "parts": [{"type": "text", "content": "q"}]}]
    new = span(
        "1",
        gen_ai__operation__name="chat",
        gen_ai__conversation__id="s",
        gen_ai__system_instructions=json.dumps([{"type": "text", "content": "s"}]),
        gen_ai__input__messages=json.dumps(asked),
        gen_ai__usage__input_tokens=10,
        gen_ai__usage__cache_read__input_tokens=4,
    )
    old = span(
        "2",
        start=2,
        llm__request__type="chat",
        gen_ai__prompt__0__role="user",
        gen_ai__prompt__0__content="q",
        gen_ai__completion__0__content="a",
        gen_ai__completion__0__tool_calls__0__name="f",
        gen_ai__completion__0__tool_calls__0__id="c",
    )
    other = span(
        "3",
        start=3,
        openinference__span__kind="LLM",
        llm__input_messages__0__message__role="tool",
        llm__input_messages__0__message__content="r",
        llm__input_messages__0__message__tool_call_id="c",
        llm__tools__0__tool__json_schema=json.dumps({"type": "function", "function": {"name": "f"}}),
        llm__token_count__prompt=7,
    )

    name, calls, skipped = read_file(write_lines(tmp_path / "t.jsonl", [exported(new, old), exported(other)]))

    assert (name, skipped) == ("otlp", [])
    assert [tags(call.prompt) for call in calls] == [
        ["system_prompt", "user_turn"],
        ["user_turn"],
        ["tool_definition:f", "tool_result:f"],
    ]
    assert tags(calls[1].output) == ["agent_output", "tool_call:f"]
    assert [call.usage for call in calls] == [Usage(6, 4), None, Usage(7)]
    assert [call.session for call in calls] == ["s", "", ""]


def test_a_call_inside_a_call_is_one_and_what_is_no_span_is_named(tmp_path: Path) -> None:
    messages = json.dumps([{"role": "user", "content": "q"}])
    outer = span("1", openinference__span__kind="LLM")
    between = span("2", "1")
    inner = span("3", "2", gen_ai__operation__name="chat", gen_ai__input__messages=messages)
    path = write_lines(tmp_path / "t.jsonl", [exported(outer, between, inner), {"a": 1}])
    with path.open("a", encoding="utf-8") as file:
        file.write('{"resourceSp')

    _, calls, skipped = read_file(path)
    nothing = read_file(write_json(tmp_path / "n.json", exported(between)))[2]

    assert [call.call_id for call in calls] == ["3"]
    assert skipped == ["no spans", "truncated", "1 span is of a call that another one holds"]
    assert nothing == ["1 span, none of a model's call"]


@pytest.mark.shared
@pytest.mark.parametrize("name", EXACT)
def test_usage_is_what_the_provider_of_the_capture_answered(shared: Path, tmp_path: Path, name: str) -> None:
    truth = objects(json.loads((shared / "captures" / f"{name}.truth.json").read_bytes()))
    dumped = write_lines(
        tmp_path / "t.jsonl", _dumped((shared / "captures" / f"{name}.otlp.bin").read_bytes())
    )

    billed = sorted(call.usage.input for call in calls_of(dumped) if call.usage)

    assert billed == sorted(tokens(fields(request["usage"])["in"]) for request in truth)


def _dumped(frames: bytes) -> Iterator[object]:
    """Yield the trace requests of a capture as OTLP writes them in JSON."""
    module = importlib.import_module("google.protobuf.json_format")
    as_dict = cast("Callable[[object], object]", module.MessageToDict)
    at = 0
    while at < len(frames):
        kind, length = frames[at : at + 1], struct.unpack(">I", frames[at + 1 : at + 5])[0]
        if kind == b"T":
            request = ExportTraceServiceRequest()
            request.ParseFromString(frames[at + 5 : at + 5 + length])
            yield _with_hex_ids(as_dict(request))
        at += 5 + length


def _with_hex_ids(value: object) -> object:
    if listed := items(value):
        return [_with_hex_ids(item) for item in listed]
    body = fields(value)
    if not body:
        return value
    return {
        key: base64.b64decode(str(inner)).hex()
        if key.endswith(("traceId", "panId"))
        else _with_hex_ids(inner)
        for key, inner in body.items()
    }
