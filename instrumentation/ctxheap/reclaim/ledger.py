"""Keep what a policy removed, whole, and which ranges of which resource are still in the context (SPEC 8).

    AuditLog     everything that was ever removed; only grows
    ReadLedger   what this session holds now; reclaiming tells it

Two sessions never share a read ledger: that one has read a file says nothing of what the other sees.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ctxheap.heap.model import Part
from ctxheap.reclaim.policy import Action

END = 1 << 62
"""Last line of a range that goes to the end of its resource."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold one removal; `part` is the object as it was, `call` the call before which it went."""

    call: int
    number: int
    action: Action
    rule: int | None
    reason: str
    removed: int
    part: Part


class AuditLog:
    """Keep every removal of a session; nothing is ever taken out of it or changed."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    def append(self, entry: Entry) -> None:
        """Add a removal; raises `ValueError` when it is from before the last one."""
        if self._entries and entry.call < self._entries[-1].call:
            raise ValueError(f"call {entry.call} after call {self._entries[-1].call}: the log only grows")
        self._entries.append(entry)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return all removals, oldest first."""
        return tuple(self._entries)

    def original(self, number: int) -> Part | None:
        """Return an object as it was before anything was done to it, None if nothing was."""
        return next((entry.part for entry in self._entries if entry.number == number), None)


@dataclass(frozen=True, slots=True)
class _Held:
    number: int
    resource: str
    first: int
    last: int
    digest: str


class ReadLedger:
    """Keep which ranges of which resource one session holds in its context."""

    def __init__(self) -> None:
        self._held: dict[int, _Held] = {}

    def read(self, number: int, resource: str, *, digest: str, first: int = 1, last: int = END) -> None:
        """Note that an object holds the lines `first` to `last` of a resource, whose text has a digest."""
        self._held[number] = _Held(number, resource, first, last, digest)

    def written(self, resource: str) -> None:
        """Note that a resource changed: what is held of it is out of date."""
        self._held = {n: held for n, held in self._held.items() if held.resource != resource}

    def gone(self, numbers: Iterable[int]) -> None:
        """Note that objects were evicted, cut or compacted, or left the prompt in any other way."""
        for number in numbers:
            self._held.pop(number, None)

    def holder(self, resource: str, *, digest: str, first: int = 1, last: int = END) -> int | None:
        """Return the resident object that answers a repeated read, None when the text must be given.

        Only the very same range with the very same text counts: of a wider one nobody knows the digest.
        """
        wanted = (resource, first, last, digest)
        for held in self._held.values():
            if (held.resource, held.first, held.last, held.digest) == wanted:
                return held.number
        return None
