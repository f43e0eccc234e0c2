"""Read Gemini's generateContent into parts, of the Gemini API and of Vertex AI alike.

    systemInstruction, tools, content ──▶ parts in the order in which they are cached
    usageMetadata ──usage_of──▶ disjoint token classes

The API takes every field's name in camel case and in snake case. Calls of tools have ids only now and
then: results find theirs by name and order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ctxheap.heap.model import Part, Role, Usage
from ctxheap.heap.tags import result_parts, text_parts
from ctxheap.providers.gemini_media import media_parts
from ctxheap.providers.json_fields import Fields, fields, json_text, objects, string, tokens
from ctxheap.providers.openai_blocks import call_part
from ctxheap.providers.unnamed_calls import answered, begin_turn, made_id

_ROLES: dict[str, Role] = {"model": "assistant", "system": "system"}
# A result that is one text is wrapped by SDKs in one of these.
_WRAPPERS = ("result", "output", "content", "error")
_CODE = "code_execution"

Json = dict[str, object]


def named(body: Fields, name: str) -> object:
    """Return a field by its name in camel case, in either spelling."""
    if name in body:
        return body[name]
    return body.get("".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name))


def message_parts(message: object, *, tools: dict[str, str], where: str) -> list[Part]:
    """Return the parts of one content, empty ones left out; arguments as for `openai.message_parts`."""
    body = fields(message)
    role = _ROLES.get(string(body.get("role")), "user")
    pieces = objects(body.get("parts"))
    if role == "assistant":
        begin_turn(tools)
        pieces = _merged(pieces)
    parts: list[Part] = []
    for index, piece in enumerate(pieces):
        parts += _piece_parts(piece, role=role, tools=tools, where=f"{where}:{index}")
    return parts


def _merged(pieces: Iterable[Fields]) -> list[Fields]:
    """Join neighbouring texts of a model: a stream tears them apart, and they may be sent back so."""
    merged: list[Fields] = []
    for piece in pieces:
        last = merged[-1] if merged else {}
        if "text" in piece and "text" in last and bool(piece.get("thought")) == bool(last.get("thought")):
            merged[-1] = {**last, "text": string(last.get("text")) + string(piece.get("text"))}
        else:
            merged.append(piece)
    return merged


def _piece_parts(piece: Fields, *, role: Role, tools: dict[str, str], where: str) -> list[Part]:
    text = string(piece.get("text"))
    if text and piece.get("thought"):
        return [Part("assistant", "reasoning", "agent_reasoning", text, where=where)]
    if text:
        return text_parts(role, text, where=where)
    for name, made in _MAKERS.items():
        if inner := fields(named(piece, name)):
            return made(inner, tools, where)
    return media_parts(piece, role=role, where=where)


def _call_parts(call: Fields, tools: dict[str, str], where: str) -> list[Part]:
    name = string(call.get("name")) or string(named(call, "toolType"))
    given = fields(call.get("args"))
    call_id = string(call.get("id")) or made_id(name, given, tools)
    return [call_part(call_id, name, given, tools, where=where)]


def _answer_parts(answer: Fields, tools: dict[str, str], where: str) -> list[Part]:
    call_id = string(answer.get("id"))
    name = string(answer.get("name")) or tools.get(call_id) or string(named(answer, "toolType"))
    if call_id not in tools:
        call_id, name = answered(name, tools)
    response = fields(answer.get("response"))
    key = next(iter(response), "") if len(response) == 1 else ""
    text = string(response.get(key)) if key in _WRAPPERS else ""
    text = text or json_text(answer.get("response") or {})
    parts = result_parts(text, tool=name, call_id=call_id, error=key == "error", where=where)
    for index, piece in enumerate(objects(answer.get("parts"))):
        parts += media_parts(piece, role="tool", where=f"{where}:{index}")
    return parts


def _code_parts(code: Fields, tools: dict[str, str], where: str) -> list[Part]:
    return _call_parts({"name": _CODE, "args": {"code": code.get("code")}}, tools, where)


def _ran_parts(ran: Fields, tools: dict[str, str], where: str) -> list[Part]:
    is_error = string(ran.get("outcome")) not in ("", "OUTCOME_OK")
    call_id, _ = answered(_CODE, tools)
    return result_parts(string(ran.get("output")), tool=_CODE, call_id=call_id, error=is_error, where=where)


_MAKERS: dict[str, Callable[[Fields, dict[str, str], str], list[Part]]] = {
    "functionCall": _call_parts,
    "toolCall": _call_parts,
    "functionResponse": _answer_parts,
    "toolResponse": _answer_parts,
    "executableCode": _code_parts,
    "codeExecutionResult": _ran_parts,
}


def opening(request: Fields) -> list[Part]:
    """Return tool definitions and system instruction."""
    parts: list[Part] = []
    for index, tool in enumerate(objects(request.get("tools"))):
        for definition in _definitions(tool):
            name = string(definition.get("name")) or "unnamed"
            text = json_text(definition)
            tag = f"tool_definition:{name}"
            parts.append(Part("system", "tool_definition", tag, text, name, where=f"tools:{index}"))
    system = named(request, "systemInstruction")
    content = {"parts": [{"text": system}]} if isinstance(system, str) else fields(system)
    return parts + message_parts({**content, "role": "system"}, tools={}, where="system")


def _definitions(tool: Fields) -> Iterator[Fields]:
    yield from objects(named(tool, "functionDeclarations"))
    for name, inner in tool.items():
        if name not in ("functionDeclarations", "function_declarations"):
            yield {"name": name, **fields(inner)}


def usage_of(response: Fields) -> Usage | None:
    """Return the usage, None where none was reported.

    The prompt holds what the cache served; what the provider's own tools read, and thoughts, stand beside
    prompt and candidates and are billed as input and output.
    """
    raw = fields(named(response, "usageMetadata"))
    if not raw:
        return None
    prompt = tokens(named(raw, "promptTokenCount"))
    prompt += tokens(named(raw, "toolUsePromptTokenCount"))
    read = min(prompt, tokens(named(raw, "cachedContentTokenCount")))
    thoughts = tokens(named(raw, "thoughtsTokenCount"))
    answer = tokens(named(raw, "candidatesTokenCount"))
    total = tokens(named(raw, "totalTokenCount"))
    is_inclusive = thoughts <= answer and total == prompt + answer
    output = answer if is_inclusive else answer + thoughts
    return Usage(uncached=prompt - read, cache_read=read, output=output, reasoning=thoughts)


def whole(events: Iterable[Fields]) -> Json:
    """Return the response that the pieces of a stream add up to.

    Every piece reports usage, of the output so far: only that of a stream with an end is the call's.
    """
    response: Json = {}
    usage: Json = {}
    candidates: dict[object, Json] = {}
    parts: dict[object, list[Fields]] = {}
    is_ended = False
    for event in events:
        response.update(event)
        usage.update(fields(named(event, "usageMetadata")))
        is_ended = is_ended or bool(fields(named(event, "promptFeedback")))
        for piece in objects(event.get("candidates")):
            index = piece.get("index", 0)
            candidates.setdefault(index, {}).update(piece)
            parts.setdefault(index, []).extend(objects(fields(piece.get("content")).get("parts")))
            is_ended = is_ended or bool(named(piece, "finishReason"))
    response.pop("usage_metadata", None)
    response["usageMetadata"] = usage if is_ended else None
    response["candidates"] = [
        {**candidate, "content": {"role": "model", "parts": parts[index]}}
        for index, candidate in candidates.items()
    ]
    return response
