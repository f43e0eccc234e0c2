"""Turn what the analyses of one session found into the rows of its profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ctxheap.analysis.breaks import cache_breaks
from ctxheap.analysis.gc_points import gc_points
from ctxheap.analysis.regret import Fetch, regret
from ctxheap.analysis.spirals import spirals, zero_write
from ctxheap.analysis.study import Study
from ctxheap.analysis.traces import Trace, Tracer
from ctxheap.analysis.verdicts import Leak, verdicts
from ctxheap_collector.report.findings import (
    CacheBreakRow,
    FetchRow,
    GcPointRow,
    LeakRow,
    RegretRow,
    SpiralRow,
    TraceNodeRow,
)

REPORTED = ("leak", "ballast", "growing", "growing so far")


@dataclass(frozen=True, slots=True)
class Findings:
    """Hold the verdicts on a session's tags with the traces of their dearest objects."""

    leaks: tuple[tuple[Leak, Trace | None], ...]

    def rows(self) -> tuple[LeakRow, ...]:
        """Return the rows of what leaks, is ballast or grows."""
        return tuple(_leak(leak, trace) for leak, trace in self.leaks)


def find(study: Study) -> Findings:
    """Return what leaks in a session, is ballast or grows, and why it is still there."""
    tracer = Tracer(study)
    reported = [leak for leak in verdicts(study) if leak.verdict in REPORTED]
    return Findings(
        tuple((leak, tracer.trace(leak.objects[0]) if leak.objects else None) for leak in reported)
    )


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


def _name(study: Study, number: int) -> str:
    item = study.heap.objects[number]
    return f"{item.name} @call {item.birth}"


def regret_row(study: Study) -> RegretRow:
    """Return what a session regrets."""
    found = regret(study)
    kinds = [fetch.kind for fetch in found.fetches]
    return RegretRow(
        departed_tokens=found.departed_tokens,
        fetches=tuple(_fetch(study, fetch) for fetch in found.regret_fetches),
        necessary_fetches=kinds.count("necessary"),
        duplicate_fetches=kinds.count("duplicate"),
        thrash=max(found.thrash.values(), default=0.0),
        edit_misses=len(found.edit_misses),
        receipt_misreads=len(found.misreads),
        lost_sight=_calls([remark.call for remark in found.lost_sight]),
        spirals=tuple(
            SpiralRow(
                kind=each.kind,
                first_call=each.first,
                last_call=each.last,
                times=each.times,
                tools=each.tools,
                tokens=each.input_tokens,
            )
            for each in spirals(study)
        ),
        zero_write=zero_write(study) is not None,
        completion_per_reasoning=found.completion_per_reasoning,
        reasoning_per_prompt=found.reasoning_per_prompt,
    )


def _calls(numbers: Sequence[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(numbers))


def _fetch(study: Study, fetch: Fetch) -> FetchRow:
    return FetchRow(
        call=fetch.call,
        tag=fetch.tag,
        object=_name(study, fetch.number),
        distance=fetch.distance,
        tokens=fetch.tokens,
    )
