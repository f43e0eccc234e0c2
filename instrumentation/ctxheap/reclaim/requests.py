"""Put a prompt's parts into a provider's request, and say what the provider would refuse.

    chat        messages: system | user | assistant (+ tool_calls) | tool
    responses   input: message | reasoning | function_call | function_call_output
    anthropic   system, messages: user | assistant, blocks: text | thinking | tool_use | tool_result

A part is what is billed, not the wire: signatures and media bytes are not in it, and the blocks for
them carry none. Results are put right behind the turn that asked for them, as every adapter does.
Results without an id (agents that write observations into user turns) become text. Where a shape wants
the user to speak first and nobody did, a placeholder does, as adapters put it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, cast

from ctxheap.heap.model import Part

Shape = Literal["chat", "responses", "anthropic"]
Json = dict[str, object]

SHAPES: Final[tuple[Shape, ...]] = ("chat", "responses", "anthropic")
PLACEHOLDER: Final = "."
_ID: Final = re.compile(r"[A-Za-z0-9_-]+")
_NO_ID: Final = re.compile(r"[^A-Za-z0-9_-]")


def shape_of(provider: str) -> Shape:
    """Return the shape of a provider's requests; chat where it is not known, which most speak."""
    return "anthropic" if "anthropic" in provider or "bedrock" in provider else "chat"


def request_of(parts: Sequence[Part], shape: Shape) -> Json:
    """Return the request of a prompt without model and settings."""
    build: Callable[[Sequence[Part]], Json] = {
        "chat": _chat,
        "responses": _responses,
        "anthropic": _anthropic,
    }[shape]
    return build([part for part in parts if part.kind != "hidden"])


def refusals(request: Json, shape: Shape) -> list[str]:
    """Return what the provider would refuse in a request, in words; none when it is fine."""
    check: Callable[[Json], Iterator[str]] = {
        "chat": _check_chat,
        "responses": _check_responses,
        "anthropic": _check_anthropic,
    }[shape]
    return list(check(request))


def refused(parts: Sequence[Part], shape: Shape) -> list[str]:
    """Return what the provider would refuse in a prompt."""
    return refusals(request_of(parts, shape), shape)


def _turns(parts: Sequence[Part]) -> Iterator[tuple[str, list[Part]]]:
    """Yield runs of one speaker, answers to calls in front of what people said in the same run."""
    run: list[Part] = []
    speaker = ""
    for part in parts:
        if part.kind == "tool_definition":
            continue
        now = _speaker(part)
        if run and now != speaker:
            yield speaker, sorted(run, key=_is_other) if speaker == "user" else run
            run = []
        run.append(part)
        speaker = now
    if run:
        yield speaker, sorted(run, key=_is_other) if speaker == "user" else run


def _speaker(part: Part) -> str:
    if part.kind == "tool_result":
        return "user"
    return "user" if part.role == "tool" else part.role


def _is_other(part: Part) -> bool:
    return not _answers(part)


def _answers(part: Part) -> bool:
    return part.kind == "tool_result" and bool(part.call_id)


def _calls(part: Part) -> bool:
    return part.kind == "tool_call" and bool(part.call_id)


def _definitions(parts: Sequence[Part]) -> list[Json]:
    return [{"name": part.tool} for part in parts if part.kind == "tool_definition"]


def _words(part: Part) -> Json:
    return {"type": "media" if part.kind == "media" else "text", "text": part.text}


def _has_words(part: Part) -> bool:
    return bool(part.text.strip()) or part.kind == "media"


def _chat(parts: Sequence[Part]) -> Json:
    messages: list[Json] = []
    for speaker, run in _turns(parts):
        if speaker == "assistant":
            calls = [
                {
                    "id": part.call_id,
                    "type": "function",
                    "function": {"name": part.tool, "arguments": part.text},
                }
                for part in run
                if _calls(part)
            ]
            content = "\n".join(part.text for part in run if not _calls(part) and part.kind != "reasoning")
            if calls or content.strip():
                messages.append(
                    {"role": speaker, "content": content, **({"tool_calls": calls} if calls else {})}
                )
            continue
        messages.extend(
            {"role": "tool", "tool_call_id": part.call_id, "content": part.text}
            for part in run
            if _answers(part)
        )
        if rest := [_words(part) for part in run if not _answers(part) and _has_words(part)]:
            messages.append({"role": speaker, "content": rest})
    return {"messages": messages, "tools": _definitions(parts)}


def _check_chat(request: Json) -> Iterator[str]:
    messages = cast("list[Json]", request["messages"])
    if not messages:
        yield "messages: empty"
    waiting: set[str] = set()
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            call_id = cast("str", message["tool_call_id"])
            if call_id not in waiting:
                yield f"messages[{place}]: answers {call_id}, which the turn before did not ask"
            waiting.discard(call_id)
            continue
        if waiting:
            yield f"messages[{place}]: {', '.join(sorted(waiting))} not answered"
        calls = cast("list[Json]", message.get("tool_calls", []))
        waiting = {cast("str", call["id"]) for call in calls}
        if len(waiting) < len(calls):
            yield f"messages[{place}]: two tool calls share an id"
        yield from _named(place, [cast("Json", call["function"])["name"] for call in calls])
    if waiting:
        yield f"messages: {', '.join(sorted(waiting))} not answered at the end"
    yield from _check_tools(request)


