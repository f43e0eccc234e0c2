"""Keep the ledger of a prompt cache: what each call reads, writes and pays in full (SPEC 7).

    call 1   | a | b | c |              a b c written
    call 2   | a | b | c | d |          a b c read, d written
    call 3   | a | x | c | d |          a read, x c d written: a change re-bills all that follows

A prefix can be read when an earlier prompt for the same model began with it and neither that one nor
any later reader of it is longer ago than the time to live. Being read renews it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

FIVE_MINUTES_SECONDS = 300
HOUR_SECONDS = 3600
NS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Served:
    """Hold one call's input by cache class, in tokens; `parts` is how many parts were read."""

    read: int
    written: int
    uncached: int
    parts: int

    @property
    def input(self) -> int:
        """Return all input tokens of the call."""
        return self.read + self.written + self.uncached


@dataclass(slots=True)
class _Line:
    """Hold a prompt that the cache knows, and when the whole of it was last sent."""

    identities: Sequence[Hashable]
    sent_ns: int | None


@dataclass(slots=True)
class PromptCache:
    """Serve prompts from the prefixes of earlier ones; feed it in the order of the calls.

    Attributes:
        ttl_seconds: How long a prefix lives after it was last sent. Calls without a time are taken to
            come soon enough.
        writes: Whether the provider bills what it stores as written (Anthropic); otherwise it is
            billed as uncached (automatic caches).
        minimum_tokens: The least prefix that is stored and served.
    """

    ttl_seconds: int = FIVE_MINUTES_SECONDS
    writes: bool = True
    minimum_tokens: int = 0
    _lines: dict[str, list[_Line]] = field(default_factory=dict[str, "list[_Line]"])

    def send(
        self,
        identities: Sequence[Hashable],
        tokens: Sequence[int],
        *,
        model: str = "",
        started_ns: int | None = None,
    ) -> Served:
        """Return how a prompt is billed, and store it.

        Args:
            identities: Its parts, in the provider's order; equal ones stand for equal content.
            tokens: Billed tokens of each part at this call.
            model: Name of the model; models share nothing.
            started_ns: When it was sent, in nanoseconds since the epoch.
        """
        lines = [line for line in self._lines.get(model, ()) if self._is_alive(line, started_ns)]
        parts = _longest(identities, lines)
        read, total = sum(tokens[:parts]), sum(tokens)
        if read < self.minimum_tokens:
            read = parts = 0
        stores = total >= self.minimum_tokens
        if stores:
            lines = [line for line in lines if not _begins_with(identities, line.identities)]
            lines.append(_Line(tuple(identities), started_ns))
        self._lines[model] = lines
        rest = total - read
        written = rest if stores and self.writes else 0
        return Served(read, written, rest - written, parts)

    def shared(
        self, identities: Sequence[Hashable], *, model: str = "", started_ns: int | None = None
    ) -> int:
        """Return how many of the first parts would be read now, without sending anything."""
        lines = self._lines.get(model, ())
        return _longest(identities, [line for line in lines if self._is_alive(line, started_ns)])

    def _is_alive(self, line: _Line, now_ns: int | None) -> bool:
        if line.sent_ns is None or now_ns is None:
            return True
        return now_ns - line.sent_ns <= self.ttl_seconds * NS_PER_SECOND


def shared_prefix(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """Return how many parts two prompts have in common at their beginning."""
    low, high = 0, min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    # Slices compare in C: halving beats a loop on prompts of thousands of parts.
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _longest(identities: Sequence[Hashable], lines: Sequence[_Line]) -> int:
    prompt = tuple(identities)
    best = 0
    for line in reversed(lines):
        if len(line.identities) > best < len(prompt) and line.identities[best] == prompt[best]:
            best = max(best, shared_prefix(prompt, line.identities))
    return best


def _begins_with(prompt: Sequence[Hashable], line: Sequence[Hashable]) -> bool:
    return len(line) <= len(prompt) and tuple(prompt[: len(line)]) == line


def gaps_seconds(starts_ns: Sequence[int | None]) -> Iterator[float | None]:
    """Yield the time from each call to the next in seconds, None where one of them has no time."""
    for before, after in pairwise(starts_ns):
        yield None if before is None or after is None else (after - before) / NS_PER_SECOND
