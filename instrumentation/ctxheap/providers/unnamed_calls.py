"""Tie tool results to calls where ids are missing, or made up by clients: by name and order.

    model     read(a) read(b) list()
    results   list → list()   read → read(a)   read → read(b)

The id that such a call gets is made of its content: the same for the answer of a model, which came
without one, and for the request that repeats it, in which a client may have put an id of its own. Calls
that wait for a result are kept in `tools`, the tool names by call id, and so are the clients' own ids.
"""

from __future__ import annotations

import hashlib

from ctxheap.providers.json_fields import json_text

_MADE = "call:"
_GIVEN = "given:"
_TURN = "turn:"


def model_speaks(tools: dict[str, str]) -> None:
    """Note a message of the model; its first after others forgets calls that nobody answered."""
    if _TURN not in tools:
        for call_id in [known for known in tools if known.startswith((_MADE, _GIVEN))]:
            del tools[call_id]
    tools[_TURN] = ""


def others_speak(tools: dict[str, str]) -> None:
    """Note a message of anybody else."""
    tools.pop(_TURN, None)


def asked(name: str, arguments: object, tools: dict[str, str], *, given: str = "") -> str:
    """Return the id of a call, which waits for its result from now on; equal calls of a turn are numbered."""
    digest = hashlib.sha256(json_text(arguments).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    base = call_id = f"{_MADE}{name}:{digest}"
    number = 1
    while call_id in tools:
        number += 1
        call_id = f"{base}:{number}"
    tools[call_id] = name
    if given:
        tools[_GIVEN + given] = call_id
    return call_id


def answered(name: str, tools: dict[str, str], *, given: str = "") -> tuple[str, str]:
    """Return id and tool of the call that a result answers, which waits no more.

    It is the one with the id that the client gave, else the first that waits for a result of that
    tool, or of any tool where `name` is "". Where none waits, the id is "".
    """
    meant = tools.get(_GIVEN + given, "")
    waiting = (call_id for call_id, tool in tools.items() if call_id.startswith(_MADE) and name in ("", tool))
    call_id = meant if meant in tools else next(waiting, "")
    return call_id, tools.pop(call_id, name)
