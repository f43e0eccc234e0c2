"""Make the series that leak tests look at: live and dead tokens by tag, cut at compactions (SPEC 5.5, 6).

tokens │        ╱‾‾│      ╱‾‾   live        │ compaction: a new segment
       │   ╱‾‾‾╱ __│  ╱‾‾╱ __
       │  ╱ __╱‾‾  │ ╱ _╱‾‾     dead: no use from here on, and idle for long enough to say so
       └───────────┴───────── calls
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from ctxheap.analysis.study import Study
from ctxheap.heap.phases import Life, Span
from ctxheap.heap.presumed import Gaps, gaps_of, least_idle
from ctxheap.heap.survival import kaplan_meier

MIN_IDLE_CALLS = 3
MIN_OWN_GAPS = 80
ALL_TAGS = ""
SEARCHES = ("glob", "grep", "search", "find", "list", "tree")

ThetaOf = Callable[[str], int | None]
"""Return θ of a tag in calls; None while too few reuse gaps are known."""


@dataclass(frozen=True, slots=True)
class Death:
    """Hold one dead object: when it fell dead, until when it stayed, its size meanwhile.

    Attributes:
        number: The object.
        call: First call at which it was dead.
        last: Last call whose prompt holds it.
        tokens: Its mean size while dead.
        is_sure: Whether something superseded it, so that no later use is possible.
    """

    number: int
    call: int
    last: int
    tokens: float
    is_sure: bool

    @property
    def token_calls(self) -> float:
        """Return what it cost while it was dead, in token-calls."""
        return self.tokens * (self.last - self.call + 1)


@dataclass(slots=True)
class Series:
    """Hold one series of a tag; `tokens[i]` belongs to call i + 1.

    Attributes:
        freed: Tokens that left at each call.
        allocated: Tokens that were added at each call.
        additions: How many calls added to it.
    """

    tag: str
    tokens: list[float]
    freed: list[float]
    allocated: list[float]
    deaths: list[Death] = field(default_factory=list[Death])

    @property
    def additions(self) -> int:
        """Return at how many separate calls tokens were added."""
        return len({death.call for death in self.deaths})


def dead_series(study: Study, theta: ThetaOf | None = None) -> dict[str, Series]:
    """Return the dead tokens of every tag at each call, after the idle rule of SPEC 5.5.

    An object whose death nothing but silence shows counts only when it stayed silent to its end for
    at least the idle bound of its tag, then from its last use on: what the last calls happened not
    to touch is not dead.
    """
    bounds = idle_bounds(study, theta)
    reported = read_for_report(study)
    calls = len(study.heap.calls)
    found: dict[str, list[Death]] = {}
    for item, life, totals in zip(
        study.heap.objects, study.account.lives, study.account.objects, strict=True
    ):
        if life.high is None or (item.number in reported and life.low is None):
            continue
        tokens = totals.dead / (life.last - life.high + 1)
        for first, last in _stretches(life, life.high, bounds(item.tag)):
            death = Death(item.number, first, last, tokens, life.low is not None)
            found.setdefault(item.tag, []).append(death)
    return {tag: _series(tag, deaths, calls=calls) for tag, deaths in found.items()}


def read_for_report(study: Study) -> frozenset[int]:
    """Return what an exploring sub-agent read: its report to the session above uses it (SPEC 5.2).

    An explorer changes nothing. What it listed or searched only led it to what it read.
    """
    steps = study.heap.facts.steps
    if study.heap.parent is None or any(step.writes for step in steps):
        return frozenset()
    return frozenset(
        step.result for step in steps if step.result is not None and step.reads and not _is_search(step.tool)
    )


def _is_search(tool: str) -> bool:
    return any(word in tool.lower() for word in SEARCHES)


def _stretches(life: Life, high: int, bound: float) -> Sequence[Span]:
    """Return the first and last calls of the stretches in which an object is taken for dead."""
    idle = life.last - (life.last_use or life.birth)
    if idle >= bound:
        return [(high, life.last)]
    return life.sure


def _series(tag: str, deaths: list[Death], *, calls: int) -> Series:
    allocated, freed = [0.0] * (calls + 1), [0.0] * (calls + 1)
    for death in deaths:
        allocated[death.call - 1] += death.tokens
        freed[death.last] += death.tokens
    tokens = list(accumulate(more - less for more, less in zip(allocated, freed, strict=True)))
    return Series(tag, tokens[:calls], freed[:calls], allocated[:calls], deaths)


def idle_bounds(study: Study, theta: ThetaOf | None = None) -> Callable[[str], float]:
    """Return how long an object of a tag must lie idle to count as dead, in calls.

    θ of the fleet where it is known. In a finished session else θ of the session's own gaps, over all
    tags while those of one are too few, else three calls: half the session, which SPEC 5.5 named
    first, hides 26 of 64 labelled leaks. In a running session nothing else counts but what is surely dead.
    """
    calls = len(study.heap.calls)
    own = None if study.is_running else own_theta(study)

    def bound(tag: str) -> float:
        known = theta(tag) if theta else None
        if known is not None or study.is_running:
            return math.inf if known is None else known
        return MIN_IDLE_CALLS if own is None else min(own(tag), max(1, calls // 2))

    return bound


def own_theta(study: Study) -> Callable[[str], int] | None:
    """Return θ by tag from the session's own reuse gaps, over all tags while those of one are few.

    Returns None where all tags together have fewer than 80 known gaps.
    """
    gaps: dict[str, list[Gaps]] = {ALL_TAGS: []}
    for item, uses in zip(study.heap.objects, study.account.uses, strict=True):
        if not item.inherent:
            found = gaps_of(item.birth, item.last, list(uses))
            gaps[ALL_TAGS].append(found)
            gaps.setdefault(item.tag, []).append(found)
    horizon = len(study.heap.calls) / 2
    thetas = {
        tag: least_idle(
            kaplan_meier((known for one in found for known in one.known), (one.open for one in found)),
            horizon=horizon,
        )
        for tag, found in gaps.items()
        if sum(len(one.known) for one in found) >= MIN_OWN_GAPS
    }
    return None if ALL_TAGS not in thetas else lambda tag: thetas.get(tag, thetas[ALL_TAGS])


def segments(study: Study) -> list[range]:
    """Return the stretches between compactions, as places of calls."""
    starts = [place for place, call in enumerate(study.heap.calls) if place and call.compaction]
    edges = [0, *starts, len(study.heap.calls)]
    return [range(start, stop) for start, stop in pairwise(edges)]


def live_series(study: Study) -> dict[str, Sequence[int]]:
    """Return the tokens of every tag at each call."""
    tags: Iterable[str] = dict.fromkeys(tag for tokens in study.account.series for tag in tokens)
    return {tag: [tokens.get(tag, 0) for tokens in study.account.series] for tag in tags}
