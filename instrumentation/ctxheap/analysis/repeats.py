"""Add up the dead state that repeats: copies, superseded reads, contained results, repeated lines.

    read a.py ──▶ 1   read a.py ──▶ 2      1 is a duplicate of 2 from the birth of 2 on
    plan      ──▶ 3   longer plan ──▶ 4    3 is contained in 4 from the birth of 4 on
    grep      ──▶ 5                        40 % of 5 are lines of 2, while both are in the prompt

No token is counted twice: an object whose copy, successor or container is in the prompt counts
whole, under the first of these that came; otherwise the share of it that an earlier object holds,
as long as that one does not itself count whole. A plan that the next one contains is `contained`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ctxheap.analysis.study import Study
from ctxheap.heap.account import superseded_spans
from ctxheap.heap.facts.records import Repeat
from ctxheap.heap.records import Call, Heap
from ctxheap.heap.supersession import Reason

Repetition = Literal["duplicate", "superseded", "contained", "lines"]

_REASONS: dict[Reason, Repetition] = {
    "duplicate": "duplicate",
    "superseded": "superseded",
    "plan_replaced": "superseded",
}


@dataclass(frozen=True, slots=True)
class RepeatedState:
    """Hold one object that repeats what another one in the same prompt holds.

    Attributes:
        number: The object that could go.
        by: The object that holds the same, or what took its place.
        kind: `duplicate` (equal texts), `superseded` (the same was asked again), `contained` (the
            later one holds the whole text) or `lines` (it shares lines with an earlier one).
        tag: Tag of the object.
        share: Share of the object that is repeated, 1 but for `lines`.
        since: First call at which both were in the prompt.
        until: Last such call.
        tokens: Tokens repeated at the last such call.
        token_calls: Tokens repeated, summed over these calls.
        rent_usd: Gross money paid for them, None when the price of a call is unknown.
        is_used_later: Whether an output used the object after `since`: whatever the texts say,
            something was still taken from it.
    """

    number: int
    by: int
    kind: Repetition
    tag: str
    share: float
    since: int
    until: int
    tokens: int
    token_calls: int
    rent_usd: float | None
    is_used_later: bool


@dataclass(frozen=True, slots=True)
class RepeatedSum:
    """Hold the sums of one kind of repetition under one tag; `objects` is how many were counted."""

    kind: Repetition
    tag: str
    objects: int
    tokens: int
    token_calls: int
    rent_usd: float | None


class _Span(NamedTuple):
    number: int
    by: int
    kind: Repetition
    share: float
    since: int
    until: int


def repeated_state(study: Study) -> list[RepeatedState]:
    """Return every object that repeats, the most token-calls first (SPEC 5.2)."""
    heap = study.heap
    whole = _whole_spans(heap)
    spans = [*whole.values(), *_line_spans(heap, whole)]
    sums = _Sums(spans)
    for call, rents in zip(heap.calls, study.rents, strict=True):
        sums.charge(call, rents)
    found = [_state(study, sums, place) for place in range(len(spans))]
    paid = [state for state in found if state.token_calls > 0]
    return sorted(paid, key=lambda state: (-state.token_calls, state.number))


def by_kind_and_tag(states: Iterable[RepeatedState]) -> list[RepeatedSum]:
    """Return the sums of each kind and tag, the most token-calls first."""
    groups: dict[tuple[Repetition, str], list[RepeatedState]] = {}
    for state in states:
        groups.setdefault((state.kind, state.tag), []).append(state)
    sums = [_sum(kind, tag, members) for (kind, tag), members in groups.items()]
    return sorted(sums, key=lambda each: (-each.token_calls, each.kind, each.tag))


def _sum(kind: Repetition, tag: str, members: Sequence[RepeatedState]) -> RepeatedSum:
    usd = [state.rent_usd for state in members if state.rent_usd is not None]
    return RepeatedSum(
        kind=kind,
        tag=tag,
        objects=len(members),
        tokens=sum(state.tokens for state in members),
        token_calls=sum(state.token_calls for state in members),
        rent_usd=sum(usd) if len(usd) == len(members) else None,
    )


def _whole_spans(heap: Heap) -> dict[int, _Span]:
    """Return the calls at which an object is redundant as a whole, by its number."""
    ends = _chained_ends(heap)
    spans = [
        _Span(number, span.by, _REASONS[span.reason], 1.0, span.first, span.last)
        for number, found in superseded_spans(heap).items()
        for span in found
        if span.reason in _REASONS
    ]
    spans += [_contained_span(heap, each, ends) for each in heap.facts.repeats if each.kind == "contains"]
    whole: dict[int, _Span] = {}
    for span in sorted(spans, key=lambda each: (each.since, each.kind != "contained")):
        if span.since <= span.until and not heap.objects[span.number].inherent:
            whole.setdefault(span.number, span)
    return whole


def _contained_span(heap: Heap, repeat: Repeat, ends: Mapping[int, int]) -> _Span:
    last = min(heap.objects[repeat.of].last, ends[repeat.number])
    return _Span(repeat.of, repeat.number, "contained", 1.0, repeat.call, last)


def _chained_ends(heap: Heap) -> dict[int, int]:
    """Return the last call at which each object's text is in the prompt, its own or in a later object.

    The container of a container holds the text as well, so the chain is followed from its end.
    """
    ends: dict[int, int] = {}
    for repeat in reversed(heap.facts.repeats):
        for number in (repeat.number, repeat.of):
            ends.setdefault(number, heap.objects[number].last)
        if repeat.kind == "contains" and repeat.call <= ends[repeat.of] + 1:
            ends[repeat.of] = max(ends[repeat.of], ends[repeat.number])
    return ends


def _line_spans(heap: Heap, whole: Mapping[int, _Span]) -> list[_Span]:
    """Return the calls at which a share of an object is redundant, because an earlier one holds it."""
    spans: list[_Span] = []
    for repeat in heap.facts.repeats:
        ends = [heap.objects[number].last for number in (repeat.number, repeat.of)]
        # what counts as a whole from some call on is counted in no other way
        ends += [whole[number].since - 1 for number in (repeat.number, repeat.of) if number in whole]
        if repeat.kind == "lines" and repeat.call <= min(ends):
            spans.append(_Span(repeat.number, repeat.of, "lines", repeat.share, repeat.call, min(ends)))
    return spans


class _Sums:
    """Add up what each span cost, one pass over the calls."""

    def __init__(self, spans: Sequence[_Span]) -> None:
        self.spans = spans
        self.token_calls = [0.0] * len(spans)
        self.usd: list[float | None] = [0.0] * len(spans)
        self.last = [0.0] * len(spans)
        self._starting: dict[int, list[int]] = {}
        for place, span in enumerate(spans):
            self._starting.setdefault(span.since, []).append(place)
        self._open: dict[int, int] = {}

    def charge(self, call: Call, rents: Sequence[float] | None) -> None:
        """Add one call; `rents` is None when its price is unknown."""
        for place in self._starting.get(call.number, ()):
            self._open[self.spans[place].number] = place
        if not self._open:
            return
        for position, number in enumerate(call.numbers):
            if number in self._open:
                self._add(self._open[number], call, position, rents)

    def _add(self, place: int, call: Call, position: int, rents: Sequence[float] | None) -> None:
        span = self.spans[place]
        if call.number > span.until:
            del self._open[span.number]
            return
        usd = self.usd[place]
        self.last[place] = span.share * call.tokens[position]
        self.token_calls[place] += self.last[place]
        self.usd[place] = None if usd is None or rents is None else usd + span.share * rents[position]


def _state(study: Study, sums: _Sums, place: int) -> RepeatedState:
    span = sums.spans[place]
    return RepeatedState(
        number=span.number,
        by=span.by,
        kind=span.kind,
        tag=study.heap.objects[span.number].tag,
        share=span.share,
        since=span.since,
        until=span.until,
        tokens=round(sums.last[place]),
        token_calls=round(sums.token_calls[place]),
        rent_usd=sums.usd[place],
        is_used_later=any(call >= span.since for call in study.account.uses[span.number]),
    )
