"""Weigh dead tokens: how much of them counts, and whether their growth costs enough to be a leak (SPEC 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ctxheap.analysis.floor import MIN_SHARE, WARM_SHARE
from ctxheap.analysis.series import Series, segments
from ctxheap.analysis.study import Study
from ctxheap.heap.account import Totals
from ctxheap.heap.subject import OWN_TEXT, base_of

MIN_DEAD_TOKENS = 1_000
MIN_ADDITIONS = 3
MIN_GROWTH = 0.02
"""Least share of the session that the growth after a segment's warm-up costs."""
MIN_BEYOND_LARGEST = 0.02
"""Least share that is left when the largest single addition is taken away."""
MIN_BEYOND_TWO = 0.07
"""Least part of the tag's dead tokens that the third and later additions make up."""
MIN_ECHO_SHARE = 0.005
"""Least dead share of an echo; it would reach any other within a few times the calls."""
OWN_WORDS = OWN_TEXT | {"tool_call"}
OWN_WORDS_WEIGHT = 0.65
"""How much of what the model wrote itself counts as dead when only silence says so.

Models act on their own words without quoting them: a reader of 50 sessions found about two thirds of such
tokens dead, of results nearly all.
"""


@dataclass(frozen=True, slots=True)
class Weights:
    """Hold what shares are taken of: visible token-calls, or their money.

    Attributes:
        token_calls: Token-calls of everything the capture shows.
        usd: Its rent in USD; None where a price is unknown.
        parts: The segments between compactions, as places of calls.
    """

    token_calls: int
    usd: float | None
    parts: tuple[range, ...]

    @classmethod
    def of(cls, study: Study) -> Weights:
        """Return the weights of a session; what is billed and not in the capture is left out."""
        seen = [
            totals
            for item, totals in zip(study.heap.objects, study.account.objects, strict=True)
            if item.kind != "hidden"
        ]
        usd = sum(totals.rent_usd for totals in seen) if is_priced(study) else None
        return cls(sum(totals.token_calls for totals in seen), usd, tuple(segments(study)))

    def share(self, tag: str, totals: Totals) -> float:
        """Return the dead share of a tag, its sure part whole and the rest by its weight."""
        if self.usd:
            sure, high, whole = totals.dead_low_usd, totals.dead_usd, self.usd
        else:
            sure, high, whole = totals.dead_low, totals.dead, self.token_calls
        return (sure + weight_of(tag) * (high - sure)) / whole if whole else 0.0


def is_priced(study: Study) -> bool:
    """Return whether every call was billed and has a price."""
    return study.is_priced and not study.account.unpriced


def matters(series: Series, totals: Totals, *, weights: Weights, is_echo: bool) -> bool:
    """Return whether dead tokens were added at enough places and their growth costs enough.

    In token-calls, whatever the prices: what a cache makes cheap is as dead.
    """
    whole = weights.token_calls
    if series.additions < MIN_ADDITIONS or max(series.tokens) < MIN_DEAD_TOKENS or not whole:
        return False
    weight = weight_of(series.tag)
    if is_echo:
        return totals.dead >= MIN_ECHO_SHARE * whole
    added: dict[int, float] = {}
    for death in series.deaths:
        counted = 1.0 if death.is_sure else weight
        added[death.call] = added.get(death.call, 0.0) + death.token_calls * counted
    counted = sum(added.values())
    grown = growth(series, weights.parts) * counted / sum(death.token_calls for death in series.deaths)
    return (
        totals.dead_low + weight * (totals.dead - totals.dead_low) >= MIN_SHARE * whole
        and counted - max(added.values()) >= MIN_BEYOND_LARGEST * whole
        and counted - sum(sorted(added.values())[-2:]) >= MIN_BEYOND_TWO * counted
        and grown >= MIN_GROWTH * whole
    )


def weight_of(tag: str) -> float:
    """Return how much of a tag's dead tokens counts where only silence says that they are dead."""
    return OWN_WORDS_WEIGHT if base_of(tag) in OWN_WORDS else 1.0


def growth(series: Series, parts: Sequence[range]) -> float:
    """Return the token-calls of the growth that stayed, after each segment's warm-up."""
    grown = 0.0
    for part in parts:
        rest = series.tokens[part.start + math.floor(WARM_SHARE * len(part)) : part.stop]
        lasting = list(accumulate(reversed(rest), min))
        grown += sum(lasting) - len(lasting) * lasting[-1] if lasting else 0.0
    return grown
