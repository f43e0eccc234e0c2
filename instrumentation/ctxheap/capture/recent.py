"""Remember the newest requests, so that the next ones are read from where they go on.

Which one a request continues is seen at a few places of their bodies, from the start on: those of
sessions that share only their system prompt differ soon. The reader compares what is found byte by byte.
"""

from __future__ import annotations

from collections import OrderedDict

from ctxheap.providers.reading import Prefix

MAX_REQUESTS = 256
SAMPLE_BYTES = 64
SAMPLES = 16


class Recent:
    """Hold prefixes, newest last, bounded in number and in bytes of their bodies."""

    def __init__(self, *, max_bytes: int, max_requests: int = MAX_REQUESTS) -> None:
        self._max_bytes = max_bytes
        self._max_requests = max_requests
        self._bytes = 0
        self._prefixes: OrderedDict[int, Prefix] = OrderedDict()
        self._by_name: dict[str, int] = {}
        self._names: dict[int, tuple[str, ...]] = {}
        self._next = 0

    def stored(self, name: str) -> Prefix | None:
        """Return the prefix with a response id or conversation of a stateful API."""
        place = self._by_name.get(name)
        return self._prefixes.get(place) if place is not None else None

    def before(self, raw: bytes) -> tuple[int, Prefix] | None:
        """Return the newest prefix that a body most likely continues, with its place."""
        best, found = 0, None
        for place in reversed(self._prefixes):
            alike = _alike(raw, self._prefixes[place].raw)
            if alike > best:
                best, found = alike, place
        return (found, self._prefixes[found]) if found is not None else None

    def add(self, prefix: Prefix, names: tuple[str, ...], *, instead_of: int | None = None) -> None:
        """Remember a prefix; `instead_of` is the place of the one that it continues."""
        if instead_of is not None and not names:
            self._drop(instead_of)
        self._next += 1
        self._prefixes[self._next] = prefix
        self._bytes += len(prefix.raw)
        if names:
            self._names[self._next] = names
            self._by_name.update((name, self._next) for name in names)
        while len(self._prefixes) > 1 and (
            len(self._prefixes) > self._max_requests or self._bytes > self._max_bytes
        ):
            self._drop(next(iter(self._prefixes)))

    def _drop(self, place: int) -> None:
        prefix = self._prefixes.pop(place, None)
        if prefix is None:
            return
        self._bytes -= len(prefix.raw)
        for name in self._names.pop(place, ()):
            if self._by_name.get(name) == place:
                del self._by_name[name]


def _alike(raw: bytes, before: bytes) -> int:
    """Return up to which byte of `before` the samples of both are equal, 0 if not even the first are."""
    step = max(1, len(before) // SAMPLES)
    alike = 0
    for at in range(0, len(before), step):
        if raw[at : at + SAMPLE_BYTES] != before[at : at + SAMPLE_BYTES]:
            break
        alike = at + 1
    return alike
