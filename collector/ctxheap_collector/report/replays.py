"""Replay every session of some transcripts under a policy, and write down what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from ctxheap import __version__, tokens
from ctxheap.analysis.replay import replay
from ctxheap.analysis.replay_records import Bill, ReplayReport
from ctxheap.heap.counts import TokenCounter
from ctxheap.heap.records import Heap
from ctxheap.reclaim.policy import Policy, Trigger, mapping_of
from ctxheap_collector.report.build import file_report, heaps_of
from ctxheap_collector.report.contract import FileReport, ProfileError
from ctxheap_collector.report.family import is_meant, no_session
from ctxheap_collector.report.pricing import Pricing
from ctxheap_collector.transcripts.detect import read_all

Progress = Callable[[int], None]
CounterFor = Callable[[str, str], TokenCounter]
Json = dict[str, object]

HEADER: Final = (
    f"{'trigger':<11}{'input tokens':>14}{'peak':>9}{'freed':>7}{'regret':>8}"
    f"{'gross $':>11}{'records $':>11}{'regret $':>11}{'net $':>11}"
)


@dataclass(frozen=True, slots=True)
class Replays:
    """Hold what came of all sessions.

    Attributes:
        files: What each input gave.
        sessions: For each session that was meant its replay under each trigger.
    """

    files: tuple[FileReport, ...]
    sessions: tuple[tuple[ReplayReport, ...], ...]

    @property
    def totals(self) -> tuple[ReplayReport, ...]:
        """Return the sum of all sessions under each trigger."""
        return tuple(map(_total, zip(*self.sessions, strict=True)))


def replays(
    paths: Sequence[str],
    policy: Policy,
    *,
    triggers: Sequence[Trigger],
    session: str | None = None,
    prices: str | None = None,
    progress: Progress | None = None,
    counter_for: CounterFor = tokens.counter_for,
) -> Replays:
    """Replay each session under each trigger. The order of `paths` changes nothing.

    Args:
        paths: Transcripts, folders and globs.
        policy: The policy; its own trigger gives way to `triggers`.
        triggers: The triggers to compare, in order.
        session: Only sessions whose id begins like this.
        prices: File of prices that go before the shipped ones.
        progress: Is told the bytes read since it was told last.
        counter_for: Gives the tokenizer of a model.

    Raises:
        ProfileError: When the price file cannot be used, or sessions were read and none is the one wanted.
    """
    pricing = Pricing(prices)
    files: list[FileReport] = []
    found: list[tuple[ReplayReport, ...]] = []
    others: list[Heap] = []
    for reading in read_all(sorted(set(paths)), on_bytes=progress):
        exchanges = list(reading.exchanges)
        heaps = list(heaps_of(exchanges, counter_for=counter_for))
        files.append(file_report(reading, len(heaps)))
        for heap in heaps:
            if session is not None and not is_meant(heap.session, session):
                others.append(heap)
                continue
            window = _window(heap, policy, pricing)
            policies = [replace(policy, trigger=trigger, window_tokens=window) for trigger in triggers]
            found.append(
                tuple(
                    replay(heap, exchanges, each, rates_of=pricing.rates, counter_for=counter_for)
                    for each in policies
                )
            )
    if session is not None and others and not found:
        largest = sorted(others, key=lambda heap: -sum(sum(call.tokens) for call in heap.calls))
        raise ProfileError(no_session(session, [heap.session for heap in largest], read=len(others)))
    return Replays(tuple(files), tuple(found))


def _total(reports: Sequence[ReplayReport]) -> ReplayReport:
    """Return what several sessions come to under one trigger; `peak` is that of the largest prompt."""
    money = [report.collection_usd for report in reports if report.collection_usd is not None]
    return ReplayReport(
        session="",
        trigger=reports[0].trigger,
        calls=sum(report.calls for report in reports),
        recorded=sum(report.recorded for report in reports),
        baseline=_bills([report.baseline for report in reports]),
        bill=_bills([report.bill for report in reports]),
        freed=tuple(item for report in reports for item in report.freed),
        regrets=tuple(item for report in reports for item in report.regrets),
        compactions=sum(report.compactions for report in reports),
        collection_equivalents=sum(report.collection_equivalents for report in reports),
        collection_usd=sum(money) if len(money) == len(reports) else None,
        refusals=tuple(item for report in reports for item in report.refusals),
    )


def _bills(bills: Sequence[Bill]) -> Bill:
    money = [bill.usd for bill in bills if bill.usd is not None]
    return Bill(
        read=sum(bill.read for bill in bills),
        written=sum(bill.written for bill in bills),
        uncached=sum(bill.uncached for bill in bills),
        equivalents=sum(bill.equivalents for bill in bills),
        usd=sum(money) if len(money) == len(bills) else None,
        peak=max(bill.peak for bill in bills),
        yellow=sum(bill.yellow for bill in bills),
        red=sum(bill.red for bill in bills),
    )


def _window(heap: Heap, policy: Policy, pricing: Pricing) -> int | None:
    """Return the policy's window, or the model's where the policy names none; None where neither is known."""
    if policy.window_tokens is not None or not heap.calls:
        return policy.window_tokens
    largest = max(sum(call.tokens) for call in heap.calls)
    return pricing.window(heap.calls[-1], largest)


def document(made: Replays, policy: Policy) -> Json:
    """Return all replays as one JSON document (docs/reclaim.md)."""
    rows = [_row(report) for reports in made.sessions for report in reports]
    return {
        "ctxheap": __version__,
        "policy": mapping_of(policy),
        "files": [asdict(report) for report in made.files],
        "replays": rows,
        "totals": [_sums(report) | {"sessions": len(made.sessions)} for report in made.totals],
    }


def _row(report: ReplayReport) -> Json:
    return {
        "session": report.session,
        **_sums(report),
        "freed": [asdict(item) for item in report.freed],
        "regrets": [asdict(item) for item in report.regrets],
        "refusals": list(report.refusals),
    }


def _sums(report: ReplayReport) -> Json:
    return {
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
    }


def _bill(bill: Bill) -> Json:
    return {**asdict(bill), "input": bill.input}


def gross_usd(report: ReplayReport) -> float | None:
    """Return the difference of the input bills in USD: re-billing is in it, records and regret are not."""
    before, after = report.baseline.usd, report.bill.usd
    return None if before is None or after is None else before - after


def lines(reports: Sequence[ReplayReport]) -> Iterator[str]:
    """Yield one session's replays as text, a line a trigger."""
    yield from _table(f"session {reports[0].session}", reports)
    for report in reports:
        for regret in report.regrets:
            if regret.is_certain:
                yield (
                    f"  {report.trigger}: {regret.tag} ({regret.tokens:,} tokens) freed before call "
                    f"{regret.freed}, needed at call {regret.used}"
                )
        yield from (f"  {report.trigger}: refused: {problem}" for problem in report.refusals)


def total_lines(made: Replays) -> Iterator[str]:
    """Yield the sum of all sessions, nothing where there is but one."""
    if len(made.sessions) > 1:
        yield from _table(f"all {len(made.sessions):,} sessions", made.totals)


def _table(name: str, reports: Sequence[ReplayReport]) -> Iterator[str]:
    first = reports[0]
    yield (
        f"{name}: {first.calls:,} calls, {first.baseline.input:,} input tokens, "
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


def _usd(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4f}"
