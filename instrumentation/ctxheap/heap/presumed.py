"""Presume objects dead in a running session, from how long such objects lie idle before a use (SPEC 5.5).

grade A   superseded, invalidated or duplicated
grade B   idle for θ(tag): the least time after which a use within the H calls to come has a
          probability of 10 % at most, in the fleet's reuse gaps with the open ones censored
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from ctxheap.heap.survival import Survival, kaplan_meier

Grade = Literal["A", "B"]

MIN_KNOWN_GAPS = 200
REUSE_PROBABILITY = 0.10


@dataclass(frozen=True, slots=True)
class Gaps:
    """Hold the idle times of one object, in calls: those that a use ended, and the open one."""

    known: tuple[int, ...]
    open: int


def gaps_of(birth: int, last: int, uses: Sequence[int]) -> Gaps:
    """Return an object's idle times; being used by the call that brought it is no gap."""
    ends = sorted({call for call in uses if birth <= call <= last} | {birth})
    known = tuple(later - earlier for earlier, later in pairwise(ends))
    return Gaps(known, last - ends[-1])


@dataclass(slots=True)
class ReuseGaps:
    """Collect the reuse gaps of a fleet by tag, and answer with θ."""

    _known: defaultdict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    _open: defaultdict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    _survivals: dict[str, Survival] = field(default_factory=dict[str, Survival])

    def add(self, tag: str, gaps: Gaps) -> None:
        """Take in the gaps of one object with this tag."""
        self._known[tag].update(gaps.known)
        self._open[tag][gaps.open] += 1
        self._survivals.pop(tag, None)

    def theta(self, tag: str, *, horizon: float) -> int | None:
        """Return θ(tag) in calls; None while fewer than 200 gaps are known.

        `horizon` is H, the expected remaining calls of the session.
        """
        if self._known[tag].total() < MIN_KNOWN_GAPS:
            return None
        if tag not in self._survivals:
            self._survivals[tag] = kaplan_meier(self._known[tag].elements(), self._open[tag].elements())
        return least_idle(self._survivals[tag], horizon=horizon)


def least_idle(survival: Survival, *, horizon: float) -> int:
    """Return the least idle time after which a use within `horizon` calls is improbable, in calls."""
    ahead = max(1, math.ceil(horizon))
    for idle in range(1, survival.longest + 1):
        lasting = survival.at(idle)
        if survival.at(idle + ahead) >= (1 - REUSE_PROBABILITY) * lasting:
            return idle
    return max(1, survival.longest)


def presumed_grade(
    call: int, *, birth: int, last_use: int | None, is_surely_dead: bool, theta: int | None
) -> Grade | None:
    """Return by which grade an object of a running session is presumed dead at a call, if it is."""
    if is_surely_dead:
        return "A"
    idle = call - max(birth, last_use or birth)
    return "B" if theta is not None and idle >= theta else None


def idle_bound(theta: int | None, *, calls: int) -> int:
    """Return how long an object must lie idle to count as dead in a leak test, in calls.

    Without θ half the session: else all that the last calls happened not to touch looks dead.
    """
    return max(1, calls // 2) if theta is None else theta
