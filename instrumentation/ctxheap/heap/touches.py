"""Name what the tool calls of one session touch, every file in one spelling (SPEC 5.2).

open src/a.py               read  src/a.py   and a.py is the file that is open
edit 10:12 …                write src/a.py   lines 10-12
Read {"file_path": "/r/src/a.py"}   read  src/a.py   (the same file: see `heap.paths`)
"""

from __future__ import annotations

from dataclasses import replace

from ctxheap.heap.access import EVERYTHING, OPEN_FILE, PLAN, Access, Range
from ctxheap.heap.model import Part
from ctxheap.heap.paths import Paths
from ctxheap.heap.resources import accesses

_READ_LIMIT_LINES = 2000  # where Claude Code's Read stops unless told otherwise


class Touches:
    """Ask it for each tool result once, in birth order: relative names depend on what came before."""

    def __init__(self) -> None:
        self._paths = Paths()
        self._open_file = OPEN_FILE
        self._last: tuple[Part, Part, tuple[Access, ...]] | None = None

    def known(self, path: str) -> str:
        """Return the name under which the session knows a file."""
        return self._paths.known(path)

    def of(self, request: Part, answer: Part) -> tuple[Access, ...]:
        """Return what a tool call touched; asking again for the answer asked for last costs nothing."""
        if self._last is not None and self._last[0] is request and self._last[1] is answer:
            return self._last[2]
        found: list[Access] = []
        for access in accesses(request.tool or answer.tool, request.text):
            named = self._named(access)
            if named is not None:
                found.append(
                    replace(access, resource=named, range=_shown_range(access, request.tool, answer))
                )
        self._last = request, answer, tuple(found)
        return self._last[2]

    def _named(self, access: Access) -> str | None:
        """Return the one name of a resource; None if it is the open file and none is open."""
        if access.opens:
            self._open_file = self._paths.known(access.resource)
        name = access.resource if access.resource != OPEN_FILE else self._open_file
        if name == OPEN_FILE:
            return None
        is_file = not (access.action == "read" and access.detail) and name not in (EVERYTHING, PLAN)
        return self._paths.known(name) if is_file else name


def _shown_range(access: Access, tool: str, answer: Part) -> Range | None:
    """Return the lines that an answer can hold: a long file ends where the reading tool stops."""
    is_whole = access.action == "read" and access.range is None and not access.detail
    if is_whole and tool == "Read" and answer.text.count("\n") + 1 >= _READ_LIMIT_LINES:
        return 1, _READ_LIMIT_LINES
    return access.range
