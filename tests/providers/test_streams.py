"""Streams become the one answer that they are pieces of."""

from __future__ import annotations

import base64
import importlib
import json
import struct
import zlib
from typing import Any

import pytest

from ctxheap.heap.model import Usage
from ctxheap.providers.aws_events import MAX_FRAME_BYTES, frames
from ctxheap.providers.wire import Response
from providers.exchanges import CHAT, CONVERSE, GEMINI, MESSAGES, RESPONSES, endpoint_read, seen, sse, stream

ASK = {"model": "m", "messages": [{"role": "user", "content": "go"}]}
INPUT = {"model": "m", "input": "go"}
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "go"}]}]}
AWS = "application/vnd.amazon.eventstream"


Json = dict[str, object]


def delta(**said: object) -> dict[str, object]:
    return {"id": "c", "model": "m-1", "choices": [{"index": 0, "delta": said}]}


def call(index: int, call_id: str | None, name: str | None, arguments: str) -> dict[str, object]:
    return {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}


def test_parallel_calls_are_put_together_by_index() -> None:
    body = sse(
        delta(role="assistant", content=None, tool_calls=[call(0, "a", "read", "")]),
        delta(tool_calls=[call(0, None, None, '{"p":')]),
        delta(tool_calls=[call(1, "b", "list", "{}"), call(0, None, None, "1}")]),
    )

    output = stream(CHAT, ASK, body).exchange.output

    assert [(part.tool, part.call_id, part.text) for part in output] == [
        ("read", "a", '{"p":1}'),
        ("list", "b", "{}"),
    ]


def test_parallel_calls_that_all_have_index_0_are_told_apart_by_id() -> None:
    body = sse(delta(tool_calls=[call(0, "a", "read", "{}")]), delta(tool_calls=[call(0, "b", "read", "{}")]))

    output = stream(CHAT, ASK, body).exchange.output

    assert [part.call_id for part in output] == ["a", "b"]


@pytest.mark.parametrize(
    "holder",
    [
        {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}},
        {"choices": [], "x_groq": {"usage": {"prompt_tokens": 7, "completion_tokens": 2}}},
        {"choices": [{"index": 0, "delta": {}, "usage": {"prompt_tokens": 7, "completion_tokens": 2}}]},
    ],
    ids=["openai", "groq", "moonshot"],
)
def test_usage_is_found_where_servers_put_it(holder: object) -> None:
    body = sse(delta(content="o"), delta(content="k"), holder) + b"data: [DONE]\n\n"

    exchange = stream(CHAT, ASK, body).exchange

    assert exchange.usage == Usage(uncached=7, output=2)
    assert seen(exchange.output) == [("agent_output", "ok")]


def test_deepseek_cache_hits_are_read_off_the_last_chunk() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 5,
        "prompt_cache_hit_tokens": 64,
        "prompt_cache_miss_tokens": 36,
    }
    body = sse(delta(reasoning_content="hm"), delta(content="ok"), {"choices": [], "usage": usage})

    exchange = stream("https://api.deepseek.com/chat/completions", ASK, body).exchange

    assert exchange.usage == Usage(uncached=36, cache_read=64, output=5)
    assert [part.tag for part in exchange.output] == ["agent_reasoning", "agent_output"]


def test_a_stream_without_usage_has_none() -> None:
    assert stream(CHAT, ASK, sse(delta(content="ok"))).exchange.usage is None


def test_content_that_comes_in_blocks_is_joined() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "h"}]}
    more = {"type": "thinking", "thinking": [{"type": "text", "text": "m"}]}
    body = sse(delta(content=[thinking]), delta(content=[more]), delta(content="o"), delta(content="k"))

    output = stream(CHAT, ASK, body).exchange.output

    assert seen(output) == [("agent_reasoning", "hm"), ("agent_output", "ok")]


@pytest.mark.parametrize("ending", [b"\n\n", b"\r\n\r\n", b"\r\r", b"\n", b""])
def test_lines_may_end_in_any_way_and_the_last_without(ending: bytes) -> None:
    first = b": keep-alive\n\nevent: chunk\ndata: " + json.dumps(delta(content="o")).encode() + b"\n\n"

    output = stream(
        CHAT, ASK, first + b"data:" + json.dumps(delta(content="k")).encode() + ending
    ).exchange.output

    assert seen(output) == [("agent_output", "ok")]


def test_a_cut_response_keeps_items_that_were_done_and_pieces_that_came() -> None:
    item = {"type": "function_call", "id": "f", "call_id": "a", "name": "read", "arguments": ""}
    message: Json = {"type": "message", "id": "m", "role": "assistant", "content": []}
    body = sse(
        {"type": "response.created", "response": {"id": "r", "model": "m-1", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}"},
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, "arguments": "{}"}},
        {"type": "response.output_item.added", "output_index": 1, "item": message},
        {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "so "},
        {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "fa"},
    )

    reading = stream(RESPONSES, INPUT, body, cut=True)

    assert seen(reading.exchange.output) == [("tool_call:read", "{}"), ("agent_output", "so fa")]
    assert (reading.exchange.call_id, reading.exchange.usage) == ("r", None)


START = {"type": "message_start", "message": {"id": "a", "model": "m-1", "usage": {"input_tokens": 3}}}


