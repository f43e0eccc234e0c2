"""Tie tool results to calls where a format has no ids: by name, and in order among calls of one name.

    model     read(a) read(b) list()
    results   list → list()   read → read(a)   read → read(b)

An id is made of the call's content, so that it is the same in every request that repeats the call.
The calls that wait for a result are kept in `tools`, the tool names by call id.
"""

from __future__ import annotations

import hashlib

from ctxheap.providers.json_fields import json_text

_MADE = "unnamed:"


def begin_turn(tools: dict[str, str]) -> None:
    """Forget calls that nobody answered: results follow the turn that asked for them."""
    for call_id in [known for known in tools if known.startswith(_MADE)]:
        del tools[call_id]


def made_id(name: str, arguments: object, tools: dict[str, str]) -> str:
    """Return the id of a call; equal calls of one turn are numbered."""
    digest = hashlib.sha256(json_text(arguments).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    base = call_id = f"{_MADE}{name}:{digest}"
    number = 1
    while call_id in tools:
        number += 1
        call_id = f"{base}:{number}"
    return call_id


def answered(name: str, tools: dict[str, str]) -> tuple[str, str]:
    """Return id and tool of the first call that waits for a result, of any tool where `name` is "".

    It waits no more. Where none waits, the id is "".
    """
    for call_id, tool in tools.items():
        if call_id.startswith(_MADE) and name in ("", tool):
            del tools[call_id]
            return call_id, tool
    return "", name