def _named(place: int, names: Sequence[object]) -> Iterator[str]:
    for name in names:
        if not name:
            yield f"messages[{place}]: tool call without a name"


def _check_tools(request: Json) -> Iterator[str]:
    names = [cast("str", tool["name"]) for tool in cast("list[Json]", request["tools"])]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"tools: {name} is defined twice"


def _responses(parts: Sequence[Part]) -> Json:
    items: list[Json] = []
    for speaker, run in _turns(parts):
        for part in run:
            if part.kind == "reasoning":
                items.append({"type": "reasoning", "summary": part.text})
            elif _calls(part):
                items.append(
                    {
                        "type": "function_call",
                        "call_id": part.call_id,
                        "name": part.tool,
                        "arguments": part.text,
                    }
                )
            elif _answers(part):
                items.append({"type": "function_call_output", "call_id": part.call_id, "output": part.text})
            elif _has_words(part):
                items.append({"type": "message", "role": speaker, "content": [_words(part)]})
    return {"input": items, "tools": _definitions(parts)}


def _check_responses(request: Json) -> Iterator[str]:
    items = cast("list[Json]", request["input"])
    if not items:
        yield "input: empty"
    asked: set[str] = set()
    answered: set[str] = set()
    for place, item in enumerate(items):
        call_id = cast("str", item.get("call_id", ""))
        if item["type"] == "function_call":
            if call_id in asked - answered:
                yield f"input[{place}]: asks {call_id} twice"
            asked.add(call_id)
            answered.discard(call_id)
            yield from _named(place, [item["name"]])
        elif item["type"] == "function_call_output":
            if call_id not in asked or call_id in answered:
                yield f"input[{place}]: answers {call_id}, which no item asks"
            answered.add(call_id)
    for call_id in sorted(asked - answered):
        yield f"input: {call_id} not answered"
    yield from _check_tools(request)


def _anthropic(parts: Sequence[Part]) -> Json:
    system = [
        _words(part) for part in parts if part.role == "system" and part.kind == "text" and _has_words(part)
    ]
    messages: list[Json] = []
    for speaker, run in _turns([part for part in parts if part.role != "system"]):
        if blocks := [_block(part) for part in run if _has_words(part) or _calls(part) or _answers(part)]:
            if messages and messages[-1]["role"] == speaker:
                cast("list[Json]", messages[-1]["content"]).extend(blocks)
            else:
                messages.append({"role": speaker, "content": blocks})
    if parts and (not messages or messages[0]["role"] != "user"):
        messages.insert(0, {"role": "user", "content": [{"type": "text", "text": PLACEHOLDER}]})
    return {"system": system, "messages": messages, "tools": _definitions(parts)}


def _block(part: Part) -> Json:
    if _calls(part):
        return {
            "type": "tool_use",
            "id": _wire_id(part.call_id),
            "name": part.tool,
            "input": _arguments(part.text),
        }
    if _answers(part):
        return {
            "type": "tool_result",
            "tool_use_id": _wire_id(part.call_id),
            "content": part.text,
            "is_error": part.error,
        }
    if part.kind == "reasoning":
        return {"type": "thinking", "thinking": part.text}
    return _words(part)


def _wire_id(call_id: str) -> str:
    """Return an id in the letters that are allowed; readers name the calls of text agents "open:2"."""
    return _NO_ID.sub("_", call_id)


def _arguments(text: str) -> object:
    try:
        found = cast("object", json.loads(text or "{}"))
    except ValueError:
        found = text
    # The wire of other providers allows arguments that are no object; theirs are wrapped.
    return cast("Json", found) if isinstance(found, dict) else {"input": found}


def _check_anthropic(request: Json) -> Iterator[str]:
    messages = cast("list[Json]", request["messages"])
    if not messages:
        yield "messages: empty"
    elif messages[0]["role"] != "user":
        yield "messages[0]: the first message must be the user's"
    waiting: set[str] = set()
    for place, message in enumerate(messages):
        blocks = cast("list[Json]", message["content"])
        yield from _check_results(place, blocks, waiting)
        uses = [block for block in blocks if block["type"] == "tool_use"]
        waiting = {cast("str", block["id"]) for block in uses}
        if len(waiting) < len(uses):
            yield f"messages[{place}]: two tool calls share an id"
        yield from _named(place, [block["name"] for block in uses])
        yield from (f"messages[{place}]: id {call_id!r}" for call_id in waiting if not _ID.fullmatch(call_id))
        if message["role"] == "assistant" and blocks[-1]["type"] == "thinking":
            yield f"messages[{place}]: ends in thinking"
    if waiting:
        yield f"messages: {', '.join(sorted(waiting))} not answered at the end"
    yield from _check_tools(request)


def _check_results(place: int, blocks: Sequence[Json], waiting: set[str]) -> Iterator[str]:
    results = [cast("str", block["tool_use_id"]) for block in blocks if block["type"] == "tool_result"]
    if waiting - set(results):
        yield f"messages[{place}]: {', '.join(sorted(waiting - set(results)))} not answered right behind"
    for call_id in results:
        if call_id not in waiting:
            yield f"messages[{place}]: answers {call_id}, which the turn before did not ask"
    if len(set(results)) < len(results):
        yield f"messages[{place}]: two results for one call"
