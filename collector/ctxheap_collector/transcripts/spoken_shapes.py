"""Read messages in whatever shape a tracer left them: several frameworks meet in one store of traces.

{"role", "content"}                  OpenAI, Anthropic, Vercel's and LangChain's blocks
{"role", "parts": [{"type", …}]}     the GenAI conventions
{"role", "parts": [{"text"}, …]}     Gemini
{"kwargs": {…}, "id": [… "HumanMessage"]}   LangChain, serialised
"text", "role: text"                 what is left of a prompt that was flattened
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ctxheap.heap.model import Part, Role
from ctxheap.heap.tags import result_parts, text_parts
from ctxheap.providers import anthropic, gemini, openai
from ctxheap.providers.json_fields import Fields, fields, items, json_text, objects, string
from ctxheap.providers.openai_blocks import call_part
from ctxheap_collector.transcripts import source_values
from ctxheap_collector.transcripts.wire import has_anthropic_blocks

_ROLES = {
    "human": "user",
    "humanmessage": "user",
    "ai": "assistant",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "systemmessage": "system",
    "developer": "system",
    "toolmessage": "tool",
    "toolresult": "tool",
    "function": "tool",
}
_KNOWN = frozenset({"system", "user", "assistant", "tool"})
_PART_ROLES: dict[str, Role] = {"system": "system", "assistant": "assistant", "tool": "tool"}
_SPEAKER = re.compile(r"^(system|developer|user|assistant|tool): ", re.MULTILINE)
_VERCEL = frozenset({"tool-call", "tool-result", "reasoning"})
_PRINTED = re.compile(r"role='(\w+)' content=(['\"])(.*?)\2 name=", re.DOTALL)


def decoded(value: object) -> object:
    """Return a value that was kept as a string of JSON; any other text as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            values = source_values.parse(value.encode("utf-8", "surrogatepass")).values
        except ValueError:
            return value
        return values[0] if len(values) == 1 else value
    return value


def spoken(text: str, role: str = "user") -> list[Fields]:
    """Return the messages of a text, which may be a conversation written one speaker after the other."""
    marks = list(_SPEAKER.finditer(text))
    if not marks or marks[0].start() or (len(marks) == 1 and marks[0][1] == role):
        printed = _PRINTED.match(text)
        return [{"role": printed[1], "content": printed[3]}] if printed else [{"role": role, "content": text}]
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [
        {"role": mark[1], "content": text[mark.end() : end].removesuffix("\n")}
        for mark, end in zip(marks, ends, strict=True)
    ]


def message_parts(message: object, *, tools: dict[str, str], where: str) -> list[Part]:
    """Return the parts of one message; arguments as for `openai.message_parts`."""
    if isinstance(message, str):
        said = spoken(message)
        return [part for item in said for part in message_parts(item, tools=tools, where=where)]
    body = _unwrapped(fields(message))
    role = _role(body, tools)
    content = decoded(body.get("content")) if role in ("tool", "assistant") else body.get("content")
    blocks = objects(content)
    if items(body.get("parts")):
        return _parted(body, role, tools, where)
    if fields(content).get("type") == "function" and role == "tool":
        # LangChain's tracer lists the tools among the messages.
        return openai.tool_definitions([content])
    if any(string(block.get("type")) in _VERCEL for block in blocks):
        return _typed_parts(blocks, role, tools, where)
    if has_anthropic_blocks(body):
        return anthropic.message_parts({**body, "role": role}, tools=tools, where=where)
    return _openai_parts(body, role, tools, where)


def _openai_parts(body: Fields, role: str, tools: dict[str, str], where: str) -> list[Part]:
    blocks = objects(decoded(body.get("content")))
    if role in ("tool", "assistant") and blocks and all("function" in block for block in blocks):
        # Koog writes the calls of a message into its text.
        return openai.message_parts({"role": "assistant", "tool_calls": blocks}, tools=tools, where=where)
    return openai.message_parts(_as_openai(body, role, tools), tools=tools, where=where)


