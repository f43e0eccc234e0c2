"""Narrow untyped JSON values once, so that the loaders stay typed."""

from __future__ import annotations

import json
from typing import cast

Mapping = dict[str, object]


def mapping(value: object) -> Mapping:
    """Return the value if it is an object, else an empty one."""
    return cast("Mapping", value) if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """Return the value if it is a list, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def blocks(content: object) -> list[Mapping]:
    """Return the blocks of a message's content, a plain text as one text block."""
    if isinstance(content, list):
        listed = cast("list[object]", content)
        return [mapping(block) or {"type": "text", "text": text(block)} for block in listed]
    return [{"type": "text", "text": text(content)}] if content else []


def mappings(value: object) -> list[Mapping]:
    """Return the objects of a list."""
    return [mapping(item) for item in items(value)]


def text(value: object) -> str:
    """Return a string as it is, nothing as "", anything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def parsed(value: object) -> object:
    """Return what a JSON string holds; any other value, and a text that is no JSON, as it is."""
    if not isinstance(value, str):
        return value
    try:
        return cast("object", json.loads(value))
    except ValueError:
        return value


def jsonl(content: str) -> list[Mapping]:
    """Return one object a physical line, empty where a line is no JSON object."""
    rows: list[Mapping] = []
    for line in content.split("\n"):
        value = parsed(line)
        rows.append(mapping(value))
    return rows
