"""Put the events of a ConverseStream together into one response of Converse."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from ctxheap.providers.json_fields import Fields, fields

Json = dict[str, object]


def whole(events: Iterable[Fields]) -> Json:
    """Return the response that the events of a stream add up to; `usage` only where it came."""
    response: Json = {}
    blocks: dict[object, Json] = {}
    pieces: dict[tuple[object, str], list[str]] = {}
    for event in events:
        start, delta = fields(event.get("contentBlockStart")), fields(event.get("contentBlockDelta"))
        if start:
            blocks[start.get("contentBlockIndex")] = dict(fields(start.get("start")))
        if delta:
            index = delta.get("contentBlockIndex")
            blocks.setdefault(index, {})
            for key, text in _pieces(fields(delta.get("delta"))):
                pieces.setdefault((index, key), []).append(text)
        for name in ("messageStop", "metadata"):
            response.update(fields(event.get(name)))
    for (index, key), texts in pieces.items():
        _add(blocks[index], key, "".join(texts))
    content = [blocks[index] for index in blocks]
    response["output"] = {"message": {"role": "assistant", "content": content}}
    return response


def _pieces(delta: Fields) -> list[tuple[str, str]]:
    reasoning = fields(delta.get("reasoningContent"))
    found = [("text", delta.get("text")), ("input", fields(delta.get("toolUse")).get("input"))]
    found += [("thinking", reasoning.get("text")), ("signature", reasoning.get("signature"))]
    found.append(("redacted", reasoning.get("redactedContent")))
    return [(key, text) for key, text in found if isinstance(text, str)]


def _add(block: Json, key: str, text: str) -> None:
    if key == "text":
        block["text"] = text
    elif key == "input":
        block["toolUse"] = {**fields(block.get("toolUse")), "input": _input(text)}
    elif key == "redacted":
        block["reasoningContent"] = {"redactedContent": text}
    else:
        known = fields(fields(block.get("reasoningContent")).get("reasoningText"))
        name = "text" if key == "thinking" else key
        block["reasoningContent"] = {"reasoningText": {**known, name: text}}


def _input(text: str) -> object:
    try:
        return orjson.loads(text) if text else {}
    except ValueError:
        return text
