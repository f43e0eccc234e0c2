"""Run the analyses of one session and turn what they found into the rows of its profile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from ctxheap.analysis.breaks import cache_breaks
from ctxheap.analysis.gc_points import gc_points
from ctxheap.analysis.regret import Fetch, Regret, regret
from ctxheap.analysis.repeats import repeated_state
from ctxheap.analysis.spirals import Spiral, spirals, zero_write
from ctxheap.analysis.study import Study
from ctxheap.analysis.suggestion_records import Suggestion
from ctxheap.analysis.suggestions import suggest
from ctxheap.analysis.traces import Trace, Tracer
from ctxheap.analysis.verdicts import Leak, verdicts
from ctxheap_collector.report.findings import (
    CacheBreakRow,
    FetchRow,
    GcPointRow,
    LeakRow,
    RegretRow,
    SpiralRow,
    SuggestionRow,
    TraceNodeRow,
)

REPORTED = ("leak", "ballast", "growing", "growing so far")


@dataclass(frozen=True, slots=True)
class Findings:
    """Hold what the analyses of one session found.

    Attributes:
        leaks: Tags that leak, are ballast or grow, each with the trace of its dearest object.
        suggestions: Accepted and rejected rules.
    """

    study: Study
    leaks: tuple[tuple[Leak, Trace | None], ...]
    suggestions: tuple[Suggestion, ...]
    regret: Regret


def find(study: Study) -> Findings:
    """Return what leaks in a session, why it is still there, and what would free it."""
    tracer = Tracer(study)
    judged = verdicts(study)
    reported = [leak for leak in judged if leak.verdict in REPORTED]
    regretted = regret(study)
    return Findings(
        study=study,
        leaks=tuple((leak, tracer.trace(leak.objects[0]) if leak.objects else None) for leak in reported),
        suggestions=tuple(suggest(study, judged, repeats=repeated_state(study), regret=regretted)),
        regret=regretted,
    )


def leak_rows(found: Findings) -> tuple[LeakRow, ...]:
    """Return the rows of what leaks, is ballast or grows."""
    return tuple(_leak(leak, trace) for leak, trace in found.leaks)


def _leak(leak: Leak, trace: Trace | None) -> LeakRow:
    return LeakRow(
        tag=leak.tag,
        verdict=leak.verdict,
        severity=leak.severity,
        slope=leak.slope,
        p=leak.p,
        q=leak.q,
        share=leak.share,
        dead_low_token_calls=leak.dead_low_token_calls,
        dead_token_calls=leak.dead_token_calls,
        score_usd=leak.score_usd,
        signature=trace.signature if trace else "",
        unusual=leak.is_unusual,
        objects=len(leak.objects),
        additions=leak.additions,
        first_call=leak.calls[0],
        last_call=leak.calls[1],
        score_tokens=leak.score_tokens,
        level=leak.level,
        dead_low_usd=leak.dead_low_usd,
        dead_usd=leak.dead_usd,
        echo=leak.is_echo,
        trace=tuple(_nodes(trace)) if trace else (),
    )


def _nodes(trace: Trace) -> Iterator[TraceNodeRow]:
    for node in trace.nodes:
        yield TraceNodeRow(
            name=node.name,
            tag=node.tag,
            hold=node.hold,
            verdict=node.verdict,
            suspect=node.is_suspect,
            forced=node.is_forced,
            tokens=node.tokens,
            drag_calls=node.drag_calls,
        )


def suggestion_rows(found: Findings) -> tuple[SuggestionRow, ...]:
    """Return the rows of all suggestions, accepted ones first."""
    return tuple(map(suggestion_row, found.suggestions))


def suggestion_row(found: Suggestion) -> SuggestionRow:
    """Return the row of one suggestion."""
    return SuggestionRow(
        action=found.action,
        tag=found.tag,
        objects=len(found.objects),
        tokens=found.tokens,
        gross_usd=found.gross_usd,
        rebill_usd=found.rebill_usd,
        regret_usd=found.regret_usd,
        net_usd=found.net_usd,
        break_even_calls=found.break_even_calls if isfinite(found.break_even_calls) else None,
        accepted=found.accepted,
        reason=found.reason,
        gross_tokens=found.gross_tokens,
        rebill_tokens=found.rebill_tokens,
        regret_tokens=found.regret_tokens,
        net_tokens=found.net_tokens,
        confidence=found.confidence,
        evidence=found.evidence,
        verify=found.verify,
    )


def gc_point_rows(study: Study) -> tuple[GcPointRow, ...]:
    """Return the calls before which freeing was free."""
    return tuple(
        GcPointRow(
            call=point.call,
            cause=point.cause,
            dead_low=point.dead_low,
            dead=point.dead,
            gross_low_usd=point.gross_low_usd,
            gross_usd=point.gross_usd,
        )
        for point in gc_points(study)
    )


def cache_break_rows(study: Study) -> tuple[CacheBreakRow, ...]:
    """Return the calls that were billed again for what the cache had held."""
    return tuple(
        CacheBreakRow(
            call=found.call,
            cause=found.cause,
            tag=found.tag,
            object="" if found.number is None else _name(study, found.number),
            tokens=found.tokens,
            gross_usd=found.gross_usd,
        )
        for found in cache_breaks(study)
    )


def regret_row(found: Findings) -> RegretRow:
    """Return what a session regrets."""
    study, regretted = found.study, found.regret
    kinds = [fetch.kind for fetch in regretted.fetches]
    return RegretRow(
        departed_tokens=regretted.departed_tokens,
        fetches=tuple(_fetch(study, fetch) for fetch in regretted.regret_fetches),
        necessary_fetches=kinds.count("necessary"),
        duplicate_fetches=kinds.count("duplicate"),
        thrash=max(regretted.thrash.values(), default=0.0),
        edit_misses=len(regretted.edit_misses),
        receipt_misreads=len(regretted.misreads),
        lost_sight=tuple(dict.fromkeys(remark.call for remark in regretted.lost_sight)),
        spirals=tuple(map(_spiral, spirals(study))),
        zero_write=zero_write(study) is not None,
        completion_per_reasoning=regretted.completion_per_reasoning,
        reasoning_per_prompt=regretted.reasoning_per_prompt,
    )


def _spiral(found: Spiral) -> SpiralRow:
    return SpiralRow(
        kind=found.kind,
        first_call=found.first,
        last_call=found.last,
        times=found.times,
        tools=found.tools,
        tokens=found.input_tokens,
    )


def _fetch(study: Study, fetch: Fetch) -> FetchRow:
    return FetchRow(
        call=fetch.call,
        tag=fetch.tag,
        object=_name(study, fetch.number),
        distance=fetch.distance,
        tokens=fetch.tokens,
    )


def _name(study: Study, number: int) -> str:
    item = study.heap.objects[number]
    return f"{item.name} @call {item.birth}"
