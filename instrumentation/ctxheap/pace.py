"""Keep a background thread from holding the interpreter's lock for long: it works in short slices.

Python gives a waiting thread the lock only after 5 ms, and that is felt: by an event loop, by a call
that has just returned. So the worker lets go by itself, long before anybody has to ask.
"""

from __future__ import annotations

import time
from threading import get_ident

SLICE_SECONDS = 0.000_4
REST_SECONDS = 0.000_05


class _Pace:
    """Hold which thread is paced, and when its slice began."""

    def __init__(self) -> None:
        self.thread = 0
        self.began = 0.0


_pace = _Pace()


def start() -> None:
    """Pace the calling thread from now on; there is one paced thread a process."""
    _pace.thread = get_ident()
    _pace.began = time.perf_counter()


def stop() -> None:
    """Pace nobody, as when the host ends and only waits for the rest of the work."""
    _pace.thread = 0


def breathe() -> None:
    """Let other threads run if the slice is over; costs nothing worth naming on any other thread."""
    if _pace.thread == get_ident() and time.perf_counter() - _pace.began > SLICE_SECONDS:
        time.sleep(REST_SECONDS)
        _pace.began = time.perf_counter()
