"""Estimate how long something lasts when many of those watched have not ended yet (Kaplan–Meier).

    ended 2, 3, 3, 7    not yet at 4, 9        S(3) = 5/6 · 3/5 = 1/2      S(7) = 1/2 · 1/2 = 1/4

Leaving the unfinished out makes everything look short: it called 27 of 60 healthy sessions leaky.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Survival:
    """Hold S(t) = P(T > t) as steps: `values[i]` from `times[i]` on, 1 before; times in calls.

    `longest` is the longest time watched, ended or not; beyond it nothing is known.
    """

    times: tuple[int, ...]
    values: tuple[float, ...]
    longest: int

    def at(self, time: int) -> float:
        """Return the share that lasts longer than `time` calls."""
        index = bisect_right(self.times, time)
        return self.values[index - 1] if index else 1.0

    def between(self, start: int, stop: int) -> float:
        """Return the sum of S(t) for t from `start` up to and without `stop`."""
        edges = [start, *(time for time in self.times if start < time < stop), max(start, stop)]
        return sum((right - left) * self.at(left) for left, right in pairwise(edges))


def kaplan_meier(ended: Iterable[int], unfinished: Iterable[int]) -> Survival:
    """Return the product-limit estimate; an unfinished time t says no more than T > t."""
    ends, cuts = Counter(ended), Counter(unfinished)
    watched = ends.total() + cuts.total()
    times: list[int] = []
    values: list[float] = []
    value = 1.0
    for time in sorted(ends.keys() | cuts.keys()):
        if ends[time]:
            value *= 1 - ends[time] / watched
            times.append(time)
            values.append(value)
        watched -= ends[time] + cuts[time]
    return Survival(tuple(times), tuple(values), max([*ends, *cuts], default=0))


def remaining_calls(finished: Sequence[int], running: Sequence[int], *, call: int) -> float:
    """Return how many calls are to be expected after call `call` of a running session.

    The mean residual life over an agent's sessions, up to the longest one seen: 0 for one that is as
    long as that. A session that outlived all of them is expected to last as long again.

    Args:
        finished: Lengths of the agent's finished sessions, in calls.
        running: Lengths so far of those that still run.
        call: The call the session is at, counted from 1.
    """
    survival = kaplan_meier(finished, running)
    reached = survival.at(call - 1)
    if reached == 0 or call > survival.longest or not finished:
        return float(call)
    return survival.between(call, survival.longest) / reached
