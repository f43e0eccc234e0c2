"""Read the content blocks, calls and results that both of OpenAI's APIs share."""

from __future__ import annotations

from ctxheap.heap import tags
from ctxheap.heap.model import Part, Role
from ctxheap.providers.json_fields import Fields, fields, items, json_text, string
from ctxheap.providers.openai_media import image_tokens, media_part

_MEDIA = {
    "input_audio": "audio",
    "audio": "audio",
    "file": "file",
    "input_file": "file",
    "document": "file",
    "video_url": "video",
    "input_video": "video",
    "video": "video",
}
ASSUMED_TOKENS = {"image": 765, "file": 3_000, "audio": 300, "video": 3_000}
"""Sizes where none can be seen: an image of 1024², two pages of a PDF, 30 s of 10 tokens each."""
ASSUMED = " (size assumed)"
"""Stands behind the place of a part whose size could not be read."""

_IMAGES = frozenset({"image_url", "input_image", "image", "computer_screenshot"})


def content_parts(content: object, *, role: Role, where: str) -> list[Part]:
    """Return the parts of a message's content: a string, or a list of blocks."""
    if isinstance(content, str):
        return tags.text_parts(role, content, where=where) if content else []
    parts: list[Part] = []
    for index, block in enumerate(items(content)):
        parts += block_parts(block, role=role, where=f"{where}:{index}")
    return parts


def block_parts(block: object, *, role: Role, where: str) -> list[Part]:
    """Return the parts of one content block; of an unknown type only the text counts."""
    text = block_text(block)
    if text:
        return tags.text_parts(role, text, where=where)
    body = fields(block)
    kind = string(body.get("type"))
    if kind == "thinking":
        return _thinking(body, where)
    if kind in _IMAGES:
        return [_image(body, role, where)]
    if kind in _MEDIA:
        return [_assumed(role, _MEDIA[kind], json_text(body), where)]
    return []


def _thinking(block: Fields, where: str) -> list[Part]:
    inner = block.get("thinking")
    text = string(inner) or "".join(map(block_text, items(inner)))
    return [Part("assistant", "reasoning", "agent_reasoning", text, where=where)] if text else []


def block_text(block: object) -> str:
    """Return the text of a text or refusal block, "" for any other."""
    if isinstance(block, str):
        return block
    body = fields(block)
    return string(body.get("text")) or string(body.get("refusal"))


def _image(block: Fields, role: Role, where: str) -> Part:
    given = block.get("image_url")
    url = string(given) or string(fields(given).get("url")) or _data_url(fields(block.get("source")))
    detail = string(block.get("detail")) or string(fields(given).get("detail"))
    tokens = image_tokens(url, detail)
    payload = url or json_text(block)
    if tokens is None:
        return _assumed(role, "image", payload, where)
    return media_part(role, "image", payload, tokens=tokens, where=where)


def _assumed(role: Role, kind: str, payload: str, where: str) -> Part:
    return media_part(role, kind, payload, tokens=ASSUMED_TOKENS[kind], where=where + ASSUMED)


def _data_url(source: Fields) -> str:
    data = string(source.get("data"))
    return f"data:{string(source.get('media_type'))};base64,{data}" if data else string(source.get("url"))


def result_parts(content: object, *, tool: str, call_id: str, where: str) -> list[Part]:
    """Return a tool result: its texts as one, what the harness put behind them, then the media in it."""
    blocks = [content] if isinstance(content, str) else list(items(content))
    text = "\n".join(filter(None, map(block_text, blocks))) or json_text(fields(content) or "")
    parts = tags.result_parts(text, tool=tool, call_id=call_id, where=where)
    for index, block in enumerate(blocks):
        if not block_text(block):
            parts += block_parts(block, role="tool", where=f"{where}:{index}")
    return parts


def call_part(call_id: str, name: str, arguments: object, tools: dict[str, str], *, where: str) -> Part:
    """Return a tool call, and remember in `tools` whose id it has."""
    if call_id:
        # Taken out first, so that the newest call of a name is the last one in the dict.
        tools.pop(call_id, None)
        tools[call_id] = name
    text = "" if arguments is None else json_text(arguments)
    return Part("assistant", "tool_call", f"tool_call:{name}", text, name, call_id, where=where)
