"""Read fields of decoded JSON whose types nobody promised: what is not there or is odd counts as empty."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

Fields = Mapping[str, object]

EMPTY: Fields = {}
MAX_TOKENS = 10**12  # no request is that large: a number beyond it is garbage, and sums must stay in 64 bits
MAX_DOLLARS = 10**9
MAX_DEPTH = 200
_COUNT_ENDINGS = ("tokens", "eval_count")


def fields(value: object) -> Fields:
    """Return a JSON object, or an empty one for anything else."""
    return cast("Fields", value) if isinstance(value, dict) else EMPTY


def items(value: object) -> Sequence[object]:
    """Return a JSON array, or an empty one for anything else."""
    return cast("list[object]", value) if isinstance(value, list) else ()


def objects(value: object) -> list[Fields]:
    """Return the objects of a JSON array, in order."""
    return [cast("Fields", item) for item in items(value) if isinstance(item, dict)]


def string(value: object) -> str:
    """Return a JSON string, or "" for anything else."""
    return value if isinstance(value, str) else ""


def place(value: object) -> int:
    """Return a place in a list, -1 for anything that is none."""
    return value if isinstance(value, int) else -1


def tokens(value: object) -> int:
    """Return a count of tokens; numbers in strings count, everything odd, negative or absurd is 0."""
    return _count(value) or 0


def dollars(value: object) -> float | None:
    """Return a sum of money above 0, else None: clients note 0 where they know no price."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < MAX_DOLLARS else None


def _count(value: object) -> int | None:
    """Return a value as a count of tokens, None when it can be none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return int(number) if math.isfinite(number) and 0 <= number <= MAX_TOKENS else None


def odd_counts(usage: object, name: str) -> Iterator[str]:
    """Yield what is wrong with the token counts in a usage: `usage.input_tokens is -5: not counted`.

    Args:
        usage: The usage as it was reported, its details and iterations included.
        name: What messages call it.
    """
    for key, value in fields(usage).items():
        place = f"{name}.{key}"
        if isinstance(value, dict):
            yield from odd_counts(cast("object", value), place)
        elif isinstance(value, list):
            for index, item in enumerate(cast("list[object]", value)):
                yield from odd_counts(item, f"{place}[{index}]")
        elif value is not None and key.endswith(_COUNT_ENDINGS) and _count(value) is None:
            yield f"{place} is {reprlib.repr(value)}: not counted"


def json_text(value: object) -> str:
    """Return a value as the compact JSON that goes over the wire; strings are taken to be JSON already."""
    return value if isinstance(value, str) else _encoded(value, (",", ":"))


def spaced_json_text(value: object) -> str:
    """Return a value as JSON with the spaces that models put there."""
    return _encoded(value, (", ", ": "))


def _encoded(value: object, separators: tuple[str, str]) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=separators)
    except RecursionError:
        return json.dumps(_shallow(value, MAX_DEPTH), ensure_ascii=False, separators=separators)


def _shallow(value: object, depth: int) -> object:
    """Return a value with null in the place of what is nested deeper than encoders can follow."""
    if isinstance(value, dict):
        body = cast("dict[str, object]", value)
        return {key: _shallow(inner, depth - 1) for key, inner in body.items()} if depth else None
    if isinstance(value, list):
        return [_shallow(inner, depth - 1) for inner in cast("list[object]", value)] if depth else None
    return value
