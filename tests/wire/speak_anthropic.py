"""Speak Anthropic's Messages API: thinking with signatures, cache reads and writes."""

from __future__ import annotations

from collections.abc import Iterator

from ctxheap.providers.json_fields import Fields, objects
from wire.speech import Json, Reply, Truth, dumps, event, pieces

SIGNATURE = "EqMBCkYIscripted0signature=="


class Anthropic:
    """Speak Messages."""

    def turn(self, request: Fields) -> int:
        """Return the number of assistant messages."""
        return sum(message.get("role") == "assistant" for message in objects(request.get("messages")))

    def truth(self, truth: Truth) -> Truth:
        """Return what is reported: reasoning is not told apart."""
        return Truth(truth.input, truth.output, truth.cache_read, truth.cache_write, 0)

    def whole(self, reply: Reply) -> Json:
        """Return a message."""
        return {
            "id": f"msg_{reply.id}",
            "type": "message",
            "role": "assistant",
            "model": reply.model,
            "content": _blocks(reply),
            "stop_reason": "tool_use" if reply.answer.tools else "end_turn",
            "stop_sequence": None,
            "usage": _usage(reply.truth),
        }

    def events(self, reply: Reply) -> Iterator[bytes]:
        """Yield the events from `message_start` to `message_stop`."""
        whole = self.whole(reply)
        usage = {**_usage(reply.truth), "output_tokens": 1}
        start = {**whole, "content": [], "stop_reason": None, "usage": usage}
        yield event({"type": "message_start", "message": start})
        yield event({"type": "ping"})
        for index, block in enumerate(_blocks(reply)):
            yield from _block_events(index, block)
        ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        usage = {"output_tokens": reply.truth.output}
        yield event({"type": "message_delta", "delta": ended, "usage": usage})
        yield event({"type": "message_stop"})

    def error(self, status: int) -> Json:
        """Return an error as Anthropic writes it."""
        kind = "rate_limit_error" if status == 429 else "api_error"
        return {"type": "error", "error": {"type": kind, "message": f"scripted {status}"}}


def _blocks(reply: Reply) -> list[Json]:
    blocks: list[Json] = []
    if reply.answer.reasoning and reply.request.get("thinking"):
        blocks.append({"type": "thinking", "thinking": reply.answer.reasoning, "signature": SIGNATURE})
    if reply.answer.text:
        blocks.append({"type": "text", "text": reply.answer.text})
    blocks += [
        {"type": "tool_use", "id": use.id, "name": use.name, "input": dict(use.arguments)}
        for use in reply.answer.tools
    ]
    return blocks


def _block_events(index: int, block: Json) -> Iterator[bytes]:
    started, deltas = _block_stream(block)
    yield event({"type": "content_block_start", "index": index, "content_block": {**block, **started}})
    for delta in deltas:
        yield event({"type": "content_block_delta", "index": index, "delta": delta})
    yield event({"type": "content_block_stop", "index": index})


def _block_stream(block: Json) -> tuple[Json, list[Json]]:
    """Return how a block starts out and the deltas that fill it."""
    if block["type"] == "thinking":
        deltas: list[Json] = [
            {"type": "thinking_delta", "thinking": piece} for piece in pieces(str(block["thinking"]))
        ]
        signed: Json = {"type": "signature_delta", "signature": block["signature"]}
        return {"thinking": "", "signature": ""}, [*deltas, signed]
    if block["type"] == "text":
        return {"text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(str(block["text"]))]
    arguments = dumps(block["input"]).decode()
    return {"input": {}}, [
        {"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces(arguments))
    ]


def _usage(truth: Truth) -> Json:
    return {
        "input_tokens": truth.input - truth.cache_read - truth.cache_write,
        "cache_read_input_tokens": truth.cache_read,
        "cache_creation_input_tokens": truth.cache_write,
        "cache_creation": {"ephemeral_5m_input_tokens": truth.cache_write, "ephemeral_1h_input_tokens": 0},
        "output_tokens": truth.output,
        "service_tier": "standard",
    }
