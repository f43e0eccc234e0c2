"""Estimate and test slopes, shares and shifts with rank statistics; plain Python, no numpy.

slope and trend    Theil (1950), Sen (1968); Kendall (1938), Mann (1945)
dependence         Hamed and Rao (1998): trend tests of autocorrelated series
many tests         Benjamini and Hochberg (1995)
shares             binomial tail, Wilson (1927)
two samples        Wilcoxon (1945) rank sum, Hodges and Lehmann (1963) shift
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from operator import mul
from statistics import NormalDist, median

MAX_EXACT = 10
MIN_INFLATION, MAX_INFLATION = 1.0, 8.0
MAX_RANK_POINTS = 100
ONE_SIDED_Z = 1.645
"""Quantile of the standard normal at 0.95."""


@dataclass(frozen=True, slots=True)
class Shift:
    """Hold a Hodges–Lehmann shift with its interval, in the unit of the samples."""

    estimate: float
    low: float
    high: float


def theil_sen(times: Sequence[float], values: Sequence[float]) -> float:
    """Return the median slope over all pairs of points; 0 for fewer than two."""
    slopes = [(values[j] - values[i]) / (times[j] - times[i]) for i, j in combinations(range(len(values)), 2)]
    return median(slopes) if slopes else 0.0


def kendall_sum(values: Sequence[float]) -> int:
    """Return S: pairs that rise less pairs that fall."""
    return sum((later > earlier) - (later < earlier) for earlier, later in combinations(values, 2))


def kendall_variance(values: Sequence[float]) -> float:
    """Return the variance of S under no trend, corrected for ties."""
    total = _v(len(values))
    return (total - sum(_v(count) for count in Counter(values).values() if count > 1)) / 18


def _v(count: int) -> int:
    return count * (count - 1) * (2 * count + 5)


def kendall_p(values: Sequence[float], *, inflation: float = 1.0) -> float:
    """Return the one-sided p of a rising trend (SPEC 6, step 6).

    Exact for at most ten untied values of independent noise, else the normal approximation with
    continuity correction and a variance `inflation` times as large.
    """
    total = kendall_sum(values)
    if len(values) <= MAX_EXACT and inflation == 1 and len(set(values)) == len(values):
        return kendall_exact(len(values), total)
    variance = kendall_variance(values) * inflation
    if variance <= 0:
        return 1.0
    sign = (total > 0) - (total < 0)
    return 0.5 * math.erfc((total - sign) / math.sqrt(2 * variance))


@cache
def kendall_exact(count: int, total: int) -> float:
    """Return P(S ≥ total) over all orders of `count` untied values."""
    inversions = [1]
    for size in range(2, count + 1):
        longer = [0] * (len(inversions) + size - 1)
        for place, ways in enumerate(inversions):
            for moved in range(size):
                longer[place + moved] += ways
        inversions = longer
    most = (count * (count - 1) // 2 - total) // 2
    return sum(inversions[: most + 1]) / math.factorial(count) if most >= 0 else 0.0


def ranks(values: Sequence[float]) -> list[float]:
    """Return the ranks from 1 on; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        stop = start
        while stop < len(order) and values[order[stop]] == values[order[start]]:
            stop += 1
        for place in order[start:stop]:
            found[place] = (start + stop + 1) / 2
        start = stop
    return found


def hamed_rao(values: Sequence[float], *, slope: float) -> float:
    """Return by how much dependence between neighbours inflates the variance of S, 1 to 8.

    On the ranks of the series less its `slope` (per point), thinned to 100 points at most, over the
    leading run of lags whose autocorrelation is significant (SPEC 6, step 5).
    """
    step = max(1, math.ceil(len(values) / MAX_RANK_POINTS))
    found = ranks([values[place] - slope * place for place in range(0, len(values), step)])
    count = len(found)
    middle = (count + 1) / 2
    centred = [rank - middle for rank in found]
    spread = sum(rank * rank for rank in centred)
    if count < 4 or spread == 0:
        return MIN_INFLATION
    bound = ONE_SIDED_Z / math.sqrt(count)
    weighted = 0.0
    for lag in range(1, count - 2):
        rho = sum(map(mul, centred, centred[lag:])) / spread
        if rho < bound:
            break
        weighted += (count - lag) * (count - lag - 1) * (count - lag - 2) * rho
    factor = 1 + 2 * weighted / (count * (count - 1) * (count - 2))
    return min(MAX_INFLATION, max(MIN_INFLATION, factor))


def benjamini_hochberg(ps: Sequence[float]) -> list[float]:
    """Return the q of every p: the false discovery rate at which it would just be found."""
    found = [0.0] * len(ps)
    least = 1.0
    order = sorted(range(len(ps)), key=ps.__getitem__, reverse=True)
    for place, index in enumerate(order):
        least = min(least, ps[index] * (len(ps) / (len(ps) - place)))
        found[index] = least
    return found


def binomial_tail(hits: int, trials: int, *, chance: float) -> float:
    """Return P(Bin(trials, chance) ≥ hits)."""
    if hits <= 0:
        return 1.0
    misses = 1 - chance
    return sum(math.comb(trials, k) * chance**k * misses ** (trials - k) for k in range(hits, trials + 1))


def wilson(hits: int, trials: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Wilson interval of a share; (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, room = hits / trials, z * z / trials
    centre = share + room / 2
    half = z * math.sqrt(share * (1 - share) / trials + room / (4 * trials))
    return max(0.0, (centre - half) / (1 + room)), min(1.0, (centre + half) / (1 + room))


def rank_sum_p(old: Sequence[float], new: Sequence[float]) -> float:
    """Return the two-sided p of Wilcoxon's rank-sum test, normal with ties and continuity corrected."""
    m, n = len(old), len(new)
    if not m or not n:
        return 1.0
    found = ranks([*old, *new])
    excess = sum(found[m:]) - n * (m + n + 1) / 2
    ties = sum(count**3 - count for count in Counter(found).values())
    total = m + n
    variance = m * n / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    return math.erfc(max(0.0, abs(excess) - 0.5) / math.sqrt(2 * variance))


def hodges_lehmann(old: Sequence[float], new: Sequence[float], *, confidence: float = 0.95) -> Shift:
    """Return the median of all differences new − old, with the interval of the rank-sum test.

    Raises:
        ValueError: One of the samples is empty.
    """
    if not old or not new:
        raise ValueError("a shift needs two samples, and one of them is empty")
    differences = sorted(later - earlier for earlier in old for later in new)
    m, n = len(old), len(new)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    cut = max(0, math.floor(m * n / 2 - z * math.sqrt(m * n * (m + n + 1) / 12)) - 1)
    return Shift(median(differences), differences[cut], differences[-1 - cut])
