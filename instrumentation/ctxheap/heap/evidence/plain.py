"""Bring texts into the form in which they are compared: no escapes, no line numbers, values only."""

from __future__ import annotations

import json
import re
from typing import cast

HEAD_CHARS = 30_000
"""Characters kept at either end of a text that is longer than both together."""

_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.S)
_NUMBER = r"[ \t]*\d+(?:\u2192|\||:|\t|  )"
_FIRST_NUMBERED = re.compile(_NUMBER)
# a line break instead of ^ for the same reason as the comma below: one letter is found fast
_NUMBERED = re.compile(r"\n" + _NUMBER)
# the comma stands first so that the search for it runs at the speed of memchr
_THOUSANDS = re.compile(r",(?<=\d,)(?=\d{3}(?!\d))")
_FENCED = re.compile(r"```[\w+\-]*\n(.*?)```", re.S)
_KEY = re.compile(r'"[A-Za-z_ ]++"\s*+:')
_LEAF = re.compile(r'[:\[,]\s*"([^"\n]{1,40})"')
RECORD_CHARS = 8_000
"""Length up to which a structured result is read as a record whose short values count for more."""
_MAX_DEPTH = 40


def plain(text: str) -> str:
    """Return a text without reminders, JSON escapes, line numbers and thousands commas."""
    if len(text) > 2 * HEAD_CHARS:
        text = f"{text[:HEAD_CHARS]}\n{text[-HEAD_CHARS:]}"
    if "<system-reminder>" in text:
        text = _REMINDER.sub("", text)
    if "\\" in text:
        text = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    if "," in text:
        text = _THOUSANDS.sub("", text)
    first = _FIRST_NUMBERED.match(text, 0, 2_000)
    if len(_NUMBERED.findall(text, 0, 2_000)) + (first is not None) >= 2:
        # the first line is matched anew: its number may go on after the 2,000th character
        first = _FIRST_NUMBERED.match(text)
        text = _NUMBERED.sub("\n", text[first.end() :] if first else text)
    return text


def values(arguments: str) -> str:
    """Return the values of JSON arguments, one a line, or the text itself if it is no JSON.

    The names of arguments come from the tool's schema and say nothing about where values are from.
    """
    if arguments[:1] not in ("{", "["):
        return arguments
    try:
        parsed = cast("object", json.loads(arguments))
    except (ValueError, RecursionError):
        return arguments
    found: list[str] = []
    _collect(parsed, found, 0)
    return "\n".join(found)


def _collect(value: object, found: list[str], depth: int) -> None:
    if depth > _MAX_DEPTH or value is None:
        return
    if isinstance(value, dict):
        for item in cast("dict[str, object]", value).values():
            _collect(item, found, depth + 1)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            _collect(item, found, depth + 1)
    else:
        found.append(value if isinstance(value, str) else json.dumps(value))


def is_structured(text: str) -> bool:
    """Say whether a text looks like JSON, whole or cut off."""
    return text.lstrip()[:1] in ("{", "[")


def without_keys(text: str) -> str:
    """Return structured text without its field names; keys that hold a digit are data and stay."""
    return _KEY.sub(" ", text)


def short_values(text: str) -> str:
    """Return the values of a record that have at most three words, one a line."""
    if len(text) > RECORD_CHARS:
        return ""
    found = cast("list[str]", _LEAF.findall(text))
    return "\n".join(value for value in found if value.count(" ") < 3)


def command(text: str) -> str:
    """Return the last fenced block of a text, the action of agents without function calling."""
    blocks = cast("list[str]", _FENCED.findall(text))
    return blocks[-1] if blocks else text