def _unwrapped(body: Fields) -> Fields:
    """Return LangChain's serialised message as a plain one."""
    inner = fields(body.get("kwargs")) or fields(body.get("data"))
    if inner and ("content" in inner or "tool_calls" in inner):
        named = [string(item) for item in items(body.get("id"))]
        return {"role": named[-1] if named else string(body.get("type")), **inner}
    wrapped = fields(body.get("message"))
    return wrapped if wrapped and "role" in wrapped and "content" not in body else body


def _role(body: Fields, tools: dict[str, str]) -> str:
    given = string(body.get("role")) or string(body.get("type"))
    role = _ROLES.get(given.lower(), given.lower())
    if role in _KNOWN:
        return role
    # LangChain's tracer puts the tool's name in the place of the role.
    return "tool" if given and given in tools.values() else ("" if "type" in body else "user")


def _as_openai(body: Fields, role: str, tools: dict[str, str]) -> Fields:
    more = fields(body.get("additional_kwargs"))
    called = objects(body.get("tool_calls")) or objects(more.get("tool_calls"))
    calls = [{**call, "arguments": call["args"]} if "args" in call else call for call in called]
    given = string(body.get("tool_call_id")) or string(more.get("tool_call_id"))
    if role == "tool" and not given:
        given = next((key for key in reversed(tools) if tools[key] == body.get("role")), "")
    named: dict[str, object] = {"role": role} if role else {}
    if role == "tool" and fields(body.get("content")):
        named["content"] = json_text(body.get("content"))
    return {**body, **named, "tool_calls": calls, "tool_call_id": given}


def _parted(body: Fields, role: str, tools: dict[str, str], where: str) -> list[Part]:
    pieces = objects(body.get("parts"))
    if not any("type" in piece for piece in pieces):
        return gemini.message_parts(body, tools=tools, where=where)
    return _typed_parts(pieces, role, tools, where)


def _typed_parts(pieces: list[Fields], role: str, tools: dict[str, str], where: str) -> list[Part]:
    return [
        part for index, piece in enumerate(pieces) for part in _typed(piece, role, tools, f"{where}:{index}")
    ]


def _typed(piece: Fields, role: str, tools: dict[str, str], where: str) -> list[Part]:
    """Return the parts of a block that names its type, in the words of the GenAI conventions or Vercel's."""
    kind = string(piece.get("type")).replace("-", "_")
    speaker = _PART_ROLES.get(role, "user")
    text = string(piece.get("content")) or string(piece.get("text"))
    if kind in ("reasoning", "thinking"):
        return [Part("assistant", "reasoning", "agent_reasoning", text, where=where)] if text else []
    if kind == "tool_call":
        given = _first(piece, ("arguments", "args", "input"))
        call_id, name = _first_text(piece, ("id", "toolCallId")), _first_text(piece, ("name", "toolName"))
        return [call_part(call_id, name, given, tools, where=where)]
    if kind in ("tool_call_response", "tool_result"):
        return _result(piece, tools, where)
    if text:
        return text_parts(speaker, text, where=where)
    return openai.message_parts({"role": role or "user", "content": [piece]}, tools=tools, where=where)


def _result(piece: Fields, tools: dict[str, str], where: str) -> list[Part]:
    call_id = _first_text(piece, ("id", "toolCallId", "tool_call_id"))
    given = _first(piece, ("response", "result", "output"))
    value = fields(given).get("value")
    shown = value if value is not None else given
    text = shown if isinstance(shown, str) else json_text(shown)
    name = tools.get(call_id) or _first_text(piece, ("name", "toolName"))
    return result_parts(text, tool=name, call_id=call_id, where=where)


def _first(body: Fields, keys: Sequence[str]) -> object:
    return next((body[key] for key in keys if body.get(key) is not None), "")


def _first_text(body: Fields, keys: Sequence[str]) -> str:
    return next((found for key in keys if (found := string(body.get(key)))), "")
