"""Play a recorded session again with objects freed on the way, and say what that saves (SPEC 7).

    rules say from which call an object may go ──▶ the economic trigger picks the calls and the cut
    ──▶ gross: what is not billed any more, rebill: what the cut makes the cache store again

Assumed: each call reads what it has in common with the prompt before, unless the cache was cold; the
session goes on as recorded. Re-billing is shared among what leaves at the same cut, by size, so that
the figures of all objects add up to what the whole plan saves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from ctxheap.analysis.breaks import contents_length, passages, shared_parts
from ctxheap.analysis.economics import is_due
from ctxheap.analysis.factors import Factors, factors_of, writes_for_an_hour
from ctxheap.analysis.study import Study
from ctxheap.heap.records import Call

KEEP_CALLS = 3
"""Objects of the newest calls stay (SPEC 8)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Say that an object may be freed from a call on, and how many tokens stay in its place."""

    number: int
    call: int
    left: int


@dataclass(slots=True)
class Freed:
    """Hold what became of one candidate; amounts in token equivalents and in USD.

    Attributes:
        call: First call whose prompt goes without it.
        tokens: Tokens that left the prompt there, what takes its place taken off.
        token_calls: The same, summed over the calls to the object's end.
        calls: How many calls went without it.
        context: Tokens of the prompt that it left.
        gross: What is no longer billed.
        rebill: Its share of what the cut made the cache store again.
        gross_usd: `gross` in USD; meaningless unless the price of every call is known.
    """

    number: int
    call: int
    tokens: int
    context: int
    token_calls: int = 0
    calls: int = 0
    gross: float = 0.0
    rebill: float = 0.0
    gross_usd: float = 0.0
    rebill_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Course:
    """Hold how the calls of a session were served: what every plan for it is measured against.

    Attributes:
        shared: How many of the first parts each call read from the cache.
        factors: Price factors of each call.
    """

    shared: tuple[int, ...]
    factors: tuple[Factors, ...]


def course_of(study: Study) -> Course:
    """Return how a session was served, from its prompts, times and models.

    Where a provider that bills writes shows neither writes nor reads, caching was off: everything
    cost the plain price. Where reads are seen and writes never, storing cost nothing extra.
    """
    heap = study.heap
    usages = [call.usage for call in heap.calls if call.usage is not None]
    reads, writes = any(usage.cache_read for usage in usages), any(usage.cache_write for usage in usages)
    hour = writes_for_an_hour(usages)
    factors = [
        _seen(factors_of(rates, call.model, hour=hour), reads=reads, writes=writes, has_usage=bool(usages))
        for call, rates in zip(heap.calls, study.rates, strict=True)
    ]
    shared = [0] if heap.calls else []
    for passage in passages(heap):
        is_cold = passage.cause in ("ttl", "model")
        shared.append(0 if is_cold else shared_parts(heap, passage.before, passage.call))
    return Course(tuple(shared), tuple(factors))


def _seen(factors: Factors, *, reads: bool, writes: bool, has_usage: bool) -> Factors:
    """Return the factors as the session's bills show them to be at work."""
    if not has_usage or writes or factors.write <= 1:
        return factors
    return Factors(factors.price, factors.read if reads else 1.0, 1.0, factors.output)


def play(study: Study, course: Course, candidates: Sequence[Candidate]) -> dict[int, Freed]:
    """Return what is freed, by object number, when candidates go as the economic trigger says."""
    player = _Player(study, course, candidates)
    for call in study.heap.calls:
        player.step(call)
    return player.freed


