"""Add up a finished heap: token-calls, rent, phases and dead intervals by object and by tag (SPEC 5.4, 5.5).

One pass over every object of every call. Sums over tags are sums of the objects' own integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from ctxheap.heap.phases import Life, effective_uses, life
from ctxheap.heap.records import Call, Heap, HeapObject
from ctxheap.heap.rent import Rates, rent
from ctxheap.heap.subject import answers_of
from ctxheap.heap.supersession import Reason

NEXT = "next"

RatesOf = Callable[[Call], Rates | None]


@dataclass(slots=True)
class Totals:
    """Hold the sums of one object or of one tag.

    Attributes:
        first: σ at birth, in tokens.
        last: σ at the last call, in tokens.
        token_calls: τ = lag + use + drag + void.
        dead_low: Token-calls surely dead; `dead` those without later evidence of use.
        rent_usd: Money paid; meaningless unless every call has a price.
        dead_low_usd: Money paid while surely dead; `dead_usd` without later evidence of use.
    """

    first: int = 0
    last: int = 0
    token_calls: int = 0
    lag: int = 0
    use: int = 0
    drag: int = 0
    void: int = 0
    dead_low: int = 0
    dead: int = 0
    rent_usd: float = 0.0
    dead_low_usd: float = 0.0
    dead_usd: float = 0.0

    def add(self, other: Totals) -> None:
        """Add the sums of an object to those of its tag."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True, slots=True)
class SupersededSpan:
    """Hold the calls from `first` to `last` at which an object is redundant because of object `by`."""

    by: int
    reason: Reason
    first: int
    last: int


@dataclass(slots=True)
class Account:
    """Hold a heap's sums.

    Attributes:
        uses: The calls that used each object, with the rule, by its number.
        lives: The life of each object, by its number.
        objects: The sums of each object, by its number.
        series: Tokens by tag at each call; the values of call k add up to its billed input.
        unpriced: Numbers of the calls whose price is unknown.
    """

    uses: list[dict[int, str]]
    lives: list[Life]
    objects: list[Totals]
    series: list[dict[str, int]] = field(default_factory=list[dict[str, int]])
    unpriced: list[int] = field(default_factory=list[int])

    def by_tag(self, objects: Sequence[HeapObject]) -> dict[str, tuple[int, Totals]]:
        """Return the number of objects and their sums, by tag."""
        tags: dict[str, tuple[int, Totals]] = {}
        for item, totals in zip(objects, self.objects, strict=True):
            count, sums = tags.get(item.tag, (0, Totals()))
            sums.add(totals)
            tags[item.tag] = (count + 1, sums)
        return tags


def account(heap: Heap, rates_of: RatesOf) -> Account:
    """Return the sums of a finished heap; `rates_of` gives a call's prices, None when unknown."""
    return charged(heap, rents_of(heap, rates_of))


def rents_of(heap: Heap, rates_of: RatesOf) -> list[list[float] | None]:
    """Return the rent of each object of each call in USD, in prompt order; None where it is unknown."""
    priced = ((call, rates_of(call)) for call in heap.calls)
    return [
        None if call.usage is None or rates is None else rent(call.tokens, call.usage, rates)
        for call, rates in priced
    ]


def charged(heap: Heap, rents: Sequence[Sequence[float] | None]) -> Account:
    """Return the sums of a finished heap; `rents` as `rents_of` returns them."""
    uses = uses_of(heap)
    lives = lives_of(heap, uses)
    sums = _Sums(lives)
    tags = [item.tag for item in heap.objects]
    result = Account(uses, lives, [])
    for call, paid in zip(heap.calls, rents, strict=True):
        sums.charge(call, paid if paid is not None else repeat(0.0, len(call.tokens)))
        result.series.append(_by_tag(call, tags))
    result.unpriced.extend(call.number for call, paid in zip(heap.calls, rents, strict=True) if paid is None)
    result.objects.extend(sums.totals())
    return result


def _by_tag(call: Call, tags: Sequence[str]) -> dict[str, int]:
    of_parts = [tags[number] for number in call.numbers]
    series = dict.fromkeys(of_parts, 0)
    for tag, tokens in zip(of_parts, call.tokens, strict=True):
        series[tag] += tokens
    return series


