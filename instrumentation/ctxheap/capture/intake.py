"""Take finished calls in without blocking anybody, and let one background thread work them off.

    host's threads ──offer──▶ queue, bounded in bytes ──▶ worker thread ──▶ handle

Overload drops whole calls and counts them. After a fork the child starts with an empty intake of its
own; the parent still holds, and handles, what was there. A worker that died is started again.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ctxheap import pace
from ctxheap.capture.guard import faults

IDLE_SECONDS = 1.0
CHILD_SECONDS = 5.0
FORK_SECONDS = 0.1
WARM_SECONDS = 10.0

T = TypeVar("T")


class Weighed(Protocol):
    """Say what an item keeps alive."""

    @property
    def weight(self) -> int:
        """Return bytes."""
        ...


@dataclass(slots=True)
class Counts:
    """Count what became of the calls that were offered."""

    taken: int = 0
    dropped: int = 0
    lost: int = 0
    """Calls that the worker failed at."""
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class _Flush:
    """Ask the worker to tell when all before it is done."""

    done: threading.Event
    weight: int = 0


@dataclass(frozen=True, slots=True)
class _Warm:
    """Ask the worker to get ready for a first call that has only begun."""

    weight: int = 0


class Intake:
    """Own the queue and the worker.

    Args:
        handle: Works one item off, on the worker.
        warm: Called on the worker before anything else.
        idle: Called on the worker about every second while nothing comes, and at a flush (with True).
        max_bytes: Bound on what waits.
    """

    def __init__(
        self,
        handle: Callable[[Weighed], None],
        *,
        warm: Callable[[None], None],
        idle: Callable[[bool], None],
        max_bytes: int,
    ) -> None:
        self.counts = Counts()
        self._handle = handle
        self._warm = warm
        self._idle = idle
        self._max_bytes = max_bytes
        self._reset()

    def _reset(self) -> None:
        self._busy = threading.Lock()
        self._is_held = False
        self._is_warm = False
        self._lock = threading.RLock()  # a finaliser may offer while its own thread is inside
        self._bytes = 0
        self._thread: threading.Thread | None = None
        # Looked up now: where gevent has replaced both, the two must fit each other.
        self._queue: queue.SimpleQueue[Weighed | None] = queue.SimpleQueue()

    def before_fork(self) -> None:
        """Wait for the worker to be between two items, so that the child inherits no lock of it.

        At most for a tenth of a second, but for the first call: a module that is half imported when a
        process forks can never be imported in the child, by nobody.
        """
        self._is_held = self._busy.acquire(timeout=FORK_SECONDS if self._is_warm else WARM_SECONDS)

    def after_fork_in_parent(self) -> None:
        """Let the worker go on."""
        if self._is_held:
            self._is_held = False
            self._busy.release()

    def after_fork(self) -> None:
        """Start anew in a child process: its parent's thread is not here, its locks may be taken."""
        self.counts = Counts()
        self._reset()

    def offer(self, item: Weighed) -> bool:
        """Take an item in; False when it was dropped, and counted, since too much waits already."""
        weight = item.weight
        with self._lock:
            if self._bytes + weight > self._max_bytes:
                self.counts.dropped += 1
                return False
            self._bytes += weight
            self.counts.taken += 1
        self._queue.put(item)
        self._ensure()
        return True

    def wake(self) -> None:
        """Start the worker, if it is not there, so that it is ready when the first call is."""
        if self._thread is None:
            self._queue.put(_Warm())
            self._ensure()

    def flush(self, seconds: float) -> bool:
        """Wait until all that was offered so far is done; False when the time was not enough."""
        thread = self._thread
        if thread is None or not thread.is_alive():
            return self._queue.empty()
        request = _Flush(threading.Event())
        self._queue.put(request)
        return request.done.wait(seconds)

    def stop(self, seconds: float) -> bool:
        """Flush, then end the worker; False when the time was not enough."""
        done = self.flush(seconds)
        self._queue.put(None)
        return done

    def _ensure(self) -> None:
        thread = self._thread
        if thread is not None and thread.is_alive():
            return
        with self._lock:
            if self._thread is thread:
                self.counts.restarts += thread is not None
                self._thread = threading.Thread(target=self._run, name="ctxheap", daemon=True)
                self._thread.start()
                _flush_at_end_of_child(self)

    def _run(self) -> None:
        pace.start()
        waiting = self._queue
        while waiting is self._queue:
            try:
                item = waiting.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                self._try(self._idle, False)
                continue
            if item is None:
                return
            with self._busy:
                self._serve(item)
            pace.breathe()

    def _serve(self, item: Weighed) -> None:
        if isinstance(item, _Flush):
            self._try(self._idle, True)
            item.done.set()
        elif isinstance(item, _Warm):
            self._try(self._warm, None)
        else:
            self._work(item)
        self._is_warm = True

    def _work(self, item: Weighed) -> None:
        weight = item.weight
        if not self._try(self._handle, item):
            self.counts.lost += 1
        with self._lock:
            self._bytes -= weight

    def _try(self, function: Callable[[T], None], argument: T) -> bool:
        try:
            function(argument)
        except BaseException as error:  # noqa: BLE001 - native code panics with exceptions of its own
            faults.note("worker", error)
            return False
        return True


def _flush_at_end_of_child(intake: Intake) -> None:
    """Flush in processes of `multiprocessing`, which end without running `atexit`."""
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, intake.flush, args=(CHILD_SECONDS,), exitpriority=10)
