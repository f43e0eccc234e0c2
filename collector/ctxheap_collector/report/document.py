"""Write a document of rows, such as a profile, as JSON in UTF-8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from ctxheap_collector.report.row import Json, Row

# Left to itself orjson writes dataclasses with all their fields.
_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_DATACLASS


def dump(document: Row) -> bytes:
    """Return the document with a line end; numbers that JSON lacks become null.

    Halves of a surrogate pair, which transcripts and file names may hold and UTF-8 may not, become
    U+FFFD.
    """
    try:
        return orjson.dumps(document, default=_items, option=_OPTIONS)
    except orjson.JSONEncodeError:
        return orjson.dumps(_repaired(document.to_json()), option=_OPTIONS)


def _items(value: object) -> object:
    """Return one level of a row: the whole document at once would be held twice."""
    if isinstance(value, Row):
        return dict(value.items())
    raise TypeError(type(value).__name__)


def _repaired(value: Json) -> Json:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8") if _is_broken(value) else value
    if isinstance(value, Mapping):
        return {str(_repaired(key)): _repaired(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_repaired(item) for item in value]
    return value


def _is_broken(words: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in words)
