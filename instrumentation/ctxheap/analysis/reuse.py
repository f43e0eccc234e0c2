"""Estimate how likely an object that lies idle is used again, and what fetching it again costs (SPEC 7).

    gaps between uses, the open ones censored ──▶ Kaplan–Meier ──▶ P(used within H calls | idle ≥ t)

A session is a small sample: the estimate is never below that of the rule of succession for as many
objects as were watched that long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ctxheap.analysis.economics import refetch_cost
from ctxheap.analysis.factors import Factors
from ctxheap.analysis.freeing import Freed
from ctxheap.analysis.study import Study
from ctxheap.heap.presumed import gaps_of
from ctxheap.heap.survival import Survival, kaplan_meier

MIN_TAG_GAPS = 20
"""Known gaps from which on a tag speaks for itself rather than through all tags together."""
ARGUMENT_TOKENS = 40
"""a where the call that fetched an object is not known, in output tokens."""


@dataclass(slots=True)
class _Watched:
    known: Counter[int] = field(default_factory=Counter[int])
    open: Counter[int] = field(default_factory=Counter[int])
    survival: Survival | None = None

    def add(self, known: Iterable[int], unfinished: int) -> None:
        self.known.update(known)
        self.open[unfinished] += 1

    def idle(self, calls: int) -> int:
        """Return how many gaps lasted at least that long."""
        return sum(count for gap, count in (self.known + self.open).items() if gap >= calls)

    def probability(self, idle: int, horizon: int) -> float:
        """Return P(used within `horizon` calls | idle for `idle` calls)."""
        if self.survival is None:
            self.survival = kaplan_meier(self.known.elements(), self.open.elements())
        reached = self.survival.at(idle - 1)
        return 1 - self.survival.at(idle - 1 + horizon) / reached if reached else 1.0


class Reuse:
    """Answer for one session from the gaps between the uses of its objects."""

    def __init__(self, study: Study) -> None:
        self._tags: dict[str, _Watched] = {}
        self._all = _Watched()
        for item, uses in zip(study.heap.objects, study.account.uses, strict=True):
            if not item.inherent:
                gaps = gaps_of(item.birth, item.last, list(uses))
                for watched in (self._tags.setdefault(item.tag, _Watched()), self._all):
                    watched.add(gaps.known, gaps.open)

    def longest(self, tag: str) -> int:
        """Return the longest time after which an object of a tag was used again, in calls."""
        watched = self._tags.get(tag)
        return max(watched.known, default=0) if watched else 0

    def watched(self, tag: str, *, idle: int) -> int:
        """Return how many objects of a tag were seen idle for that long."""
        return self._tags[tag].idle(idle) if tag in self._tags else 0

    def probability(self, tag: str, *, idle: int, horizon: int) -> float:
        """Return P(used again within `horizon` calls | idle for `idle` calls)."""
        own = self._tags.get(tag, self._all)
        source = own if own.known.total() >= MIN_TAG_GAPS else self._all
        least = 1 / (own.idle(idle) + 2)
        return max(source.probability(idle, max(1, horizon)), least)


def refetch_tokens(study: Study, freed: Freed, factors: Factors) -> float:
    """Return F, what fetching a freed object again would cost, in token equivalents.

    It is taken to come at once, so that it stays for as long as the object stayed: the dearest case.
    """
    answers = study.heap.objects[freed.number].answers
    arguments = study.account.objects[answers].last if answers is not None else ARGUMENT_TOKENS
    return refetch_cost(
        factors, context=freed.context, arguments=arguments, tokens=freed.tokens, calls=freed.calls
    )
