"""Put the chunks of a Chat Completions stream, or the lines of Ollama's, together into one response."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from ctxheap.providers.json_fields import Fields, fields, items, objects, string

# Said once, or said again in each chunk; everything else that is text goes on from chunk to chunk.
_SAID_ONCE = frozenset({"role", "id", "type", "name", "object", "index", "format", "tool_call_id"})
_HEAD = ("id", "model", "service_tier", "created_at")

Json = dict[str, object]


class _Text:
    """Collect a text whose pieces are many: joined once, not copied with each."""

    def __init__(self) -> None:
        self.pieces: list[str] = []


def whole(chunks: Iterable[Fields]) -> Json:
    """Return the response that the chunks add up to; `usage` only where one was sent."""
    body: Json = {}
    choices: dict[object, Json] = {}
    for chunk in chunks:
        body.update((key, chunk[key]) for key in _HEAD if chunk.get(key) and not body.get(key))
        for choice in objects(chunk.get("choices")):
            _add_choice(choices.setdefault(choice.get("index"), {}), choice)
            _add_usage(body, choice)  # Moonshot puts it there
        _add_usage(body, chunk)
        _add_usage(body, fields(chunk.get("x_groq")))
    body["choices"] = [cast("Json", _joined(choice)) for choice in choices.values()]
    return body


def whole_lines(lines: Iterable[Fields]) -> Json:
    """Return the response that Ollama's lines add up to: one message, the counts of the last line."""
    body: Json = {}
    message: Json = {}
    for line in lines:
        body.update((key, value) for key, value in line.items() if key != "message")
        _merge(message, fields(line.get("message")))
    return {**body, "message": _joined(message)} if body else {}


def _add_usage(body: Json, holder: Fields) -> None:
    if usage := fields(holder.get("usage")):
        body["usage"] = usage


def _add_choice(choice: Json, piece: Fields) -> None:
    message = cast("Json", choice.setdefault("message", {}))
    _merge(message, fields(piece.get("delta")) or fields(piece.get("message")))
    if reason := piece.get("finish_reason"):
        choice["finish_reason"] = reason


def _merge(into: Json, piece: Fields) -> None:
    for key, value in piece.items():
        if key == "tool_calls":
            _merge_calls(cast("list[Json]", into.setdefault(key, [])), objects(value))
        elif key in _SAID_ONCE:
            into[key] = into.get(key) or value
        elif isinstance(value, str):
            _add_text(into, key, value)
        elif inner := fields(value):
            _merge(_object_in(into, key), inner)
        elif blocks := items(value):
            _add_list(into, key, blocks)


def _object_in(into: Json, key: str) -> Json:
    if not fields(into.get(key)):
        into[key] = {}
    return cast("Json", into[key])


def _add_text(into: Json, key: str, piece: str) -> None:
    held = into.get(key)
    if items(held):
        # Mistral's content turns from text into blocks and back.
        _add_list(into, key, [{"type": "text", "text": piece}] if piece else [])
        return
    if not isinstance(held, _Text):
        held = into[key] = _Text()
    held.pieces.append(piece)


def _add_list(into: Json, key: str, blocks: Iterable[object]) -> None:
    held = into.get(key)
    if isinstance(held, _Text):
        text = "".join(held.pieces)
        held = [{"type": "text", "text": text}] if text else []
    kept = cast("list[object]", held if isinstance(held, list) else [])
    for block in blocks:
        if not (kept and _goes_on(kept[-1], block)):
            kept.append(block)
        else:
            kept[-1] = _continued(fields(kept[-1]), fields(block))
    into[key] = kept


def _goes_on(last: object, block: object) -> bool:
    kind = string(fields(block).get("type"))
    return kind in ("text", "thinking") and fields(last).get("type") == kind


def _continued(last: Fields, block: Fields) -> Json:
    key = string(block.get("type"))
    before, after = last.get(key), block.get(key)
    if isinstance(before, str) and isinstance(after, str):
        return {**last, key: before + after}
    return {**last, key: [*items(before), *items(after)]}


def _merge_calls(calls: list[Json], pieces: Iterable[Fields]) -> None:
    for piece in pieces:
        call = _call_of(calls, piece)
        if call is None:
            call = {"index": piece.get("index")}
            calls.append(call)
        _merge(call, piece)


def _call_of(calls: list[Json], piece: Fields) -> Json | None:
    """Return the call that a piece belongs to, None for the first piece of a new one."""
    index, call_id = piece.get("index"), string(piece.get("id"))
    name = string(fields(piece.get("function")).get("name"))
    same = [call for call in calls if call["index"] == index]
    if not same or (index is None and name):
        return None
    # Gemini's compatible endpoint gave all parallel calls the index 0.
    is_another = name and call_id and same[-1].get("id") not in (None, "", call_id)
    return None if is_another else same[-1]


def _joined(value: object) -> object:
    if isinstance(value, _Text):
        return "".join(value.pieces)
    if known := fields(value):
        return {key: _joined(inner) for key, inner in known.items()}
    listed = items(value)
    return [_joined(inner) for inner in listed] if listed else value
