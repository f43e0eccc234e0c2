"""Read Ollama's own `/api/chat`, which is OpenAI's format with differences, into parts."""

from __future__ import annotations

from ctxheap.heap.model import Part
from ctxheap.providers import openai
from ctxheap.providers.json_fields import Fields, fields, items, objects, string
from ctxheap.providers.unnamed_calls import answered, asked, model_speaks, others_speak


def message_parts(message: object, *, tools: dict[str, str], where: str) -> list[Part]:
    """Return the parts of one message; as `openai.message_parts`."""
    body = fields(message)
    plain = {**body, "reasoning": body.get("thinking"), "content": _content(body)}
    if body.get("role") == "assistant":
        model_speaks(tools)
        plain["tool_calls"] = [_with_id(call, tools) for call in objects(body.get("tool_calls"))]
    else:
        others_speak(tools)
    if body.get("role") == "tool":
        name = string(body.get("tool_name")) or string(body.get("name"))
        given = string(body.get("tool_call_id"))
        plain["tool_call_id"], plain["name"] = answered(name, tools, given=given)
    return openai.message_parts(plain, tools=tools, where=where)


def _with_id(call: Fields, tools: dict[str, str]) -> Fields:
    inner = fields(call.get("function"))
    given = string(call.get("id"))
    return {**call, "id": asked(string(inner.get("name")), inner.get("arguments"), tools, given=given)}


def _content(message: Fields) -> object:
    images = [f"data:image/*;base64,{data}" for data in items(message.get("images")) if isinstance(data, str)]
    if not images:
        return message.get("content")
    text = {"type": "text", "text": string(message.get("content"))}
    return [text, *({"type": "image_url", "image_url": {"url": url}} for url in images)]
