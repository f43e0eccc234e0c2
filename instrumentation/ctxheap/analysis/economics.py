"""Work out whether freeing context pays once the prompt cache is paid for (SPEC 7).

    prompt at call k:   [ before ][ object v ][ S cached tokens after ]      R calls to come, k included

Amounts are in token equivalents: one is the price of one uncached input token (`Factors.usd` makes
money of them). `gross` is what is no longer billed, `rebill` what the cache bills anew because of the
change, `net` the one less the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ctxheap.analysis.factors import Factors


@dataclass(frozen=True, slots=True)
class Saving:
    """Hold what freeing something is worth, in token equivalents."""

    gross: float
    rebill: float = 0.0

    @property
    def net(self) -> float:
        """Return Δ/p: what is left after re-billing."""
        return self.gross - self.rebill


@dataclass(frozen=True, slots=True)
class Cut:
    """Hold the best single cut: every dead object from place `start` on is freed.

    `freed` are the tokens that go (placeholders taken off), `after` those that stay behind the cut.
    """

    start: int
    freed: int
    after: int
    saving: Saving


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """Hold what replacing a history by a summary costs once, and saves at each call; token equivalents."""

    cost: float
    saving_per_call: float

    def net(self, calls: float) -> float:
        """Return what is left after `calls` calls."""
        return self.saving_per_call * calls - self.cost

    @property
    def break_even_calls(self) -> float:
        """Return after how many calls it has paid for itself; infinite when it never does."""
        return self.cost / self.saving_per_call if self.saving_per_call > 0 else math.inf


def warm_saving(
    factors: Factors, *, tokens: float, after: float, calls: float, placeholder: float = 0
) -> Saving:
    """Return the saving of freeing an object whose prefix is cached: r(v−h)R − (w−r)(S+h).

    Args:
        factors: Price factors of the model.
        tokens: v, the object's tokens.
        after: S, cached tokens after it.
        calls: R, calls to come, this one included.
        placeholder: h, tokens of what is put in its place.
    """
    freed = tokens - placeholder
    return Saving(factors.read * freed * calls, (factors.write - factors.read) * (after + placeholder))


def cold_saving(factors: Factors, *, tokens: float, calls: float, placeholder: float = 0) -> Saving:
    """Return the saving when the object is not in the cache, or not sent yet: w(v−h) + r(v−h)(R−1)."""
    freed = tokens - placeholder
    return Saving(factors.write * freed + factors.read * freed * (calls - 1))


def break_even_calls(factors: Factors, *, tokens: float, after: float, placeholder: float = 0) -> float:
    """Return R*, the calls after which freeing a cached object has paid: (w−r)(S+h) / (r(v−h)).

    Infinite when the placeholder is no smaller than the object, or reads cost nothing.
    """
    per_call = factors.read * (tokens - placeholder)
    lost = (factors.write - factors.read) * (after + placeholder)
    return lost / per_call if per_call > 0 else math.inf


def best_cut(
    factors: Factors,
    sizes: Sequence[int],
    dead: Sequence[bool],
    *,
    calls: float,
    placeholders: Sequence[int] | None = None,
) -> Cut | None:
    """Return the best single cut in a cached prompt, None when no cut pays.

    argmax over a of r·V(a)·R − (w−r)·S(a). Once the cache is lost from a on, freeing a dead object
    behind it costs nothing more, so the best plan is always one cut.

    Args:
        factors: Price factors of the model.
        sizes: Tokens of each part, in prompt order.
        dead: Which of them may be freed.
        calls: R, calls to come, this one included.
        placeholders: Tokens of what takes the place of each; none without it.
    """
    best: Cut | None = None
    freed = after = 0
    for place in reversed(range(len(sizes))):
        if not dead[place]:
            after += sizes[place]
            continue
        left = placeholders[place] if placeholders else 0
        freed += sizes[place] - left
        after += left
        saving = warm_saving(factors, tokens=freed, after=after, calls=calls)
        if saving.net > (best.saving.net if best else 0):
            best = Cut(place, freed, after, saving)
    return best


def least_batch(factors: Factors, *, after: float, calls: float) -> float:
    """Return V_min, the least tokens worth a cut with `after` live tokens behind it: (w−r)·S/(r·R)."""
    per_token = factors.read * calls
    lost = (factors.write - factors.read) * after
    return lost / per_token if per_token > 0 else math.inf


def collection_cost(factors: Factors, *, after: float, own: float = 0) -> float:
    """Return K = (w−r)·S + the collection's own cost, in token equivalents."""
    return (factors.write - factors.read) * after + own


def is_due(paid: float, coming: float, *, cost: float, is_cold: bool = False) -> bool:
    """Return whether to collect before the next call, not knowing how many will come.

    Collecting just before the dead rent paid since the last collection reaches K never costs more
    than twice the best plan made with hindsight (ski rental). A cold cache makes K nothing.

    Args:
        paid: Dead rent paid since the last collection, in token equivalents.
        coming: Dead rent of the next call.
        cost: K, see `collection_cost`.
        is_cold: Whether the cache is lost anyway.
    """
    return coming > 0 and (is_cold or paid + coming >= cost)


def compaction(
    factors: Factors,
    *,
    context: float,
    prefix: float,
    tail: float,
    summary: float,
    shares_prefix: bool = True,
) -> CompactionPlan:
    """Return the plan of compacting a context: r·C + ω·q + (w−r)(q+S), saving r(C−P−S−q) a call.

    Args:
        factors: Price factors of the model.
        context: C, all tokens before it.
        prefix: P, fixed tokens in front (definitions, system prompt).
        tail: S, the newest tokens, kept whole.
        summary: q, tokens of the summary.
        shares_prefix: Whether the request that makes the summary reads the context from the cache.
    """
    made = (factors.read if shares_prefix else 1.0) * context + factors.output * summary
    rebill = (factors.write - factors.read) * (summary + tail)
    return CompactionPlan(made + rebill, factors.read * (context - prefix - tail - summary))


def refetch_cost(factors: Factors, *, context: float, arguments: float, tokens: float, calls: float) -> float:
    """Return F, the cost of fetching an object again: r·C + ω·a + w·v + r·v·R′.

    Args:
        factors: Price factors of the model.
        context: C, tokens of the extra call's prompt.
        arguments: a, output tokens of the tool call that fetches it.
        tokens: v, tokens of the result.
        calls: R′, calls that will hold it afterwards.
    """
    return (
        factors.read * context
        + factors.output * arguments
        + factors.write * tokens
        + factors.read * tokens * calls
    )


def is_worth_regret(probability: float, *, net: float, refetch: float) -> bool:
    """Return whether to evict what may be fetched again: P(re-fetch) < Δ/F."""
    return net > 0 and probability * refetch < net
