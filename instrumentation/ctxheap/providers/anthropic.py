"""Read Anthropic's wire format, Messages, into parts.

    system, tools, message ──▶ parts in the order in which the provider caches them
    usage ──usage_of──▶ disjoint token classes

Cache marks (`cache_control`) are transport: they change neither a text nor an identity.
"""

from __future__ import annotations

from collections.abc import Callable

from ctxheap.heap.model import Part, Role
from ctxheap.heap.tags import text_parts
from ctxheap.providers.anthropic_blocks import (
    document_part,
    image_part,
    reasoning_part,
    result_content,
    search_result_part,
)
from ctxheap.providers.anthropic_usage import reports_usage, usage_of
from ctxheap.providers.json_fields import Fields, fields, items, json_text, objects, spaced_json_text, string

__all__ = ["block_parts", "message_parts", "reports_usage", "system_parts", "tool_definitions", "usage_of"]

_ROLES: dict[str, Role] = {"system": "system", "assistant": "assistant", "user": "user"}
_TOOL_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_RESULT_SUFFIX = "tool_result"
_MAKERS: dict[str, Callable[[Fields, Role, str], Part]] = {
    "thinking": reasoning_part,
    "redacted_thinking": reasoning_part,
    "image": image_part,
    "document": document_part,
    "search_result": search_result_part,
}


def message_parts(message: object, *, tools: dict[str, str], where: str) -> list[Part]:
    """Return the parts of one message, empty ones left out.

    Args:
        message: The decoded JSON.
        tools: Tool names by call id; calls met here are added, results find their tool in it.
        where: Place of the message in its source.
    """
    body = fields(message)
    role = _ROLES.get(string(body.get("role")), "user")
    content = body.get("content")
    blocks = [content] if isinstance(content, str) else items(content)
    parts: list[Part] = []
    for index, block in enumerate(blocks):
        parts += block_parts(block, role=role, tools=tools, where=f"{where}:{index}")
    return parts


def block_parts(
    block: object, *, role: Role, tools: dict[str, str], where: str, plain: str = ""
) -> list[Part]:
    """Return the parts of one content block; unknown types count by their text, if they have any.

    Args:
        block: A block, or the string that stands for a lone text block.
        role: Who speaks.
        tools: As for `message_parts`.
        where: Place of the block in its source.
        plain: Tag of user text that no rule knows, where it is not the person's.
    """
    body = {"text": block} if isinstance(block, str) else fields(block)
    kind = string(body.get("type"))
    if kind in _TOOL_CALLS:
        return [_call_part(body, role, tools, where)]
    if kind.endswith(_RESULT_SUFFIX):
        return _result_parts(body, kind, role=role, tools=tools, where=where)
    if kind in _MAKERS:
        return [_MAKERS[kind](body, role, where)]
    if kind == "compaction":
        return _summary_parts(body, role, where)
    text = string(body.get("text"))
    return text_parts(role, text, where=where, plain=plain) if text else []


def _summary_parts(block: Fields, role: Role, where: str) -> list[Part]:
    summary = string(block.get("content"))
    return [Part(role, "text", "summary", summary, where=where)] if summary else []


def _call_part(block: Fields, role: Role, tools: dict[str, str], where: str) -> Part:
    name = string(block.get("name"))
    call_id = string(block.get("id"))
    if call_id:
        tools[call_id] = name
    # The decoded form is all that is left of what was generated.
    text = spaced_json_text(block.get("input", {}))
    return Part(role, "tool_call", f"tool_call:{name}", text, name, call_id, where=where)


def _result_parts(block: Fields, kind: str, *, role: Role, tools: dict[str, str], where: str) -> list[Part]:
    call_id = string(block.get("tool_use_id"))
    # Results of the provider's own tools name them: web_search_tool_result, code_execution_tool_result.
    own_name = kind.removesuffix(_RESULT_SUFFIX).rstrip("_")
    tool = tools.get(call_id) or (own_name if own_name != "mcp" else "")
    return result_content(block, role=role, tool=tool, call_id=call_id, where=where)


def tool_definitions(tools: object) -> list[Part]:
    """Return one part a tool, named by its `name` or, for the provider's own tools, by its type."""
    parts: list[Part] = []
    for index, tool in enumerate(objects(tools)):
        schema = {key: value for key, value in tool.items() if key != "cache_control"}
        name = string(tool.get("name")) or string(fields(tool.get("function")).get("name"))
        name = name or string(tool.get("type")) or "unnamed"
        tag = f"tool_definition:{name}"
        parts.append(Part("system", "tool_definition", tag, json_text(schema), name, where=f"tools:{index}"))
    return parts


def system_parts(system: object) -> list[Part]:
    """Return the system prompt: a string, or one part a block."""
    return message_parts({"role": "system", "content": system}, tools={}, where="system")
