"""Decide whether a reclaim rule may be recommended for a fleet of sessions (SPEC 9)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean, stdev

from ctxheap.analysis.regret import THRASH_LIMIT

LEAST_SESSIONS = 5
"""Sessions below which nothing is said of a fleet, as for recurrence (SPEC 6)."""
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Say whether a rule may be recommended for a fleet, and why not.

    `low` is the lower 95 % bound of the mean net saving per finished task, in the unit of the savings.
    """

    sessions: int
    mean: float | None
    low: float | None
    thrash: float
    is_recommended: bool
    reason: str


def recommendation(
    net_savings: Mapping[str, float], *, derived_from: Collection[str], thrash: float
) -> Recommendation:
    """Return whether a rule is worth recommending (SPEC 9): bound above 0, thrash index below 0.3.

    Args:
        net_savings: Net saving of each finished session under the rule, by session.
        derived_from: Sessions that the rule was made from; they prove nothing.
        thrash: Worst thrash index of the rule's tag over those sessions.
    """
    kept = [saving for session, saving in net_savings.items() if session not in derived_from]
    mean = fmean(kept) if kept else None
    if len(kept) < LEAST_SESSIONS:
        reason = (
            f"only {len(kept)} finished sessions that the rule was not made from; {LEAST_SESSIONS} needed"
        )
        return Recommendation(len(kept), mean, None, thrash, is_recommended=False, reason=reason)
    low = lower_bound(kept)
    reason = "" if low > 0 else f"the lower 95 % bound of the net saving per task is {low:.4g}"
    if not reason and thrash >= THRASH_LIMIT:
        reason = f"the thrash index is {thrash:.2f}, the limit {THRASH_LIMIT}"
    return Recommendation(len(kept), mean, low, thrash, is_recommended=not reason, reason=reason)


def lower_bound(values: Sequence[float]) -> float:
    """Return the one-sided lower 95 % bound of a mean; Student's t after Abramowitz and Stegun 26.7.5."""
    z, free = NormalDist().inv_cdf(CONFIDENCE), len(values) - 1
    t = (
        z
        + (z**3 + z) / (4 * free)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * free**3)
    )
    return fmean(values) - t * stdev(values) / sqrt(len(values))


def elongation(before: Sequence[int], under: Sequence[int]) -> float | None:
    """Return calls per finished task under a policy by those before it; None when a side is empty."""
    return fmean(under) / fmean(before) if before and under else None
