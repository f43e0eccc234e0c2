"""Keep a background thread from holding the interpreter's lock for long: it works in short slices.

Python gives a waiting thread the lock only after 5 ms, and that is felt: by an event loop, by a call
that has just returned. So the worker lets go by itself, long before anybody has to ask.

A request of 3 MB is sent in dozens of pieces, and each ends with a wait for the lock: while one is being
sent, the worker rests altogether, though never for more than half of its time.
"""

from __future__ import annotations

import time
from threading import get_ident

SLICE_SECONDS = 0.000_15
REST_SECONDS = 0.000_05
QUIET_SECONDS = 0.002
QUIET_SECONDS_PER_BYTE = 4e-9


class _Pace:
    """Hold which thread is paced, and when its slice began."""

    def __init__(self) -> None:
        self.thread = 0
        self.began = 0.0
        self.quiet_until = 0.0
        self.busy_until = 0.0


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
    if _pace.thread != get_ident():
        return
    now = time.perf_counter()
    if now < _pace.quiet_until and now > _pace.busy_until:
        rest = _pace.quiet_until - now
        time.sleep(rest)
        _pace.began = time.perf_counter()
        _pace.busy_until = _pace.began + rest
    elif now - _pace.began > SLICE_SECONDS:
        time.sleep(REST_SECONDS)
        _pace.began = time.perf_counter()


def hush(size: int) -> None:
    """Ask for quiet while a request of that many bytes is sent; called on the host's threads."""
    _pace.quiet_until = time.perf_counter() + QUIET_SECONDS + QUIET_SECONDS_PER_BYTE * size
