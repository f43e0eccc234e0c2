"""Read the items of OpenAI's Responses API that are no messages: calls, outputs, reasoning, tool lists."""

from __future__ import annotations

from dataclasses import replace

from ctxheap.heap.model import Part
from ctxheap.providers.json_fields import Fields, fields, items, json_text, objects, string
from ctxheap.providers.openai_blocks import call_part, result_parts

_CALL = "_call"
_OUTPUT = "_output"
# What each item of a tool that the provider runs itself holds: the request, and what came back.
_HOSTED = {
    "web_search_call": ("action", "results"),
    "file_search_call": ("queries", "results"),
    "code_interpreter_call": ("code", "outputs"),
    "mcp_call": ("arguments", "output"),
}
_ARGUMENTS = ("arguments", "input", "action", "operation")
_NEUTRAL = ("id", "type", "status", "call_id", "created_by")


def item_parts(item: Fields, *, tools: dict[str, str], where: str) -> list[Part]:
    """Return the parts of one item without a role; an unknown type has none."""
    kind = string(item.get("type"))
    if kind in ("reasoning", "compaction"):
        return [_reasoning(item, kind, where)]
    if kind in ("mcp_list_tools", "additional_tools", "tool_search_output"):
        return _listed_tools(item, where)
    if kind in _HOSTED:
        return _hosted_parts(item, kind, tools, where)
    if kind.endswith(_OUTPUT):
        return _answer(item, kind, tools, where)
    return [_call(item, kind, tools, where)] if kind.endswith(_CALL) else []


def _answer(item: Fields, kind: str, tools: dict[str, str], where: str) -> list[Part]:
    call_id = string(item.get("call_id"))
    name = tools.get(call_id) or kind.partition(_CALL)[0]
    output = item.get("output")
    return result_parts([output] if fields(output) else output, tool=name, call_id=call_id, where=where)


def _call(item: Fields, kind: str, tools: dict[str, str], where: str) -> Part:
    call_id = string(item.get("call_id")) or string(item.get("id"))
    name = string(item.get("name")) or kind.removesuffix(_CALL)
    given = next(
        (item[key] for key in ("arguments", "input", "action", "operation") if item.get(key) is not None),
        None,
    )
    if given is None:
        given = {key: value for key, value in item.items() if key not in _NEUTRAL}
    return call_part(call_id, name, given, tools, where=where)


def _hosted_parts(item: Fields, kind: str, tools: dict[str, str], where: str) -> list[Part]:
    request_key, result_key = _HOSTED[kind]
    call_id = string(item.get("id"))
    name = string(item.get("name")) or kind.removesuffix(_CALL)
    request = item.get(request_key)
    given = {"code": request} if kind == "code_interpreter_call" else request
    parts = [call_part(call_id, name, given, tools, where=where)]
    answer = item.get(result_key) or item.get("error")
    if answer:
        parts += _hosted_result(answer, call_id, name, error=not item.get(result_key), where=where)
    return parts


def _hosted_result(answer: object, call_id: str, name: str, *, error: bool, where: str) -> list[Part]:
    text = (
        answer
        if isinstance(answer, str)
        else "\n".join(map(_result_text, items(answer))) or json_text(answer)
    )
    tag = f"retrieval:{name}" if name in ("web_search", "file_search") else f"tool_result:{name}"
    return [Part("tool", "tool_result", tag, text, name, call_id, error=error, where=where)]


def _result_text(result: object) -> str:
    body = fields(result)
    return string(body.get("text")) or string(body.get("logs")) or json_text(result)


def _reasoning(item: Fields, kind: str, where: str) -> Part:
    """Return a reasoning block; an encrypted or stored one is known by what stands for it."""
    tag = "summary" if kind == "compaction" else "agent_reasoning"
    content = "".join(string(block.get("text")) for block in objects(item.get("content")))
    summary = "\n".join(string(block.get("text")) for block in objects(item.get("summary")))
    part = Part("assistant", "reasoning", tag, content or summary, where=where)
    return part if content else _opaque(part, item)


def _opaque(part: Part, item: Fields) -> Part:
    payload = string(item.get("encrypted_content")) or string(item.get("id"))
    if not payload:
        return part
    # The summary is for people and is not billed again; the identity is that of what is.
    return replace(part, identity=replace(part, text=payload, identity=b"").identity)


def _listed_tools(item: Fields, where: str) -> list[Part]:
    parts: list[Part] = []
    for tool in objects(item.get("tools")):
        name = string(tool.get("name")) or "unnamed"
        parts.append(
            Part("system", "tool_definition", f"tool_definition:{name}", json_text(tool), name, where=where)
        )
    return parts
