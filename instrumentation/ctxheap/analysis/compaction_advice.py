"""Weigh a compaction of a session's history at the first call past half of the window (SPEC 7, 8).

[ prefix P ][ turns that go ......... ][ newest 20,000 tokens S ]  ──▶  [ P ][ summary q ][ S ]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ctxheap.analysis.economics import compaction
from ctxheap.analysis.factors import Factors
from ctxheap.analysis.freeing import Course, Freed
from ctxheap.analysis.reuse import refetch_tokens
from ctxheap.analysis.series import ThetaOf
from ctxheap.analysis.study import Study
from ctxheap.analysis.suggestion_records import Suggestion, objects_of
from ctxheap.heap.records import Call
from ctxheap.heap.subject import base_of
from ctxheap.reclaim.policy import BUDGET_SHARE, WINDOW_TOKENS, Rule, When

TAIL_TOKENS = 20_000
"""What stays whole (SPEC 8)."""
SUMMARY_TOKENS = 2_000
_PREFIX = frozenset({"system_prompt", "tool_definition"})


@dataclass(frozen=True, slots=True)
class _Split:
    """Hold what a compaction before a call would do: numbers that go, tokens in front, behind and in all."""

    going: tuple[int, ...]
    prefix: int
    tail: int
    context: int


def compaction_advice(
    study: Study,
    course: Course,
    *,
    budget: float = BUDGET_SHARE * WINDOW_TOKENS,
    theta: ThetaOf | None = None,
) -> Iterator[Suggestion]:
    """Yield the weighed compaction of a session whose prompt outgrew `budget` tokens.

    It is not played together with the other rules: what it saves, they cannot save again.
    """
    place = next((i for i, call in enumerate(study.heap.calls) if sum(call.tokens) > budget), None)
    if place is None:
        return
    call = study.heap.calls[place]
    split = _split(study, call)
    if split.going:
        yield _weigh(study, split, call, course.factors[place], is_fleet=theta is not None)


def _split(study: Study, call: Call) -> _Split:
    objects = study.heap.objects
    context = sum(call.tokens)
    prefix, behind = 0, context
    going: list[int] = []
    gone = 0
    for number, tokens in zip(call.numbers, call.tokens, strict=True):
        item = objects[number]
        behind -= tokens
        if item.kind == "hidden" or base_of(item.tag) in _PREFIX:
            prefix += tokens
        elif behind >= TAIL_TOKENS and not item.inherent:
            going.append(number)
            gone += tokens
    return _Split(tuple(going), prefix, context - prefix - gone, context)


def _weigh(study: Study, split: _Split, call: Call, factors: Factors, *, is_fleet: bool) -> Suggestion:
    """Return the suggestion: cost and saving until the next compaction or the end, regret as it came."""
    calls = study.heap.calls
    ends = [later.number for later in calls[call.number :] if later.compaction] or [len(calls) + 1]
    remaining = ends[0] - call.number
    plan = compaction(
        factors, context=split.context, prefix=split.prefix, tail=split.tail, summary=SUMMARY_TOKENS
    )
    late = tuple(n for n in split.going if any(used >= call.number for used in study.account.uses[n]))
    regret = sum(
        refetch_tokens(
            study,
            Freed(n, call.number, study.account.objects[n].last, split.context, calls=remaining),
            factors,
        )
        for n in late
    )
    gross, rebill = plan.saving_per_call * remaining, plan.cost
    is_accepted = is_fleet and not late and gross > rebill
    return Suggestion(
        action="compact",
        tag="",
        rule=Rule("compact", when=When(older_calls=1), reason="past half of the window"),
        objects=split.going,
        freed_at=(call.number,) * len(split.going),
        tokens=split.context - split.prefix - split.tail - SUMMARY_TOKENS,
        token_calls=(split.context - split.prefix - split.tail - SUMMARY_TOKENS) * remaining,
        gross_tokens=gross,
        rebill_tokens=rebill,
        regret_tokens=regret,
        gross_usd=factors.usd(gross),
        rebill_usd=factors.usd(rebill),
        regret_usd=factors.usd(regret),
        break_even_calls=plan.break_even_calls,
        confidence="low",
        accepted=is_accepted,
        reason=_reason(late, gross - rebill, is_fleet=is_fleet),
        evidence=f"call {call.number} has {split.context:,} tokens; {objects_of(len(split.going))} would go,"
        f" {remaining} calls follow; its own request counts as re-billing",
        used_later=late,
    )


def _reason(late: tuple[int, ...], net: float, *, is_fleet: bool) -> str:
    if late:
        return f"would compact away {objects_of(len(late))} before a later use"
    if net <= 0:
        return "net ≤ 0: making the summary and storing it costs more than it saves"
    if not is_fleet:
        return "no fleet is known that would tell idle from dead"
    return "its history was not used again"
