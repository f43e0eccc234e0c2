"""Parse JSON that may be damaged, down to a depth that everything behind it can walk.

What the strict parser refuses (lone surrogates, NaN, bytes that are no UTF-8, raw control characters, two
records run together by writers that raced) gets the tolerant one. Values nested deeper than `MAX_DEPTH` are
cut out, however deep they are: encoders and walks recurse, and one absurd value must not cost the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import orjson

MAX_DEPTH = 200

# A string whole, so that brackets in it do not count, or one bracket.
_STRING_OR_BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Parsed:
    """Hold the JSON values in some bytes, nearly always one; `is_cut` where they were nested too deeply."""

    values: list[object]
    is_cut: bool = False


def parse(data: bytes) -> Parsed:
    """Return the JSON values in `data`; what lies deeper than `MAX_DEPTH` is null.

    Raises:
        ValueError: Neither parser can read it.
    """
    try:
        values = _values(data)
    except RecursionError:
        return Parsed(_values(_cut(data)), is_cut=True)
    # Strings hold brackets too: this looks at some values in vain, but it misses no deep one.
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH and _is_deep(values):
        return Parsed(_values(_cut(data)), is_cut=True)
    return Parsed(values)


def _values(data: bytes) -> list[object]:
    try:
        return [orjson.loads(data)]
    except orjson.JSONDecodeError:
        return _parse_tolerantly(data)


def _parse_tolerantly(data: bytes) -> list[object]:
    text = data.decode("utf-8", "replace").strip(" \t\r\n\0\ufeff")
    decoder = json.JSONDecoder(strict=False)
    values: list[object] = []
    at = 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        values.append(value)
        while at < len(text) and text[at] in " \t\r\n\0":
            at += 1
    return values


def _is_deep(values: list[object]) -> bool:
    """Say whether something lies deeper than `MAX_DEPTH`, looking at one level after the other."""
    level = values
    for _ in range(MAX_DEPTH + 1):
        level = [inner for outer in level for inner in _inside(outer)]
    return bool(level)


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def _cut(data: bytes) -> bytes:
    """Return JSON with null in the place of whatever opens below `MAX_DEPTH`."""
    pieces: list[bytes] = []
    depth = at = 0
    for found in _STRING_OR_BRACKET.finditer(data):
        first = data[found.start()]
        if first in b"{[":
            depth += 1
            if depth == MAX_DEPTH + 1:
                pieces.append(data[at : found.start()])
        elif first in b"}]":
            depth -= 1
            if depth == MAX_DEPTH:
                pieces.append(b"null")
                at = found.end()
    return b"".join([*pieces, data[at:] if depth <= MAX_DEPTH else b""])
