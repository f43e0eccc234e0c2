"""Cut an object's life into lag, use, drag and void, and say from when it was dead (SPEC 5.4, 5.5).

birth       first use        last use            last call
  |--- lag ---|------ use ------|------ drag ------|        dead, upper end: drag and void
                                     |-- surely dead --|    dead, lower end: within it
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ctxheap.heap.subject import OWN_TEXT, Subject, answers_of, base_of

Phase = Literal["lag", "use", "drag", "void"]
Span = tuple[int, int]
"""First and last call of a stretch."""


@dataclass(frozen=True, slots=True)
class Phases:
    """Hold one object's life, in calls or in token-calls; the four add up to the whole of it."""

    lag: int = 0
    use: int = 0
    drag: int = 0
    void: int = 0


@dataclass(frozen=True, slots=True)
class Life:
    """Hold what happened to one object, in call numbers; made by `life`.

    Attributes:
        birth: First call whose prompt holds it.
        last: Last call whose prompt holds it.
        first_use: First call that used it, None if none did.
        last_use: Last call that used it, None if none did.
        inherent: Whether it is in use for as long as it is there.
        sure: First and last call of each stretch in which it was surely dead, in order: something
            had superseded it, and for a duplicate the later copy was there.
    """

    birth: int
    last: int
    first_use: int | None = None
    last_use: int | None = None
    inherent: bool = False
    sure: tuple[Span, ...] = ()

    @property
    def high(self) -> int | None:
        """Return the first call of the upper dead end: nothing used it from here on."""
        if self.inherent:
            return None
        call = self.birth if self.last_use is None else self.last_use + 1
        return call if call <= self.last else None

    @property
    def low(self) -> int | None:
        """Return the first call of the lower dead end, never before `high` (SPEC 5.5)."""
        return self.sure[0][0] if self.sure else None

    def phase_at(self, call: int) -> Phase:
        """Return the phase of the object at a call of its life."""
        if self.inherent:
            return "use"
        if self.first_use is None or self.last_use is None:
            return "void"
        if call < self.first_use:
            return "lag"
        return "use" if call <= self.last_use else "drag"

    def is_dead_at(self, call: int) -> bool:
        """Return whether the object was dead at a call of its life, upper end."""
        return self.high is not None and call >= self.high

    def is_surely_dead_at(self, call: int) -> bool:
        """Return whether the object was dead at a call of its life, lower end."""
        return any(first <= call <= last for first, last in self.sure)


def life(
    birth: int,
    last: int,
    uses: Sequence[int],
    *,
    inherent: bool = False,
    sure: Iterable[Span] = (),
) -> Life:
    """Return the life of an object from the calls that used it; uses outside of it do not count.

    `sure` holds the first and last calls at which something later made it redundant.
    """
    within = [call for call in uses if birth <= call <= last]
    first, final = (min(within), max(within)) if within else (None, None)
    item = Life(birth, last, first, final, inherent)
    if item.high is None:
        return item
    spans = [(max(start, item.high), min(stop, last)) for start, stop in sure]
    return replace(item, sure=tuple(span for span in spans if span[0] <= span[1]))


def phases(birth: int, last: int, uses: Sequence[int], *, inherent: bool = False) -> Phases:
    """Return the phases of a life in calls: lag + use + drag + void = last − birth + 1."""
    return token_phases(life(birth, last, uses, inherent=inherent), [1] * (last - birth + 1))


def token_phases(item: Life, sizes: Sequence[int]) -> Phases:
    """Return the phases in token-calls, from the billed tokens at each call of the life."""
    if item.inherent:
        return Phases(use=sum(sizes))
    if item.first_use is None or item.last_use is None:
        return Phases(void=sum(sizes))
    first, beyond = item.first_use - item.birth, item.last_use - item.birth + 1
    return Phases(lag=sum(sizes[:first]), use=sum(sizes[first:beyond]), drag=sum(sizes[beyond:]))


def dead_series(lives: Sequence[tuple[Life, Sequence[int]]], *, calls: int) -> tuple[list[int], list[int]]:
    """Return the dead tokens at each of the calls 1..`calls`: the lower and the upper end.

    `lives` holds each object's life and its billed tokens at each call of it.
    """
    low, high = [0] * calls, [0] * calls
    for item, sizes in lives:
        for call in range(item.high or item.last + 1, item.last + 1):
            high[call - 1] += sizes[call - item.birth]
            if item.is_surely_dead_at(call):
                low[call - 1] += sizes[call - item.birth]
    return low, high


def effective_uses(subjects: Sequence[Subject], uses: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the calls that used each object, with what SPEC 5.4 adds to the evidence.

    A tool call shares its result's, in whatever versions it was sent; the model's own text is used by
    the call that first got it back, whatever is found later. Inherent objects keep what was found.
    """
    answers = answers_of(subjects)
    shared: list[list[int]] = []
    for place, subject in enumerate(subjects):
        found = set(uses[place])
        base = base_of(subject.tag)
        if base == "tool_call" and place in answers:
            found.update(*(uses[answer] for answer in answers[place]))
        elif base == "tool_call" or base in OWN_TEXT:
            # An unanswered call has no result to share with: it is the model's own text so far.
            found.add(subject.birth)
        shared.append(sorted(found))
    return shared
