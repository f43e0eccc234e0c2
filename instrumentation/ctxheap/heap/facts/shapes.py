"""Reduce prompts, tool definitions and tool calls to what stays when dates, ids and values change.

    "Today is 2026-12-01. Order ORD-0017 …"   ──▶ digest of "Today is #. Order # …"
    {"path": "a.py", "limit": 20}             ──▶ "limit:int path:str"

Two versions of a system prompt with one shape differ in such things only: what broke the cache then
is a clock or an id in it. The shape of a tool call says how it was asked, not what for.
"""

from __future__ import annotations

import json
import re
from typing import cast

from ctxheap.heap.facts.records import digest
from ctxheap.heap.model import Part

# Words with what joins the pieces of dates, times, ids and versions; those with a digit are variable.
# One expression for both would take quadratic time on a long word without digits.
_WORD = re.compile(r"[\w.:/+%-]+")
_DIGIT = re.compile(r"\d")
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_NAMED = re.compile(
    rf"\b(?:{_MONTHS}|{_DAYS}|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b)"
)
_MARKS = re.compile(r"#(?:[\s,]*#)*")
MAX_ARGUMENTS_CHARS = 100_000
MAX_NAMES = 24
_TYPES: dict[type[object], str] = {
    str: "str",
    int: "int",
    float: "float",
    bool: "bool",
    list: "list",
    dict: "dict",
    type(None): "null",
}


def shape_of(part: Part) -> str:
    """Return the shape of a system prompt, tool definition or tool call; "" for all else."""
    if part.kind == "tool_call":
        return argument_shape(part.text)
    if part.kind == "tool_definition" or part.tag == "system_prompt":
        return digest(without_variables(part.text))
    return ""


def without_variables(text: str) -> str:
    """Return a text with dates, times, ids and numbers replaced by one mark."""
    marked = _WORD.sub(lambda word: "#" if _DIGIT.search(word[0]) else word[0], text)
    return _MARKS.sub("#", _NAMED.sub("#", marked))


def argument_shape(arguments: str) -> str:
    """Return the names of JSON arguments with the types of their values, sorted; "text" for no JSON."""
    if arguments[:1] != "{" or len(arguments) > MAX_ARGUMENTS_CHARS:
        return "text"
    try:
        parsed = cast("object", json.loads(arguments))
    except (ValueError, RecursionError):
        return "text"
    named = cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {}
    return " ".join(f"{name}:{_TYPES[type(named[name])]}" for name in sorted(named)[:MAX_NAMES])
