"""Let another process count while this one reads: for batch jobs such as the command line's.

    HeapBuilder ──submit──▶ Offload ──queue──▶ thread ◀──pipes──▶ ctxheap.tokens.worker
                ◀─────────── counts, at the end ───────┘

A thread alone would not do: the native tokenizers hold the interpreter's lock while they are built.
Whatever happens to the other process, the counts are the same: what it did not answer is counted here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import BinaryIO, Self, cast

from ctxheap.tokens.counter import Counter, counter_for
from ctxheap.tokens.engines import EngineName, preferred_engine
from ctxheap.tokens.worker import ask

# Below this much input tiktoken is ready and done before toktok is built (docs/tokens.md).
SMALL_BYTES = 4_000_000
# A word of 5 MB takes tiktoken 4 s: this long only a process takes that was stopped.
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class OffloadCounter:
    """Count for one model in the other process; models that count alike are equal."""

    counter: Counter
    offload: Offload = field(repr=False)
    model: str = field(compare=False)
    provider: str = field(compare=False)

    @property
    def exact(self) -> bool:
        """Return whether counts are the model's own and not estimates."""
        return self.counter.exact

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text as the model bills it, waiting for them."""
        return self.submit(texts)()

    def submit(self, texts: Sequence[str]) -> Callable[[], list[int]]:
        """Take texts in and return what gives the tokens of each as the model bills it."""
        return self.offload.submit(self, texts)


@dataclass(slots=True)
class _Job:
    """Hold one request; `counts` stays None when the other process did not answer."""

    counter: OffloadCounter
    texts: Sequence[str]
    counts: list[int] | None = None
    done: threading.Event = field(default_factory=threading.Event)


class Offload:
    """Own the other process, from making to closing; use it as a context manager.

    Without a `command`, or where it cannot be started, all is counted in this process. `engine_name`
    is what counts here, None the fastest. Jobs are handed in by one thread.
    """

    def __init__(self, command: Sequence[str] | None, *, engine_name: EngineName | None = None) -> None:
        self._engine_name: EngineName | None = engine_name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._process = _start(command) if command else None
        if self._process:
            self._thread = threading.Thread(
                target=_serve, args=(self._process, self._jobs), name="ctxheap-offload", daemon=True
            )
            self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """Return the id of the other process, None where there is none."""
        return self._process.pid if self._process else None

    def counter_for(self, model: str, provider: str = "") -> OffloadCounter:
        """Return the counter of a model, as `ctxheap.tokens.counter_for` does."""
        return OffloadCounter(counter_for(model, provider), self, model, provider)

    def submit(self, counter: OffloadCounter, texts: Sequence[str]) -> Callable[[], list[int]]:
        """Take texts in and return what gives the tokens of each."""
        job = _Job(counter, texts)
        if self._process:
            self._jobs.put(job)
        else:
            job.done.set()
        return lambda: self._result(job)

    def close(self) -> None:
        """End the other process; what it has not answered is counted here when it is asked for."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()  # it holds nothing that could be lost
        self._jobs.put(None)
        self._thread.join()
        for stream in _streams(process):
            with suppress(OSError):
                stream.close()
        process.wait()

    def _result(self, job: _Job) -> list[int]:
        if not job.done.wait(PATIENCE_SECONDS):
            self.close()
        if job.counts is None:
            job.counts = replace(job.counter.counter, engine_name=self._engine_name).count(job.texts)
            job.texts = ()
        return job.counts


def start(input_bytes: int) -> Offload:
    """Return an offload for a job that reads about so many bytes.

    With one processor there is nothing to gain, so everything is counted in this process.
    """
    name: EngineName = "tiktoken" if input_bytes < SMALL_BYTES else preferred_engine()
    return Offload(worker_command(name) if _processors() > 1 else None, engine_name=name)


def worker_command(name: EngineName) -> list[str] | None:
    """Return the command that starts a worker, None where Python does not know its own program."""
    # -P keeps the current folder out of the module path: it may hold a json.py of its own.
    return [sys.executable, "-P", "-m", "ctxheap.tokens.worker", name] if sys.executable else None


def _start(command: Sequence[str]) -> subprocess.Popen[bytes] | None:
    try:
        return subprocess.Popen(  # noqa: S603 - our own command
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None


def _streams(process: subprocess.Popen[bytes]) -> tuple[BinaryIO, BinaryIO]:
    return cast("BinaryIO", process.stdin), cast("BinaryIO", process.stdout)


def _serve(process: subprocess.Popen[bytes], jobs: SimpleQueue[_Job | None]) -> None:
    """Run on the thread: send a request and read its answer, one after the other."""
    requests, answers = _streams(process)
    while job := jobs.get():
        counter = job.counter
        try:
            job.counts = ask(
                requests, answers, model=counter.model, provider=counter.provider, texts=job.texts
            )
            job.texts = ()
        except Exception:  # noqa: BLE001 - whatever it was, the answers that follow cannot be trusted
            process.kill()
        job.done.set()


def _processors() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # Windows and macOS have no such call
        return os.cpu_count() or 1
