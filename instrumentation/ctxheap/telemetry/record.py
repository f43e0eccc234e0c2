"""Define what the worker hands to the exporters: one inference call, analysed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ctxheap.capture.flight import Call
from ctxheap.heap.live import Snapshot
from ctxheap.heap.model import Exchange
from ctxheap.providers.reading import Reading


@dataclass(frozen=True, slots=True)
class Inference:
    """Hold one inference call.

    Attributes:
        call: What went over the wire, with times and the caller's context.
        reading: What it says; None where the provider refused the request or nothing came back.
        exchange: The call as the heap took it in: session found, marks and pins applied.
        snapshot: The heap at this call.
        heap_id: 8 bytes within which object numbers hold.
        parent: Session that started this one, "" for none.
        refreshed: Numbers of older objects whose identities are repeated.
    """

    call: Call
    reading: Reading | None = None
    exchange: Exchange | None = None
    snapshot: Snapshot | None = None
    heap_id: bytes = b""
    parent: str = ""
    refreshed: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Activity:
    """Hold something an agent did besides calling models, as its code says.

    Attributes:
        kind: `compaction`, `retrieval`, `lock`, …
        attributes: What the code says about it, as plain values.
        error: Qualified name of the exception that ended it, "" for none.
    """

    kind: str
    session: str
    agent: str
    started_ns: int
    ended_ns: int
    context: object | None
    attributes: dict[str, str | int | float | bool]
    error: str = ""

    @property
    def weight(self) -> int:
        """Return about how many bytes it keeps alive."""
        return 1_000
