"""Read fields of decoded JSON whose types nobody promised: what is not there or is odd counts as empty."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import cast

Fields = Mapping[str, object]

EMPTY: Fields = {}
MAX_TOKENS = 10**12  # no request is that large: a number beyond it is garbage, and sums must stay in 64 bits


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
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return 0
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return 0
    return int(number) if math.isfinite(number) and 0 < number <= MAX_TOKENS else 0


def json_text(value: object) -> str:
    """Return a value as the compact JSON that goes over the wire; strings are taken to be JSON already."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
