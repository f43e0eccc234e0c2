"""Put the events of a Responses stream together into one response.

The last event holds all of it; the pieces are needed only where it did not come.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from ctxheap.providers.json_fields import Fields, fields, objects, string

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.done"})
# Which field of an item a piece of text belongs to, and the field inside its blocks, "" for none.
_PIECES = {
    "response.output_text.delta": ("content", "text"),
    "response.refusal.delta": ("content", "refusal"),
    "response.reasoning_text.delta": ("content", "text"),
    "response.reasoning_summary_text.delta": ("summary", "text"),
    "response.function_call_arguments.delta": ("arguments", ""),
    "response.mcp_call_arguments.delta": ("arguments", ""),
    "response.custom_tool_call_input.delta": ("input", ""),
    "response.code_interpreter_call_code.delta": ("code", ""),
}

Json = dict[str, object]
Place = tuple[object, str, str, object]


def whole(events: Iterable[Fields]) -> Json:
    """Return the response; of one that was cut, the items and pieces that came, and no usage."""
    response: Fields = {}
    items: dict[object, Fields] = {}
    pieces: dict[Place, list[str]] = {}
    done: set[object] = set()
    for event in events:
        kind, index = string(event.get("type")), event.get("output_index")
        response = fields(event.get("response")) or response
        if item := fields(event.get("item")):
            items[index] = item
            if kind.endswith("item.done"):
                done.add(index)
        elif kind in _PIECES:
            pieces.setdefault(_place(event, kind), []).append(string(event.get("delta")))
        if kind in _ENDS and objects(response.get("output")):
            return dict(response)
    for place, texts in pieces.items():
        if place[0] not in done:
            items[place[0]] = _with_text(items.get(place[0], {}), place, "".join(texts))
    return {**response, "output": list(items.values())}


def _place(event: Fields, kind: str) -> Place:
    block = event.get("content_index", event.get("summary_index"))
    return (event.get("output_index"), *_PIECES[kind], block)


def _with_text(item: Fields, place: Place, text: str) -> Json:
    _, key, inner, _ = place
    if not inner:
        return {**item, key: text}
    blocks = cast("list[object]", [block for block in objects(item.get(key)) if block.get(inner)])
    return {**item, key: [*blocks, {"type": "output_text", inner: text}]}
