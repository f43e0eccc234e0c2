"""Turn one session's heap into the rows of its profile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nlargest

from ctxheap.analysis.study import study
from ctxheap.heap.account import Account, Totals, superseded_spans
from ctxheap.heap.attribution import PLAUSIBLE_FACTORS
from ctxheap.heap.model import Usage
from ctxheap.heap.records import Call, Heap, HeapObject
from ctxheap.heap.retained import retained_sizes
from ctxheap_collector.report.contract import (
    Billed,
    CompactionRow,
    Conservation,
    Context,
    ObjectRow,
    Options,
    Quality,
    SessionProfile,
    TagRow,
    TimelineRow,
    UseRow,
    iso_time,
)
from ctxheap_collector.report.figures import money
from ctxheap_collector.report.findings_rows import (
    cache_break_rows,
    find,
    gc_point_rows,
    leak_rows,
    regret_row,
    suggestion_rows,
)
from ctxheap_collector.report.pricing import Pricing

UNATTRIBUTED = "unattributed"
STANDARD_WINDOW = 200_000
COST_TOLERANCE = 0.2
"""Share by which a cost may differ from the recorded one unremarked."""


def session_profile(heap: Heap, format_: str, pricing: Pricing, options: Options) -> SessionProfile:
    """Return the profile of one finished heap."""
    found = study(heap, pricing.rates)
    sums = found.account
    findings = find(found)
    by_tag = sums.by_tag(heap.objects)
    total = _total(tag for _, tag in by_tag.values())
    is_priced = not sums.unpriced
    paid, unpriced = pricing.bill(heap.calls)
    bill = _billed([call.usage for call in heap.calls if call.usage])
    cost = paid if is_priced and not unpriced else None
    return SessionProfile(
        id=heap.session,
        parent=heap.parent,
        agent=heap.agent,
        format=format_,
        model=_model(heap.calls),
        calls=len(heap.calls),
        estimated=any(call.estimated for call in heap.calls),
        billed=bill,
        cost_usd=cost,
        conservation=_conservation(heap, sums),
        context=_context(heap, sums, pricing),
        rebill_factor=total.token_calls / total.first if total.first > 0 else None,
        dead_low_token_calls=total.dead_low,
        dead_token_calls=total.dead,
        token_calls=total.token_calls,
        tags=_tags(heap, sums, by_tag, is_priced=is_priced),
        objects=_objects(heap, sums, options.top, is_priced=is_priced),
        compactions=_compactions(heap, sums),
        timeline=_timeline(heap, sums) if options.timeline else None,
        allocated=total.first,
        objects_total=len(heap.objects),
        input_usd=total.rent_usd if is_priced else None,
        dead_low_rent_usd=total.dead_low_usd if is_priced else None,
        dead_rent_usd=total.dead_usd if is_priced else None,
        unpriced=unpriced,
        quality=_quality(heap, bill, sums, cost),
        leaks=leak_rows(findings),
        suggestions=suggestion_rows(findings),
        gc_points=gc_point_rows(found),
        cache_breaks=cache_break_rows(found),
        regret=regret_row(findings),
    )


def _total(parts: Iterable[Totals]) -> Totals:
    total = Totals()
    for part in parts:
        total.add(part)
    return total


def _model(calls: Sequence[Call]) -> str:
    """Return the model of most calls; the timeline has each call's own."""
    names = [call.model for call in calls]
    return max(dict.fromkeys(names), key=names.count, default="")


def _billed(usages: Sequence[Usage]) -> Billed:
    return Billed(
        input=sum(usage.input for usage in usages),
        uncached=sum(usage.uncached for usage in usages),
        cache_read=sum(usage.cache_read for usage in usages),
        cache_write=sum(usage.cache_write for usage in usages),
        output=sum(usage.output for usage in usages),
        reasoning=sum(usage.reasoning for usage in usages),
    )


def _conservation(heap: Heap, sums: Account) -> Conservation:
    billed = [(call.usage.input, sum(call.tokens)) for call in heap.calls if call.usage]
    return Conservation(
        calls=len(billed),
        exact_calls=sum(bill == owned for bill, owned in billed),
        unattributed_tokens=sum(series.get(UNATTRIBUTED, 0) for series in sums.series),
    )


def _sizes(sums: Account) -> list[int]:
    return [sum(series.values()) for series in sums.series]


def _peak(sums: Account) -> int:
    """Return the place of the first call with the largest context."""
    sizes = _sizes(sums)
    return sizes.index(max(sizes))


def _context(heap: Heap, sums: Account, pricing: Pricing) -> Context:
    sizes = _sizes(sums)
    place = _peak(sums)
    return Context(
        first=sizes[0],
        last=sizes[-1],
        peak=sizes[place],
        peak_call=place + 1,
        window=_window(heap, pricing.window(heap.calls[place], sizes[place]), sizes[place]),
    )


def _window(heap: Heap, known: int | None, peak: int) -> int | None:
    """Return the window in force: an agent that compacts by itself shows which one it was given.

    Models with a window of a million tokens are mostly run with 200,000, which no transcript says.
    """
    was_full = any(call.compaction and call.compaction.trigger == "auto" for call in heap.calls)
    return STANDARD_WINDOW if known and was_full and peak <= STANDARD_WINDOW < known else known


