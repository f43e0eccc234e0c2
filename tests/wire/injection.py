"""Throw at a chosen line of our own code, on whichever thread gets there first.

A trace function sees every line that is about to run; raising from it is as if that line had raised.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import ctxheap

PACKAGE = str(Path(ctxheap.__file__).parent)

Trace = Callable[[FrameType, str, object], object]


class InjectedError(Exception):
    """Stand for any fault of ours."""


class Line(tuple[str, int, str]):
    """Name a line: file within the package, number, qualified name of its function."""

    __slots__ = ()

    @classmethod
    def of(cls, frame: FrameType) -> Line:
        """Return the line that a frame is at."""
        code = frame.f_code
        return cls((code.co_filename[len(PACKAGE) + 1 :], frame.f_lineno, code.co_qualname))

    @property
    def function(self) -> str:
        """Return file and function."""
        return f"{self[0]}:{self[2]}"


@contextmanager
def recording(into: set[Line]) -> Iterator[None]:
    """Write down every line of ours that runs, on threads started inside too."""

    def see(frame: FrameType, event: str, _: object) -> Trace | None:
        if not frame.f_code.co_filename.startswith(PACKAGE) or not _is_ours():
            return None
        if event == "line":
            into.add(Line.of(frame))
        return see

    with _traced(see):
        yield


@contextmanager
def throwing_at(line: Line) -> Iterator[list[str]]:
    """Throw once at a line; yields the names of the threads that it was thrown on."""
    thrown: list[str] = []
    file = f"{PACKAGE}/{line[0]}"

    def see(frame: FrameType, event: str, _: object) -> Trace | None:
        if thrown or frame.f_code.co_filename != file or not _is_ours():
            return None
        if event == "line" and frame.f_lineno == line[1]:
            thrown.append(threading.current_thread().name)
            raise InjectedError(f"{line[0]}:{line[1]}")
        return see

    with _traced(see):
        yield thrown


def _is_ours() -> bool:
    """Say whether this is the agent's thread or our worker's: the provider's threads use our code too."""
    return threading.current_thread().name in ("MainThread", "ctxheap")


@contextmanager
def _traced(see: Trace) -> Iterator[None]:
    before = sys.gettrace()
    threading.settrace(see)  # type: ignore[arg-type]
    sys.settrace(see)  # type: ignore[arg-type]
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(before)
