"""Tell growth from warm-up, windows, sawteeth and spikes in a series of tokens (FLOOR-lite, SPEC 6).

    tokens │      ╱│   ╱│  ╱        the floors under a sawtooth rise: a leak
           │  ╱│ ╱ │_╱‾ ╵╱‾╵ ← floor
           │ ╱ ╵╱‾‾
           └──┬───────────── calls
            warm-up, left out

SPEC's figures are a first prototype's. Here are 24 runs instead of 16, dependence is looked for below U 0.9
on up to 100 points, and a series from which nothing is freed may leak by its steps alone: chosen on
generated series with seeds below 1000, judged on others (docs/leaks.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from statistics import median
from typing import Literal

from ctxheap.analysis.statistics import hamed_rao, kendall_p, theil_sen

MIN_CALLS = 8
WARM_SHARE = 0.25
MAX_RUNS = 24
ALPHA = 0.05
MIN_SHARE = 0.03
MIN_UNFREED = 0.9
MIN_MOVE_TOKENS = 64
MIN_MOVE_SHARE = 0.02
MIN_RECLAIMS = 4
RECLAIM_SHARE = 0.40
KEPT_UNFREED = 0.99
MIN_STEPS = 2
MIN_STEP_SPREAD = 0.25
MAX_STEP_SHARE = 0.85
LATE = 0.6
MIN_LATE_SHARE = 0.15
MIN_STAYED_SHARE = 0.05

Word = Literal["insufficient", "stable", "immaterial", "leak"]


@dataclass(frozen=True, slots=True)
class Floor:
    """Hold what the test found in one series.

    Attributes:
        word: `leak` grows and matters, `immaterial` grows; by p alone, before other tags are known.
        calls: Length of the series.
        slope: Growth of the floors in tokens per call, b.
        p: One-sided score of the trend; a score, not a calibrated level.
        share: What the growth costs, as a share of all input tokens of the series.
        unfreed: U, the share of the allocated tokens that was not freed after the warm-up.
        inflation: By how much dependence between neighbours inflates the variance of S.
        level: The last floor, in tokens.
        by: What showed it: the floors of equal runs, the troughs after reclaims, or steps that stay.
    """

    word: Word
    calls: int
    slope: float = 0.0
    p: float = 1.0
    share: float = 0.0
    unfreed: float = 1.0
    inflation: float = 1.0
    level: float = 0.0
    by: Literal["runs", "troughs", "steps"] = "runs"


def floor_lite(
    series: Sequence[float],
    inputs: Sequence[float],
    *,
    usage: tuple[float, float] | None = None,
    warm: float = WARM_SHARE,
) -> Floor:
    """Return whether a series grows (SPEC 6, steps 1 to 8), by its runs, by its troughs or by its steps.

    Args:
        series: Tokens of the tag at each call.
        inputs: All input tokens of each call.
        usage: Tokens freed and allocated after the warm-up, where a ledger knows them.
        warm: Share of the calls at the start that is left out.
    """
    count = len(series)
    if count < MIN_CALLS:
        return Floor("insufficient", count, level=min(series, default=0))
    first = math.floor(warm * count)
    rest = series[first:]
    by_runs = _by_runs(series, rest, total=sum(inputs), usage=usage)
    if by_runs.word == "leak":
        return by_runs
    by_troughs = _by_troughs(rest, total=sum(inputs), count=count)
    if by_troughs is not None and by_troughs.word == "leak":
        return by_troughs
    stayed = stayed_share(series, total=sum(inputs))
    if by_runs.unfreed >= KEPT_UNFREED and stayed >= MIN_STAYED_SHARE and has_lasting_steps(rest):
        return replace(by_runs, word="leak", share=stayed, by="steps")
    return by_runs


def word_of(found: Floor, *, score: float) -> Word:
    """Return the word for a floor whose p is replaced by `score`, a q over all tags (SPEC 6, step 8)."""
    if found.calls < MIN_CALLS:
        return "insufficient"
    if found.slope <= 0 or score > ALPHA:
        return "stable"
    return "leak" if found.share >= MIN_SHARE else "immaterial"


def _by_runs(
    series: Sequence[float], rest: Sequence[float], *, total: float, usage: tuple[float, float] | None
) -> Floor:
    times, floors = run_floors(rest)
    slope = theil_sen(times, floors)
    freed, allocated = usage or moves(rest)
    unfreed = 1 - freed / allocated if allocated else 1.0
    inflation = 1.0 if unfreed >= MIN_UNFREED else hamed_rao(rest, slope=slope)
    found = Floor(
        "stable",
        len(series),
        slope,
        kendall_p(floors, inflation=inflation),
        growth_share(series, slope=slope, total=total),
        unfreed,
        inflation,
        floors[-1],
    )
    return replace(found, word=word_of(found, score=found.p))


def _by_troughs(rest: Sequence[float], *, total: float, count: int) -> Floor | None:
    """Return the test of the levels after reclaims, falls of 40 %; None for fewer than four."""
    places = [
        place
        for place, (before, after) in enumerate(pairwise(rest), start=1)
        if before > 0 and before - after >= RECLAIM_SHARE * before
    ]
    if len(places) < MIN_RECLAIMS:
        return None
    troughs = [rest[place] for place in places]
    slope = theil_sen(places, troughs)
    share = slope * count * (count - 1) / 2 / total if total else 0.0
    found = Floor("stable", count, slope, kendall_p(troughs), share, 0.0, 1.0, troughs[-1], "troughs")
    return replace(found, word=word_of(found, score=found.p))


def has_lasting_steps(series: Sequence[float]) -> bool:
    """Return whether a series that frees nothing rises at several places and has not stopped.

    Few steps far apart leave most pairs of runs level, so that no rank test sees them; where
    nothing is freed none is needed, since every step stays. One step, a burst, or growth that ended
    in the first half is no leak.
    """
    steps = _steps(series)
    rises = [(place, step) for place, step in enumerate(steps, start=1) if step > 0]
    if len(rises) < MIN_STEPS:
        return False
    count, whole = len(series), sum(step for _, step in rises)
    first, last = rises[0][0], rises[-1][0]
    late = sum(step for place, step in rises if place >= count / 2)
    return (
        last >= LATE * count
        and last - first >= MIN_STEP_SPREAD * count
        and max(step for _, step in rises) <= MAX_STEP_SHARE * whole
        and late >= MIN_LATE_SHARE * whole
    )


def run_floors(series: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the centres and the minima of at most 24 near-equal runs."""
    runs = min(MAX_RUNS, len(series))
    edges = [len(series) * place // runs for place in range(runs + 1)]
    centres = [(start + stop - 1) / 2 for start, stop in pairwise(edges)]
    return centres, [min(series[start:stop]) for start, stop in pairwise(edges)]


def last_floor(series: Sequence[float], *, warm: float = WARM_SHARE) -> float:
    """Return the minimum of the last run after the warm-up; 0 for an empty series."""
    rest = series[math.floor(warm * len(series)) :]
    return run_floors(rest)[1][-1] if rest else 0.0


def moves(series: Sequence[float]) -> tuple[float, float]:
    """Return the tokens freed and allocated as far as the series alone shows them."""
    steps = _steps(series)
    return -sum(step for step in steps if step < 0), sum(step for step in steps if step > 0)


def _steps(series: Sequence[float]) -> list[float]:
    """Return the change at each call; moves below 64 tokens or 2 % of the median are noise, 0."""
    least = max(MIN_MOVE_TOKENS, MIN_MOVE_SHARE * median(series))
    steps = (after - before for before, after in pairwise(series))
    return [step if abs(step) >= least else 0.0 for step in steps]


def growth_share(series: Sequence[float], *, slope: float, total: float) -> float:
    """Return what growth costs as a share of all input tokens, the lower of two readings.

    The line b·n(n−1)/2 says what the growth costs if it went on evenly from the first call; the
    geometric mean with what did stay, the rise of min(s_k, s_k+1, …) over its least, is the other.
    """
    if slope <= 0 or total <= 0:
        return 0.0
    count = len(series)
    line = slope * count * (count - 1) / 2 / total
    return min(line, math.sqrt(line * stayed_share(series, total=total)))


def stayed_share(series: Sequence[float], *, total: float) -> float:
    """Return the token-calls of the growth that stayed, as a share of all input tokens."""
    least = min(series, default=0)
    # Term by term: a sum of floats less a product may round to below 0.
    grown = sum(tokens - least for tokens in accumulate(reversed(series), min))
    return grown / total if total > 0 else 0.0
