"""Name what the tool calls of one session touch, every file in one spelling (SPEC 5.2).

open src/a.py               read  src/a.py   and a.py is the file that is open
edit 10:12 …                write src/a.py   lines 10-12
Read {"file_path": "/r/src/a.py"}   read  src/a.py   (the same file: see `heap.paths`)
"""

from __future__ import annotations

import re
from dataclasses import replace

from ctxheap.heap.access import EVERYTHING, LAST_LINE, OPEN_FILE, PLAN, Access, Range, path_of
from ctxheap.heap.model import Part
from ctxheap.heap.paths import Paths
from ctxheap.heap.resources import accesses, command_of
from ctxheap.heap.shell import ELSEWHERE, folder_after

_READ_LIMIT_LINES = 2000  # where Claude Code's Read stops unless told otherwise
_MOVES = ("cd", "pushd", "popd")
_CANNOT_MOVE = re.compile(r"\bcd: .{0,300}(?:no such file|not a directory|permission denied)", re.IGNORECASE)
_ABSOLUTE_START = re.compile(r"\s*cd\s+['\"]?[/~]")


class Touches:
    """Ask it for each tool result once, in birth order: relative names depend on what came before."""

    def __init__(self) -> None:
        self._paths = Paths()
        self._open_file = OPEN_FILE
        self._folder = ""
        self._moves: set[bytes] = set()
        self._last: tuple[Part, Part, tuple[Access, ...]] | None = None

    def known(self, path: str) -> str:
        """Return the name under which the session knows a file."""
        return self._paths.known(path)

    def of(self, request: Part, answer: Part) -> tuple[Access, ...]:
        """Return what a tool call touched; asking again for the answer asked for last costs nothing."""
        if self._last is not None and self._last[0] is request and self._last[1] is answer:
            return self._last[2]
        tool = request.tool or answer.tool
        may_move = any(word in request.text for word in _MOVES)
        command = command_of(tool, request.text) if self._folder or may_move else None
        found: list[Access] = []
        for access in accesses(tool, request.text):
            placed = access if command is None else self._placed(access, tool, command)
            named = self._named(placed)
            if named is not None:
                found.append(
                    replace(placed, resource=named, range=_shown_range(placed, request.tool, answer))
                )
        if command is not None and may_move and request.identity not in self._moves:
            self._moves.add(request.identity)
            self._move(command, answer.text)
        self._last = request, answer, tuple(found)
        return self._last[2]

    def _move(self, command: str, answer: str) -> None:
        """Follow a shell that may keep its folder from call to call."""
        if "Shell cwd was reset to" in answer:
            self._folder = ""
        elif not _CANNOT_MOVE.search(answer):
            folder = folder_after(command, self._folder)
            if folder == ELSEWHERE:
                folder += str(len(self._moves))
            self._folder = "" if folder == "." else folder

    def _placed(self, access: Access, tool: str, command: str) -> Access:
        """Return an access of a shell that was elsewhere before.

        Nobody knows whether it still is: some keep their folder between calls, some do not. What is
        relative is then the same only if it was said with the shell in the same place.
        """
        path = access.resource
        if not self._folder or path in (OPEN_FILE, EVERYTHING, PLAN) or _is_absolute(path):
            return access
        if access.detail and path == tool:
            starts_anew = _ABSOLUTE_START.match(command) is not None
            return access if starts_anew else replace(access, detail=f"{self._folder}//{access.detail}")
        full = path_of(path, cwd=self._folder)
        is_either = "/" in path and self._folder.startswith("/") and self._paths.has(full)
        return replace(access, resource=full if is_either else f"{self._folder}//{path}")

    def _named(self, access: Access) -> str | None:
        """Return the one name of a resource; None if it is the open file and none is open."""
        if access.opens:
            self._open_file = self._paths.known(access.resource)
        name = access.resource if access.resource != OPEN_FILE else self._open_file
        if name == OPEN_FILE:
            return None
        is_file = not (access.action == "read" and access.detail) and name not in (EVERYTHING, PLAN)
        is_file = is_file and "//" not in name
        return self._paths.known(name) if is_file else name


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~")) or "://" in path or path[1:2] == ":"


def _shown_range(access: Access, tool: str, answer: Part) -> Range | None:
    """Return the lines that an answer can hold: a long file ends where the reading tool stops."""
    lines = access.range
    is_open = access.action == "read" and not access.detail and (lines is None or lines[1] == LAST_LINE)
    if is_open and tool == "Read" and answer.text.count("\n") + 1 >= _READ_LIMIT_LINES:
        first = lines[0] if lines else 1
        return first, first + _READ_LIMIT_LINES - 1
    return lines
