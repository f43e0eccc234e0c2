"""Read Ollama's own `/api/chat`, which is OpenAI's format with differences, into parts."""

from __future__ import annotations

from ctxheap.heap.model import Part
from ctxheap.providers import openai
from ctxheap.providers.json_fields import Fields, fields, items, objects, string
from ctxheap.providers.unnamed_calls import answered, begin_turn, made_id


def message_parts(message: object, *, tools: dict[str, str], where: str) -> list[Part]:
    """Return the parts of one message; as `openai.message_parts`."""
    body = fields(message)
    plain = {**body, "reasoning": body.get("thinking"), "content": _content(body)}
    if body.get("role") == "assistant":
        begin_turn(tools)
        plain["tool_calls"] = _with_ids(body, tools)
    elif body.get("role") == "tool":
        name = string(body.get("tool_name")) or string(body.get("name"))
        call_id = string(body.get("tool_call_id"))
        plain["tool_call_id"], plain["name"] = (call_id, name) if call_id else answered(name, tools)
    return openai.message_parts(plain, tools=tools, where=where)


def _with_ids(message: Fields, tools: dict[str, str]) -> list[Fields]:
    calls: list[Fields] = []
    taken = dict(tools)
    for call in objects(message.get("tool_calls")):
        inner = fields(call.get("function"))
        name = string(inner.get("name"))
        call_id = string(call.get("id")) or made_id(name, inner.get("arguments"), taken)
        taken[call_id] = name
        calls.append({**call, "id": call_id})
    return calls


def _content(message: Fields) -> object:
    images = [f"data:image/*;base64,{data}" for data in items(message.get("images")) if isinstance(data, str)]
    if not images:
        return message.get("content")
    text = {"type": "text", "text": string(message.get("content"))}
    return [text, *({"type": "image_url", "image_url": {"url": url}} for url in images)]
