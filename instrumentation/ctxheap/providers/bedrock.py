"""Read Bedrock's Converse into parts: its blocks are Anthropic's in other words, so they are said in those.

    {"toolUse": {"toolUseId", "name", "input"}}   ──▶   {"type": "tool_use", "id", "name", "input"}

Only what Anthropic has no word for is read here.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable

from ctxheap.heap.model import Part, Role, Usage
from ctxheap.providers import anthropic
from ctxheap.providers.json_fields import Fields, fields, json_text, objects, string, tokens
from ctxheap.providers.openai_blocks import ASSUMED, ASSUMED_TOKENS
from ctxheap.providers.openai_media import media_part

_TEXT_FORMATS = frozenset({"txt", "md", "csv", "html"})

Json = dict[str, object]


def message_parts(message: object, *, tools: dict[str, str], where: str) -> list[Part]:
    """Return the parts of one message; as `anthropic.message_parts`."""
    body = fields(message)
    role: Role = "assistant" if body.get("role") == "assistant" else "user"
    parts: list[Part] = []
    for index, block in enumerate(objects(body.get("content"))):
        place = f"{where}:{index}"
        for kind in ("video", "audio"):
            if media := fields(block.get(kind)):
                size = ASSUMED_TOKENS[kind]
                parts.append(media_part(role, kind, json_text(media), tokens=size, where=place + ASSUMED))
        parts += anthropic.block_parts(_block(block), role=role, tools=tools, where=place)
    return parts


def opening(request: Fields) -> list[Part]:
    """Return tool definitions and system prompt."""
    tools = objects(fields(request.get("toolConfig")).get("tools"))
    specs: list[Fields] = [fields(tool.get("toolSpec")) or fields(tool.get("systemTool")) for tool in tools]
    definitions = anthropic.tool_definitions([spec for spec in specs if spec])
    return definitions + anthropic.system_parts([_block(block) for block in objects(request.get("system"))])


def usage_of(response: Fields) -> Usage | None:
    """Return the usage, None where none was reported. The input leaves out what the cache read and wrote."""
    raw = fields(response.get("usage"))
    said: Json = {
        "input_tokens": raw.get("inputTokens"),
        "output_tokens": raw.get("outputTokens"),
        "cache_read_input_tokens": raw.get("cacheReadInputTokens"),
        "cache_creation_input_tokens": raw.get("cacheWriteInputTokens"),
        "cache_creation": {"ephemeral_1h_input_tokens": _an_hour(raw)},
        "service_tier": string(fields(response.get("serviceTier")).get("type")),
    }
    return anthropic.usage_of(said) if anthropic.reports_usage(said) else None


def _an_hour(usage: Fields) -> int:
    details = objects(usage.get("cacheDetails"))
    return sum(tokens(each.get("inputTokens")) for each in details if each.get("ttl") == "1h")


def _block(block: Fields) -> Json:
    for name, said in _SAID.items():
        if (inner := block.get(name)) is not None:
            return said(inner)
    return {}


def _text(inner: object) -> Json:
    return {"type": "text", "text": string(inner)}


def _guarded(inner: object) -> Json:
    return _text(fields(fields(inner).get("text")).get("text"))


def _cited(inner: object) -> Json:
    return _text("".join(string(piece.get("text")) for piece in objects(fields(inner).get("content"))))


def _json(inner: object) -> Json:
    return _text(json_text(inner))


def _call(inner: object) -> Json:
    call = fields(inner)
    given = call.get("input", {})
    return {"type": "tool_use", "id": call.get("toolUseId"), "name": call.get("name"), "input": given}


def _result(inner: object) -> Json:
    result = fields(inner)
    return {
        "type": "tool_result",
        "tool_use_id": result.get("toolUseId"),
        "content": [_block(block) for block in objects(result.get("content"))],
        "is_error": result.get("status") == "error",
    }


def _reasoning(inner: object) -> Json:
    text = fields(fields(inner).get("reasoningText"))
    if text:
        return {"type": "thinking", "thinking": text.get("text"), "signature": text.get("signature")}
    return {"type": "redacted_thinking", "data": fields(inner).get("redactedContent")}


def _image(inner: object) -> Json:
    image = fields(inner)
    source = fields(image.get("source"))
    media_type = f"image/{string(image.get('format'))}"
    return {"type": "image", "source": {**source, "media_type": media_type, "data": source.get("bytes")}}


def _document(inner: object) -> Json:
    document = fields(inner)
    source = fields(document.get("source"))
    text = string(source.get("text"))
    if not text and document.get("format") in _TEXT_FORMATS:
        text = _decoded(string(source.get("bytes")))
    said = {"type": "text", "data": text} if text else {**source, "data": source.get("bytes")}
    return {"type": "document", "title": document.get("name"), "source": said}


def _decoded(data: str) -> str:
    try:
        return base64.b64decode(data).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""


def _found(inner: object) -> Json:
    return {"type": "search_result", **fields(inner)}


_SAID: dict[str, Callable[[object], Json]] = {
    "text": _text,
    "toolUse": _call,
    "toolResult": _result,
    "reasoningContent": _reasoning,
    "image": _image,
    "document": _document,
    "searchResult": _found,
    "citationsContent": _cited,
    "guardContent": _guarded,
    "json": _json,
}