class _Sums:
    """Add up in plain lists by object number: the inner loop runs once an object and call."""

    def __init__(self, lives: Sequence[Life]) -> None:
        count = len(lives)
        self._lives = lives
        never = max((item.last for item in lives), default=0) + 1
        self._first_use = [0 if item.inherent else item.first_use or 0 for item in lives]
        self._dead_from = [item.high or never for item in lives]
        self._sure_from = [item.low or never for item in lives]
        self._sure_until = [item.sure[0][1] if item.sure else never for item in lives]
        self._paid, self._lag, self._dead, self._dead_low = ([0] * count for _ in range(4))
        self._rent, self._dead_usd, self._dead_low_usd = ([0.0] * count for _ in range(3))
        self._first, self._last = [0] * count, [0] * count

    def charge(self, call: Call, rents: Iterable[float]) -> None:
        """Add one call's tokens and money to the sums of the objects in its prompt."""
        k = call.number
        paid, money, last = self._paid, self._rent, self._last
        lag, dead, dead_usd = self._lag, self._dead, self._dead_usd
        dead_from, first_use = self._dead_from, self._first_use
        sure_from, sure_until = self._sure_from, self._sure_until
        for number, tokens, usd in zip(call.numbers, call.tokens, rents, strict=True):
            paid[number] += tokens
            money[number] += usd
            if k >= dead_from[number]:
                dead[number] += tokens
                dead_usd[number] += usd
                if sure_from[number] <= k and (k <= sure_until[number] or self._is_sure(number, k)):
                    self._dead_low[number] += tokens
                    self._dead_low_usd[number] += usd
            elif k < first_use[number]:
                lag[number] += tokens
            last[number] = tokens
        for number in call.born:
            self._first[number] = last[number]

    def _is_sure(self, number: int, call: int) -> bool:
        """Return whether an object that was surely dead once, and revived, is so again."""
        return self._lives[number].is_surely_dead_at(call)

    def totals(self) -> Iterator[Totals]:
        """Yield the sums of each object, by number."""
        for number, item in enumerate(self._lives):
            paid, lag, dead = self._paid[number], self._lag[number], self._dead[number]
            is_void = item.first_use is None and not item.inherent
            yield Totals(
                first=self._first[number],
                last=self._last[number],
                token_calls=paid,
                lag=lag,
                use=paid - dead - lag,
                drag=0 if is_void else dead,
                void=dead if is_void else 0,
                dead_low=self._dead_low[number],
                dead=dead,
                rent_usd=self._rent[number],
                dead_low_usd=self._dead_low_usd[number],
                dead_usd=self._dead_usd[number],
            )


def uses_of(heap: Heap) -> list[dict[int, str]]:
    """Return the calls that used each object with the rule that says so, by the object's number.

    A tool call shares its result's uses. The model's own text, and a tool call without a result, is
    used by the call that first got it back: rule `next` (SPEC 5.4).
    """
    found: list[dict[int, str]] = [{} for _ in heap.objects]
    for use in heap.uses:
        if use.grade == "used":
            found[use.number][use.call] = use.rule
    answers = answers_of(heap.objects)
    effective = effective_uses(heap.objects, [list(calls) for calls in found])
    for request, places in answers.items():
        shared = [found[place] for place in (*places, request)]
        found[request] = {call: rule for uses in shared for call, rule in uses.items()}
    return [
        _rules(item, calls, known) for item, calls, known in zip(heap.objects, effective, found, strict=True)
    ]


def _rules(item: HeapObject, calls: Iterable[int], known: Mapping[int, str]) -> dict[int, str]:
    """Return the uses within an object's life: a result may outlive its call, and be used later."""
    return {call: known.get(call, NEXT) for call in calls if item.birth <= call <= item.last}


def lives_of(heap: Heap, uses: Sequence[Mapping[int, str]]) -> list[Life]:
    """Return the life of every object from its uses and from what superseded it."""
    sure = superseded_spans(heap)
    return [
        life(
            item.birth,
            item.last,
            list(calls),
            inherent=item.inherent,
            sure=[(found.first, found.last) for found in sure.get(item.number, ())],
        )
        for item, calls in zip(heap.objects, uses, strict=True)
    ]


def superseded_spans(heap: Heap) -> dict[int, list[SupersededSpan]]:
    """Return when each object was surely dead, uses left aside: once, or again after each revival."""
    ends: dict[int, list[int]] = {}
    for number, call in heap.revived:
        ends.setdefault(number, []).append(call - 1)
    spans: dict[int, list[SupersededSpan]] = {}
    for event in heap.superseded:
        found = spans.setdefault(event.number, [])
        if found and found[-1].last >= event.call:
            continue
        last = next((end for end in ends.get(event.number, ()) if end >= event.call), None)
        end = heap.objects[event.number].last if last is None else last
        found.append(SupersededSpan(event.by, event.reason, event.call, end))
    return spans
