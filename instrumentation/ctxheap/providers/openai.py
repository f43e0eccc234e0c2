"""Read OpenAI's wire formats, Chat Completions and Responses, into parts.

    message or item ──message_parts──▶ parts in the order in which the provider bills them
    tools, functions ──tool_definitions──▶ one part a tool
    usage ──usage_of──▶ disjoint token classes

OpenAI-compatible servers differ in details; what is missing, null or of another type is read as not there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from ctxheap.heap.model import Part, Role
from ctxheap.heap.tags import text_parts
from ctxheap.providers.json_fields import Fields, fields, items, json_text, objects, string
from ctxheap.providers.openai_blocks import call_part, content_parts, result_parts
from ctxheap.providers.openai_responses import item_parts
from ctxheap.providers.openai_usage import reports_usage, usage_of

__all__ = ["message_parts", "reports_usage", "tool_definitions", "usage_of", "with_reasoning_tokens"]

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
_LEGACY = "function_call:"


def message_parts(message: object, *, tools: dict[str, str], where: str) -> list[Part]:
    """Return the parts of one chat message or Responses item, empty ones left out.

    Args:
        message: The decoded JSON.
        tools: Tool names by call id; calls met here are added, results find their tool in it.
        where: Place of the message in its source.
    """
    body = fields(message)
    if not string(body.get("role")):
        return item_parts(body, tools=tools, where=where)
    role = _ROLES.get(string(body.get("role")), "user")
    if role == "tool":
        return _result_parts(body, tools, where)
    parts = list(_reasoning_parts(body, where)) if role == "assistant" else []
    parts += content_parts(body.get("content"), role=role, where=where)
    if refusal := string(body.get("refusal")):
        parts += text_parts(role, refusal, where=where)
    if transcript := string(fields(body.get("audio")).get("transcript")):
        parts += text_parts(role, transcript, where=where)
    parts += _call_parts(body, tools, where)
    return parts


def with_reasoning_tokens(output: list[Part], reasoning: int) -> list[Part]:
    """Return the output with its reasoning blocks sized by what was billed, in tokens, shared by length.

    What comes back is often encrypted or a summary, and the same block is billed again when it is sent back.
    """
    blocks = [part for part in output if part.kind == "reasoning"]
    if not reasoning or not blocks:
        return output
    whole = sum(len(part.text) + 1 for part in blocks)
    sizes: dict[int, int] = {}
    given = seen = 0
    for part in blocks:
        seen += len(part.text) + 1
        sizes[id(part)] = reasoning * seen // whole - given
        given += sizes[id(part)]
    return [replace(part, tokens=sizes[id(part)]) if id(part) in sizes else part for part in output]


def tool_definitions(tools: object) -> list[Part]:
    """Return one part a tool: `tools` of either API, or the legacy `functions`."""
    parts: list[Part] = []
    for index, tool in enumerate(objects(tools)):
        name = _definition_name(tool)
        tag = f"tool_definition:{name}"
        text = json_text({key: value for key, value in tool.items() if key != "cache_control"})
        parts.append(Part("system", "tool_definition", tag, text, name, where=f"tools:{index}"))
    return parts


def _definition_name(tool: Fields) -> str:
    inner = fields(tool.get("function")) or fields(tool.get("custom")) or tool
    return (
        string(inner.get("name")) or string(tool.get("server_label")) or string(tool.get("type")) or "unnamed"
    )


def _reasoning_parts(message: Fields, where: str) -> Iterator[Part]:
    # DeepSeek, OpenRouter or vLLM, LiteLLM: one text under several names at once.
    text = string(message.get("reasoning_content")) or string(message.get("reasoning"))
    for key, field in (("thinking_blocks", "thinking"), ("reasoning_details", "text")):
        text = text or "".join(string(block.get(field)) for block in objects(message.get(key)))
    if text:
        yield Part("assistant", "reasoning", "agent_reasoning", text, where=where)


def _call_parts(message: Fields, tools: dict[str, str], where: str) -> Iterator[Part]:
    for index, call in enumerate(objects(message.get("tool_calls"))):
        inner = fields(call.get("function")) or fields(call.get("custom")) or call
        name = string(inner.get("name"))
        arguments = inner.get("arguments", inner.get("input", ""))
        yield call_part(string(call.get("id")), name, arguments, tools, where=f"{where}:{index}")
    legacy = fields(message.get("function_call"))
    if legacy:
        name = string(legacy.get("name"))
        digest = hashlib.sha256(json_text(legacy).encode("utf-8", "surrogatepass")).hexdigest()[:12]
        # The old form has no ids; one made of the content stays the same from request to request.
        yield call_part(f"{_LEGACY}{name}:{digest}", name, legacy.get("arguments", ""), tools, where=where)


def _result_parts(message: Fields, tools: dict[str, str], where: str) -> list[Part]:
    call_id = string(message.get("tool_call_id")) or next(iter(_strings(message.get("tool_call_ids"))), "")
    name = string(message.get("name"))
    if not call_id and name:
        call_id = next((key for key in reversed(tools) if key.startswith(f"{_LEGACY}{name}:")), "")
    return result_parts(message.get("content"), tool=tools.get(call_id) or name, call_id=call_id, where=where)


def _strings(value: object) -> list[str]:
    return [item for item in items(value) if isinstance(item, str)]