def test_usage_of_messages_is_that_of_both_ends() -> None:
    body = sse(
        {**START, "message": {"id": "a", "usage": {"input_tokens": 3, "cache_read_input_tokens": 90}}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "t", "name": "f"},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"a":'},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": "1}"},
        },
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 8}},
    )

    reading = stream(MESSAGES, ASK, body)

    assert reading.exchange.usage == Usage(uncached=3, cache_read=90, output=8)
    assert seen(reading.exchange.output) == [("tool_call:f", '{"a": 1}')]
    assert reading.finish_reasons == ("tool_use",)


def test_a_cut_message_has_no_usage_though_its_start_tells_some() -> None:
    body = sse(
        START, {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "h"}}
    )

    exchange = stream(MESSAGES, ASK, body, cut=True).exchange

    assert (seen(exchange.output), exchange.usage, exchange.model) == ([("agent_output", "h")], None, "m-1")


def test_a_gemini_stream_may_be_an_array_and_its_texts_are_one() -> None:
    pieces = [
        {"candidates": [{"content": {"parts": [{"text": "th", "thought": True}]}}]},
        {"candidates": [{"content": {"parts": [{"text": "o"}]}}], "usageMetadata": {"promptTokenCount": 9}},
        {
            "candidates": [{"content": {"parts": [{"text": "k"}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 4},
        },
    ]
    whole = json.dumps(pieces)
    cut = Response(200, "application/json", "", whole[: whole.rindex('{"candidates"')].encode(), cut=True)

    reading = stream(GEMINI, CONTENTS, whole.encode())
    half = endpoint_read(GEMINI, json.dumps(CONTENTS).encode(), cut)

    assert seen(reading.exchange.output) == [("agent_reasoning", "th"), ("agent_output", "ok")]
    assert reading.exchange.usage == Usage(uncached=9, output=6, reasoning=4)
    assert (seen(half.exchange.output)[-1], half.exchange.usage) == (("agent_output", "o"), None)


def frame(kind: str, payload: object) -> bytes:
    """Return a frame as AWS documents it."""
    headers = b"".join(
        bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(value)) + value
        for name, value in ((b":message-type", b"event"), (b":event-type", kind.encode()))
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return message + struct.pack(">I", zlib.crc32(message))


EVENTS: list[tuple[str, dict[str, object]]] = [
    ("messageStart", {"role": "assistant"}),
    ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "hm"}}}),
    ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": "s"}}}),
    ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "o"}}),
    ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "k"}}),
    ("contentBlockStart", {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t", "name": "read"}}}),
    ("contentBlockDelta", {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"p":'}}}),
    ("contentBlockDelta", {"contentBlockIndex": 2, "delta": {"toolUse": {"input": "1}"}}}),
    ("messageStop", {"stopReason": "tool_use"}),
    ("metadata", {"usage": {"inputTokens": 4, "outputTokens": 6, "cacheReadInputTokens": 50}}),
]
FRAMES = b"".join(frame(kind, payload) for kind, payload in EVENTS)
SAID = {"messages": [{"role": "user", "content": [{"text": "go"}]}]}


def test_frames_are_those_that_botocore_reads() -> None:
    reader: Any = importlib.import_module("botocore.eventstream").EventStreamBuffer()  # it has no types
    reader.add_data(FRAMES)

    theirs = [(event.headers[":event-type"], event.payload) for event in reader]

    assert list(frames(FRAMES)) == theirs


def test_an_event_stream_of_bedrock_becomes_one_answer() -> None:
    response = Response(200, AWS, "", FRAMES)

    reading = endpoint_read(f"{CONVERSE}-stream", json.dumps(SAID).encode(), response)

    assert seen(reading.exchange.output) == [
        ("agent_reasoning", "hm"),
        ("agent_output", "ok"),
        ("tool_call:read", '{"p": 1}'),
    ]
    assert reading.exchange.usage == Usage(uncached=4, cache_read=50, output=6)
    assert reading.finish_reasons == ("tool_use",)


@pytest.mark.parametrize("cut", range(0, len(FRAMES), 37))
def test_an_event_stream_cut_anywhere_keeps_what_came(cut: int) -> None:
    response = Response(200, AWS, "", FRAMES[:cut], cut=True)

    exchange = endpoint_read(f"{CONVERSE}-stream", json.dumps(SAID).encode(), response).exchange

    assert seen(exchange.prompt) == [("user_turn", "go")]
    assert exchange.usage is None


@pytest.mark.parametrize("total", [0, 11, 15, MAX_FRAME_BYTES + 1, 2**32 - 1])
@pytest.mark.parametrize("headers", [0, 2**17, 2**32 - 1])
def test_lengths_that_lie_end_the_stream(total: int, headers: int) -> None:
    lying = struct.pack(">III", total, headers, 0) + bytes(100)

    assert [kind for kind, _ in frames(frame("messageStart", {}) + lying)] == ["messageStart"]


def test_invoke_of_an_anthropic_model_streams_its_own_events() -> None:
    events = [
        START,
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    ]
    chunks = [
        frame("chunk", {"bytes": base64.b64encode(json.dumps(each).encode()).decode()}) for each in events
    ]
    url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-v2/invoke-with-response-stream"
    request = {"anthropic_version": "bedrock-2023-05-31", "messages": ASK["messages"]}

    reading = endpoint_read(url, json.dumps(request).encode(), Response(200, AWS, "", b"".join(chunks)))

    assert seen(reading.exchange.output) == [("agent_output", "ok")]
    assert reading.exchange.usage == Usage(uncached=3, output=2)
