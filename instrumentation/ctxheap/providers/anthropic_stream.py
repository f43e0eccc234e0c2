"""Put the events of a Messages stream together into one message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import orjson

from ctxheap.providers.json_fields import Fields, fields, string

# The field that holds each kind of piece, and that it goes on in its block.
_PIECES = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
    "input_json_delta": "partial_json",
}
_TOOL_INPUT = "partial_json"

Json = dict[str, object]


def whole(events: Iterable[Fields]) -> Json:
    """Return the message; of one that was cut, the blocks that came, and no usage.

    The first event reports the input already, but what such a call is billed for its output is not known.
    """
    message: Json = {}
    blocks: dict[object, Fields] = {}
    pieces: dict[tuple[object, str], list[str]] = {}
    usage: Json = {}
    is_counted = False
    for event in events:
        kind, index = string(event.get("type")), event.get("index")
        if kind == "message_start":
            message.update(fields(event.get("message")))
            usage.update(_said(message.get("usage")))
        elif kind == "content_block_start":
            blocks[index] = fields(event.get("content_block"))
        elif kind == "content_block_delta":
            delta = fields(event.get("delta"))
            if key := _PIECES.get(string(delta.get("type"))):
                pieces.setdefault((index, key), []).append(string(delta.get(key)))
        elif kind == "message_delta":
            message.update(_said(event.get("delta")))
            message.update(_said({"context_management": event.get("context_management")}))
            usage.update(_said(event.get("usage")))
            is_counted = is_counted or bool(event.get("usage"))
    for (index, key), texts in pieces.items():
        blocks[index] = _with_text(blocks.get(index, {}), key, "".join(texts))
    message["content"] = list(blocks.values())
    message["usage"] = usage if is_counted else None
    return message


def _said(value: object) -> Fields:
    """Return the fields that are not null: later events leave out what they do not change."""
    return {key: inner for key, inner in fields(value).items() if inner is not None}


def _with_text(block: Fields, key: str, text: str) -> Json:
    if key == _TOOL_INPUT:
        return {**block, "input": _input(text) if text else block.get("input", {})}
    return {**block, key: string(block.get(key)) + text}


def _input(text: str) -> object:
    try:
        return cast("object", orjson.loads(text))
    except ValueError:
        return text
