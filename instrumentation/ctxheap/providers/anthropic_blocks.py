"""Read the blocks of Anthropic messages whose tokens are not simply those of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ctxheap.heap.model import Part, Role, identity_of
from ctxheap.heap.tags import result_parts
from ctxheap.providers.json_fields import Fields, fields, items, json_text, objects, string
from ctxheap.providers.openai_media import image_size, media_part

PIXELS_PER_TOKEN = 750
LONG_SIDE_PIXELS = 1568
MAX_IMAGE_TOKENS = 1600
ASSUMED_IMAGE_TOKENS = 1600
ASSUMED_DOCUMENT_TOKENS = 3000
"""Two pages of a PDF, of 1,500 to 3,000 tokens each as the provider's guide says."""
ASSUMED = " (size assumed)"
"""Stands behind the place of a part whose size could not be read."""

# Measured on 40 signatures of Claude 4.5 and 4.6: characters = 230 + 4/3 of the thinking's bytes, within 3 %.
SIGNATURE_CHARACTERS = 230
CHARACTERS_PER_TOKEN = 4


def reasoning_part(block: Fields, role: Role, where: str) -> Part:
    """Return a thinking block; where only its ciphertext is left, sized by that and without a text."""
    text = string(block.get("thinking"))
    if text:
        return Part(role, "reasoning", "agent_reasoning", text, where=where)
    sealed = string(block.get("data")) or string(block.get("signature"))
    tokens = max(0, len(sealed) - SIGNATURE_CHARACTERS) * 3 // 4 // CHARACTERS_PER_TOKEN
    keyed = Part(role, "reasoning", "agent_reasoning", sealed, tokens=tokens, where=where)
    return replace(keyed, text="", identity=identity_of(keyed))


def image_part(block: Fields, role: Role, where: str) -> Part:
    """Return an image, sized by its pixels where they can be read from its header."""
    source = fields(block.get("source"))
    data = string(source.get("data"))
    url = f"data:{string(source.get('media_type'))};base64,{data}" if data else ""
    size = image_size(url)
    tokens = image_tokens(*size) if size else ASSUMED_IMAGE_TOKENS
    payload = data or json_text(source)
    return media_part(role, "image", payload, tokens=tokens, where=where if size else where + ASSUMED)


def image_tokens(width: int, height: int) -> int:
    """Return width · height / 750 after scaling the long side to 1568 px, at most 1600 tokens."""
    scale = min(1.0, LONG_SIDE_PIXELS / max(width, height))
    return min(MAX_IMAGE_TOKENS, -(-round(width * scale) * round(height * scale) // PIXELS_PER_TOKEN))


def document_part(block: Fields, role: Role, where: str) -> Part:
    """Return a document: with its text where it is one, else by an assumed size."""
    source = fields(block.get("source"))
    heading = [string(block.get("title")), string(block.get("context"))]
    if string(source.get("type")) in ("text", "content"):
        body = string(source.get("data")) or string(source.get("content")) or _joined(source.get("content"))
        return Part(role, "media", "media:document", _lines(*heading, body), where=where)
    payload = string(source.get("data")) or json_text(source)
    return media_part(role, "document", payload, tokens=ASSUMED_DOCUMENT_TOKENS, where=where + ASSUMED)


def search_result_part(block: Fields, role: Role, where: str) -> Part:
    """Return a document that an application's retriever put beside the user's words."""
    return Part(role, "text", "retrieval:search_result", _found_text(block), where=where)


def result_content(block: Fields, *, role: Role, tool: str, call_id: str, where: str) -> list[Part]:
    """Return a tool result: its texts as one part (and reminders behind it), then the media in it."""
    content = block.get("content")
    blocks: Sequence[object] = items(content) or (content,)
    text = "\n".join(filter(None, map(_result_text, blocks)))
    error = block.get("is_error") is True or any(_is_error(item) for item in blocks)
    parts = result_parts(text, tool=tool, call_id=call_id, role=role, error=error, where=where)
    if any(_is_found(item) for item in blocks):
        parts[0] = replace(parts[0], tag=f"retrieval:{tool}" if tool else "retrieval")
    for index, item in enumerate(map(fields, blocks)):
        kind = string(item.get("type"))
        if kind == "image":
            parts.append(image_part(item, role, f"{where}:{index}"))
        elif kind == "document":
            parts.append(document_part(item, role, f"{where}:{index}"))
    return parts


def _result_text(item: object) -> str:
    if isinstance(item, str):
        return item
    body = fields(item)
    kind = string(body.get("type"))
    if kind in ("image", "document"):
        return ""
    if _is_found(item):
        return _found_text(body)
    if kind == "tool_reference":
        return string(body.get("tool_name"))
    # Results of the provider's own tools have fields of their own: output of programs, error codes.
    return string(body.get("text")) or (_fields_text(body) if kind != "text" else "")


def _is_found(item: object) -> bool:
    return string(fields(item).get("type")) in ("search_result", "web_search_result")


def _is_error(item: object) -> bool:
    return string(fields(item).get("type")).endswith("_error")


def _found_text(block: Fields) -> str:
    place = string(block.get("source")) or string(block.get("url"))
    return _lines(string(block.get("title")), place, _joined(block.get("content")))


def _fields_text(body: Fields) -> str:
    """Return the readable fields of a block in order; what is encrypted is not text."""
    shown = {key: value for key, value in body.items() if not key.startswith("encrypted") and key != "type"}
    strings = [value for value in shown.values() if isinstance(value, str)]
    return _lines(*strings) if len(strings) == len(shown) else json_text(shown)


def _joined(content: object) -> str:
    return "".join(string(block.get("text")) for block in objects(content))


def _lines(*texts: str) -> str:
    return "\n".join(filter(None, texts))
