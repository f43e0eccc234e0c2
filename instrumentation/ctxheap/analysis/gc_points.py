"""Mark the calls of a session at which freeing was free: the cache was lost anyway (SPEC 7).

call 11 ──── 20 minutes pass ────▶ call 12: all of it is written anew, so what is dead may go
"""

from __future__ import annotations

from dataclasses import dataclass

from ctxheap.analysis.breaks import Cause, Passage, passages
from ctxheap.analysis.economics import cold_saving
from ctxheap.analysis.factors import Factors, factors_of, writes_for_an_hour
from ctxheap.analysis.study import Study

FREE_CAUSES = frozenset({"ttl", "model", "tools", "system", "volatile", "compaction"})
"""Causes that leave nothing, or next to nothing, of the prefix."""


@dataclass(frozen=True, slots=True)
class GcPoint:
    """Hold one call before which dead content could have been freed without re-billing.

    Attributes:
        call: The call.
        cause: Why its cache was cold.
        objects: Numbers of the objects that were surely dead, in prompt order.
        dead_low: Tokens surely dead there; what may be freed without knowing the future.
        dead: Tokens that nothing used later; known with hindsight only.
        gross_low_tokens: What freeing `dead_low` there would have saved, in token equivalents; no
            receipts taken off. Net of re-billing it is the same.
        gross_low_usd: The same in USD, None when the call's price is unknown; `gross_usd` for `dead`.
    """

    call: int
    cause: Cause
    objects: tuple[int, ...]
    dead_low: int
    dead: int
    gross_low_tokens: float
    gross_low_usd: float | None
    gross_usd: float | None


def gc_points(study: Study) -> list[GcPoint]:
    """Return the free GC points of a session at which something was dead, in the order of its calls."""
    hour = writes_for_an_hour(call.usage for call in study.heap.calls)
    found: list[GcPoint] = []
    for passage, rates in zip(passages(study.heap), study.rates[1:], strict=True):
        if passage.cause in FREE_CAUSES:
            point = _point(study, passage, factors_of(rates, passage.call.model, hour=hour))
            found.extend([point] if point.dead else [])
    return found


def _point(study: Study, passage: Passage, factors: Factors) -> GcPoint:
    call = passage.call
    low: list[int] = []
    tokens = {True: 0, False: 0}
    gross = {True: 0.0, False: 0.0}
    for number, size in zip(call.numbers, call.tokens, strict=True):
        life = study.account.lives[number]
        if not life.is_dead_at(call.number) or study.heap.objects[number].kind == "hidden":
            continue
        # a copy that is the only one again later is counted until then
        until = next((last for first, last in life.sure if first <= call.number <= last), None)
        is_sure = until is not None
        stays = (life.last if until is None else until) - call.number + 1
        tokens[is_sure] += size
        gross[is_sure] += cold_saving(factors, tokens=size, calls=stays).gross
        low.extend([number] if is_sure else [])
    return GcPoint(
        call.number,
        passage.cause or "provider",
        tuple(low),
        tokens[True],
        tokens[True] + tokens[False],
        gross[True],
        factors.usd(gross[True]),
        factors.usd(gross[True] + gross[False]),
    )
