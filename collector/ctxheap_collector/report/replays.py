"""Replay every session of some transcripts under a policy, and write down what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Final

from ctxheap import __version__, tokens
from ctxheap.analysis.replay import replay
from ctxheap.analysis.replay_records import Bill, ReplayReport
from ctxheap.heap.counts import TokenCounter
from ctxheap.heap.records import Heap
from ctxheap.reclaim.policy import Policy, Trigger, mapping_of
from ctxheap_collector.report.build import heaps_of
from ctxheap_collector.report.pricing import Pricing
from ctxheap_collector.transcripts.detect import read_all

Progress = Callable[[int], None]
CounterFor = Callable[[str, str], TokenCounter]
Json = dict[str, object]

HEADER: Final = (
    f"{'trigger':<11}{'input tokens':>14}{'peak':>9}{'freed':>7}{'regret':>8}"
    f"{'gross $':>11}{'records $':>11}{'regret $':>11}{'net $':>11}"
)


def replays(
    paths: Sequence[str],
    policy: Policy,
    *,
    triggers: Sequence[Trigger],
    session: str | None = None,
    prices: str | None = None,
    progress: Progress | None = None,
    counter_for: CounterFor = tokens.counter_for,
) -> Iterator[tuple[ReplayReport, ...]]:
    """Yield for each session its replay under each trigger.

    Args:
        paths: Transcripts, folders and globs.
        policy: The policy; its own trigger gives way to `triggers`.
        triggers: The triggers to compare, in order.
        session: Only sessions whose id begins like this.
        prices: File of prices that go before the shipped ones.
        progress: Is told the bytes read since it was told last.
        counter_for: Gives the tokenizer of a model.

    Raises:
        ProfileError: When the price file cannot be used.
    """
    pricing = Pricing(prices)
    for reading in read_all(paths, on_bytes=progress):
        exchanges = list(reading.exchanges)
        for heap in heaps_of(exchanges, counter_for=counter_for):
            if heap.session.startswith(session or ""):
                yield tuple(
                    replay(
                        heap,
                        exchanges,
                        replace(policy, trigger=trigger, window_tokens=_window(heap, policy, pricing)),
                        rates_of=pricing.rates,
                        counter_for=counter_for,
                    )
                    for trigger in triggers
                )


def _window(heap: Heap, policy: Policy, pricing: Pricing) -> int | None:
    """Return the policy's window, or the model's where the policy names none; None where neither is known."""
    if policy.window_tokens is not None or not heap.calls:
        return policy.window_tokens
    largest = max(sum(call.tokens) for call in heap.calls)
    return pricing.window(heap.calls[-1], largest)


def document(found: Sequence[Sequence[ReplayReport]], policy: Policy) -> Json:
    """Return all replays as one JSON document (docs/reclaim.md)."""
    rows = [_row(report) for reports in found for report in reports]
    return {"ctxheap": __version__, "policy": mapping_of(policy), "replays": rows}


def _row(report: ReplayReport) -> Json:
    return {
        "session": report.session,
        "trigger": report.trigger,
        "calls": report.calls,
        "recorded_tokens": report.recorded,
        "baseline": _bill(report.baseline),
        "replayed": _bill(report.bill),
        "gross_usd": gross_usd(report),
        "gross_equivalents": report.baseline.equivalents - report.bill.equivalents,
        "compactions": report.compactions,
        "records_usd": report.collection_usd,
        "records_equivalents": report.collection_equivalents,
        "regret_usd": report.regret_usd,
        "regret_equivalents": report.regret_equivalents,
        "net_usd": report.net_usd,
        "net_equivalents": report.net_equivalents,
        "freed": [asdict(item) for item in report.freed],
        "regrets": [asdict(item) for item in report.regrets],
        "refusals": list(report.refusals),
    }


def _bill(bill: Bill) -> Json:
    return {**asdict(bill), "input": bill.input}


def gross_usd(report: ReplayReport) -> float | None:
    """Return the difference of the input bills in USD: re-billing is in it, records and regret are not."""
    before, after = report.baseline.usd, report.bill.usd
    return None if before is None or after is None else before - after


def lines(reports: Sequence[ReplayReport]) -> Iterator[str]:
    """Yield one session's replays as text, a line a trigger."""
    first = reports[0]
    yield (
        f"session {first.session}: {first.calls:,} calls, {first.baseline.input:,} input tokens, "
        f"peak {first.baseline.peak:,}, simulated input bill {_usd(first.baseline.usd)} USD"
    )
    yield HEADER
    for report in reports:
        certain = sum(regret.is_certain for regret in report.regrets)
        money = (gross_usd(report), report.collection_usd, report.regret_usd, report.net_usd)
        yield (
            f"{report.trigger:<11}{report.bill.input:>14,}{report.bill.peak:>9,}{len(report.freed):>7,}"
            f"{certain:>8,}{''.join(_usd(value).rjust(11) for value in money)}"
        )
    for report in reports:
        for regret in report.regrets:
            if regret.is_certain:
                yield (
                    f"  {report.trigger}: {regret.tag} ({regret.tokens:,} tokens) freed before call "
                    f"{regret.freed}, needed at call {regret.used}"
                )
        yield from (f"  {report.trigger}: refused: {problem}" for problem in report.refusals)


def _usd(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4f}"
