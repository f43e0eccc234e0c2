"""Decode a request body from where it stops being the one before: agents send the same history again.

    before  {"messages":[m1,m2,m3],"model":"x"}
    now     {"messages":[m1,m2,m3,m4,m5],"model":"x"}
                                 └ only from here on is anything parsed

A boundary between two elements is found near the first different byte and proven, not guessed: both
tails must be valid JSON behind an opened list. One inside a string, or nested deeper, never is, since
its quotes or brackets would not come out even.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson

from ctxheap.providers.json_fields import Fields, fields, items

BLOCK_BYTES = 65_536
WINDOW_BYTES = 65_536
MAX_CANDIDATES = 24
_BETWEEN = re.compile(rb"\}\s*(?=,\s*\{)")
# No body has a key that is empty, so it cannot meet one of its own.
_OPENED = b'{"":[0'


@dataclass(frozen=True, slots=True)
class Decoded:
    """Hold a request's top-level fields; the list holds only its elements from `kept` on.

    Attributes:
        raw: The body.
        fields: All top-level fields but the list.
        key: Name of the list, "" when the body has none.
        kept: Elements at the start of the list that are those of the body before.
        new: The elements behind them.
        order: The top-level keys in their order.
    """

    raw: bytes
    fields: Fields
    key: str
    kept: int
    new: Sequence[object]
    order: tuple[str, ...]

    @property
    def count(self) -> int:
        """Return the number of elements of the whole list."""
        return self.kept + len(self.new)


def decode(raw: bytes, keys: Sequence[str], before: Decoded | None = None) -> Decoded:
    """Return the decoded body, its list being the first of `keys` that it has.

    Raises:
        ValueError: The body is no JSON object.
    """
    found = _continued(raw, before) if before is not None and before.key in keys else None
    return found or _whole(raw, keys)


def _whole(raw: bytes, keys: Sequence[str]) -> Decoded:
    body = _loads(raw)
    known = fields(body)
    if not known:
        raise ValueError("the body is no JSON object with fields")
    key = next((name for name in keys if isinstance(known.get(name), list)), "")
    rest = {name: value for name, value in known.items() if name != key}
    return Decoded(raw, rest, key, 0, items(known.get(key)), tuple(known))


def _loads(raw: bytes) -> object:
    try:
        return orjson.loads(raw)
    except ValueError:
        return json.loads(raw)  # lets half a surrogate pair pass, as Python's own json writes it


def _continued(raw: bytes, before: Decoded) -> Decoded | None:
    """Return the body decoded from its first new element on, None where that cannot be proven."""
    common = common_length(raw, before.raw)
    if 2 * common < len(raw):
        return None
    for place in _boundaries(raw, common):
        new, old = _tail(raw, place), _tail(before.raw, place)
        if new is None or old is None:
            continue
        opened = len(before.order) - len(old)
        if opened < 0 or before.order[opened] != before.key:
            return None
        kept = before.count - len(items(old[""])) + 1
        head = {name: before.fields[name] for name in before.order[:opened]}
        added = items(new[""])[1:]
        rest = {name: value for name, value in new.items() if name}
        order = (*before.order[: opened + 1], *rest)
        return Decoded(raw, {**head, **rest}, before.key, kept, added, order)
    return None


def _tail(raw: bytes, place: int) -> Fields | None:
    try:
        return fields(orjson.loads(_OPENED + raw[place:]))
    except ValueError:
        return None


def _boundaries(raw: bytes, common: int) -> Iterator[int]:
    """Yield places behind an element, nearest first: where the bodies differ, then those before it."""
    yield common
    start = max(0, common - WINDOW_BYTES)
    places = [match.end() for match in _BETWEEN.finditer(raw, start, min(len(raw), common + 2))]
    yield from [place for place in reversed(places) if place <= common][:MAX_CANDIDATES]


def common_length(left: bytes, right: bytes) -> int:
    """Return the length of the longest common prefix, at the speed of a comparison of memory."""
    length = min(len(left), len(right))
    at = 0
    while at < length and left[at : at + BLOCK_BYTES] == right[at : at + BLOCK_BYTES]:
        at += BLOCK_BYTES
    low, high = min(at, length), min(at + BLOCK_BYTES, length)
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