def _tags(
    heap: Heap, sums: Account, by_tag: Mapping[str, tuple[int, Totals]], *, is_priced: bool
) -> tuple[TagRow, ...]:
    place = _peak(sums)
    dead_low, dead = _dead_at(heap, sums, heap.calls[place])
    peaks: dict[str, int] = {}
    for series in sums.series:
        for tag, tokens in series.items():
            peaks[tag] = max(peaks.get(tag, tokens), tokens)
    rows = [
        TagRow(
            tag=tag,
            objects=count,
            allocated=total.first,
            resident=sums.series[-1].get(tag, 0),
            peak=peaks[tag],
            token_calls=total.token_calls,
            rent_usd=total.rent_usd if is_priced else None,
            lag=total.lag,
            use=total.use,
            drag=total.drag,
            void=total.void,
            dead_low_token_calls=total.dead_low,
            dead_token_calls=total.dead,
            at_peak=sums.series[place].get(tag, 0),
            dead_low_at_peak=dead_low.get(tag, 0),
            dead_at_peak=dead.get(tag, 0),
        )
        for tag, (count, total) in by_tag.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-(row.rent_usd or 0.0), -row.token_calls, row.tag)))


def _dead_at(heap: Heap, sums: Account, call: Call) -> tuple[dict[str, int], dict[str, int]]:
    low: dict[str, int] = {}
    high: dict[str, int] = {}
    for number, tokens in zip(call.numbers, call.tokens, strict=True):
        life, tag = sums.lives[number], heap.objects[number].tag
        if life.is_dead_at(call.number):
            high[tag] = high.get(tag, 0) + tokens
        if life.is_surely_dead_at(call.number):
            low[tag] = low.get(tag, 0) + tokens
    return low, high


def _objects(heap: Heap, sums: Account, top: int, *, is_priced: bool) -> tuple[ObjectRow, ...]:
    def order(item: HeapObject) -> tuple[int, int]:
        return sums.objects[item.number].token_calls, -item.number

    chosen = nlargest(top or len(heap.objects), heap.objects, key=order)
    retained = retained_sizes(heap, [item.last for item in sums.objects])
    by = {
        number: spans[-1].by
        for number, spans in superseded_spans(heap).items()
        if spans[-1].last >= heap.objects[number].last
    }
    return tuple(
        _object(
            item,
            sums,
            retained=retained[item.number],
            is_priced=is_priced,
            superseded_by=heap.objects[by[item.number]].id if item.number in by else None,
        )
        for item in chosen
    )


def _object(
    item: HeapObject, sums: Account, *, retained: int, is_priced: bool, superseded_by: str | None
) -> ObjectRow:
    own, uses = sums.objects[item.number], sums.uses[item.number]
    return ObjectRow(
        id=item.id,
        tag=item.tag,
        name=f"{item.name} @call {item.birth}",
        birth=item.birth,
        last=item.last,
        tokens=own.last,
        retained=retained,
        token_calls=own.token_calls,
        rent_usd=own.rent_usd if is_priced else None,
        phase=sums.lives[item.number].phase_at(item.last),
        lag=own.lag,
        use=own.use,
        drag=own.drag,
        void=own.void,
        uses=tuple([UseRow(call, rule) for call, rule in sorted(uses.items())]),
        superseded_by=superseded_by,
    )


def _compactions(heap: Heap, sums: Account) -> tuple[CompactionRow, ...]:
    sizes = _sizes(sums)
    return tuple(
        CompactionRow(
            call=call.number,
            before=sizes[call.number - 2] if call.number > 1 else call.compaction.before,
            after=sizes[call.number - 1],
        )
        for call in heap.calls
        if call.compaction is not None
    )


def _timeline(heap: Heap, sums: Account) -> tuple[TimelineRow, ...]:
    none = Usage()
    return tuple(
        TimelineRow(
            call=call.number,
            started=iso_time(call.started_ns),
            model=call.model,
            input=sum(call.tokens),
            cache_read=(call.usage or none).cache_read,
            cache_write=(call.usage or none).cache_write,
            output=(call.usage or none).output,
            reasoning=(call.usage or none).reasoning,
            tags=series,
            estimated=call.estimated,
            incomplete=call.incomplete,
        )
        for call, series in zip(heap.calls, sums.series, strict=True)
    )


def _quality(heap: Heap, bill: Billed, sums: Account, cost: float | None) -> Quality:
    factors = [call.factor for call in heap.calls if not call.estimated]
    low, high = PLAUSIBLE_FACTORS
    return Quality(
        estimated_calls=sum(call.estimated for call in heap.calls),
        implied_calls=sum(call.implied for call in heap.calls),
        incomplete_calls=sum(call.incomplete for call in heap.calls),
        scale_low=min(factors, default=None),
        scale_high=max(factors, default=None),
        scale_outside_calls=sum(not low <= factor <= high for factor in factors),
        warnings=(*_unattributed(bill, sums), *_other_cost(heap, cost)),
    )


def _unattributed(bill: Billed, sums: Account) -> Iterator[str]:
    rest = sum(abs(series.get(UNATTRIBUTED, 0)) for series in sums.series)
    if bill.input and rest > bill.input // 20:
        yield f"{rest / bill.input:.0%} of the billed input is unattributed: the capture is not whole"


def _other_cost(heap: Heap, cost: float | None) -> Iterator[str]:
    """Yield a remark where the source says what the session cost, and that is something else."""
    told = [call.recorded_usd for call in heap.calls]
    known = [usd for usd in told if usd is not None]
    recorded = sum(known)
    if cost is None or len(known) < len(told) or abs(cost - recorded) <= COST_TOLERANCE * recorded:
        return
    yield (
        f"the source itself says {money(recorded)}, not {money(cost)}: "
        "it had a cache split that is not recorded, or other prices"
    )