@dataclass(slots=True)
class _Player:
    """Go through the calls with the set of what is gone."""

    study: Study
    course: Course
    candidates: Sequence[Candidate]
    freed: dict[int, Freed] = field(default_factory=dict[int, Freed])
    _left: dict[int, int] = field(default_factory=dict[int, int])
    _paid: dict[int, float] = field(default_factory=dict[int, float])
    _waiting: dict[int, list[int]] = field(default_factory=dict[int, "list[int]"])
    _ready: set[int] = field(default_factory=set[int])
    _gone: list[int] = field(default_factory=list[int])
    _places: dict[int, int] = field(default_factory=dict[int, int])
    _count: int = 0

    def __post_init__(self) -> None:
        for each in self.candidates:
            item = self.study.heap.objects[each.number]
            start = max(each.call, item.birth + KEEP_CALLS)
            if start <= item.last:
                self._left[each.number] = each.left
                self._waiting.setdefault(start, []).append(each.number)

    def step(self, call: Call) -> None:
        """Free what is due before a call, then bill the call."""
        self._ready.update(self._waiting.get(call.number, ()))
        self._locate(call)
        ready = [number for number in self._ready if number in self._places]
        if not self._gone and not ready:
            return
        shared, factors = self.course.shared[call.number - 1], self.course.factors[call.number - 1]
        sizes = list(call.tokens)
        for number in self._gone:
            sizes[self._places[number]] = self._rest(number, sizes)
        if ready:
            self._collect(call, ready, sizes, shared=shared, factors=factors)
        for number in self._gone:
            place = self._places[number]
            self._save(number, call.tokens[place] - sizes[place], place < shared, factors)

    def _collect(
        self, call: Call, ready: list[int], sizes: list[int], *, shared: int, factors: Factors
    ) -> None:
        """Free every ready object at or after the cut that is most overdue."""
        ready.sort(key=self._places.__getitem__, reverse=True)
        ends = [0, *accumulate(sizes)]
        gained = paid = coming = 0.0
        best, most = 0, 0.0
        for count, number in enumerate(ready, 1):
            place = self._places[number]
            saving = sizes[place] - self._rest(number, sizes)
            if place >= shared:
                best = count  # not in the cache: what is freed here costs nothing
                continue
            paid += self._paid.get(number, 0.0)
            coming += factors.read * saving
            gained += saving
            after = ends[shared] - ends[place] - gained
            cost = (factors.write - factors.read) * after
            overdue = paid + coming - cost
            if is_due(paid, coming, cost=cost) and overdue > most:
                best, most = count, overdue
        self._free(call, ready[:best], sizes, shared=shared, factors=factors)
        for number in ready[best:]:
            saving = sizes[self._places[number]] - self._rest(number, sizes)
            self._paid[number] = self._paid.get(number, 0.0) + factors.read * saving

    def _free(
        self, call: Call, numbers: Sequence[int], sizes: list[int], *, shared: int, factors: Factors
    ) -> None:
        """Take objects out of the prompt, and share among them what the cut bills anew."""
        context = sum(sizes)
        cached: dict[int, int] = {}
        for number in numbers:
            place = self._places[number]
            rest = self._rest(number, sizes)
            tokens = sizes[place] - rest
            sizes[place] = rest
            self._ready.discard(number)
            self._gone.append(number)
            self.freed[number] = Freed(number, call.number, tokens, context)
            if place < shared:
                cached[number] = tokens
        if not cached:
            return
        cut = min(self._places[number] for number in cached)
        rebill = (factors.write - factors.read) * sum(sizes[cut:shared])
        whole = sum(cached.values())
        for number, tokens in cached.items():
            share = rebill * (tokens / whole if whole else 1 / len(cached))
            self.freed[number].rebill += share
            self.freed[number].rebill_usd += factors.usd(share) or 0.0

    def _save(self, number: int, tokens: int, is_cached: bool, factors: Factors) -> None:
        found = self.freed[number]
        saved = (factors.read if is_cached else factors.write) * tokens
        found.calls += 1
        found.token_calls += tokens
        found.gross += saved
        found.gross_usd += factors.usd(saved) or 0.0

    def _rest(self, number: int, sizes: Sequence[int]) -> int:
        """Return what stays of an object, never more than it was."""
        return min(self._left[number], sizes[self._places[number]])

    def _locate(self, call: Call) -> None:
        """Find the places of the candidates in a prompt; in one that only grew, only those of what is new."""
        start = self._count if call.extends and call.number > 1 else 0
        if not start:
            self._places.clear()
        for place, number in enumerate(call.numbers[start:], start):
            if number in self._left:
                self._places[number] = place
        if not start:
            objects = self.study.heap.objects
            self._ready = {number for number in self._ready if objects[number].last >= call.number}
            self._gone = [number for number in self.freed if number in self._places]
        self._count = contents_length(self.study.heap, call)


def totals(freed: Mapping[int, Freed], numbers: Sequence[int]) -> Freed:
    """Return the sums over some of the freed objects."""
    found = Freed(-1, 0, 0, 0)
    for number in numbers:
        each = freed[number]
        found.tokens += each.tokens
        found.token_calls += each.token_calls
        found.calls += each.calls
        found.gross += each.gross
        found.rebill += each.rebill
        found.gross_usd += each.gross_usd
        found.rebill_usd += each.rebill_usd
    return found
