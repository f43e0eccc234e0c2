"""Read transcripts and make the profile of every session in them, one file after the other."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ctxheap import __version__, tokens
from ctxheap.heap.counts import TokenCounter
from ctxheap.heap.model import Exchange
from ctxheap.heap.records import Heap
from ctxheap.heap.session import HeapBuilder
from ctxheap.heap.stitch import Stitcher, canonical_order
from ctxheap_collector.report.contract import FileReport, Options, Profile, SessionProfile, SkippedRow
from ctxheap_collector.report.pricing import Pricing
from ctxheap_collector.report.session_rows import session_profile
from ctxheap_collector.transcripts.detect import Reading, read_all
from ctxheap_collector.transcripts.source import STDIN

Progress = Callable[[int], None]
CounterFor = Callable[[str, str], TokenCounter]


def profile_paths(
    paths: Sequence[str],
    *,
    options: Options,
    progress: Progress | None = None,
    counter_for: CounterFor = tokens.counter_for,
) -> Profile:
    """Return the profile of every transcript behind `paths`, counted by what `counter_for` returns.

    `progress` is called with the bytes read since it was called last. A file that cannot be read is
    listed with the reason and stops nothing. The order of `paths` changes nothing. Raises
    `ProfileError` when the price file cannot be used.
    """
    pricing = Pricing(options.prices)
    files: list[FileReport] = []
    sessions: list[SessionProfile] = []
    taken: Tally[str] = Tally()
    for reading in read_all(sorted(set(paths)), on_bytes=progress):
        found = [
            session_profile(heap, reading.format, pricing, options)
            for heap in heaps_of(reading.exchanges, counter_for=counter_for)
        ]
        sessions.extend(with_own_ids(found, taken))
        files.append(file_report(reading, len(found)))
    return Profile(
        ctxheap=__version__,
        files=tuple(files),
        sessions=tuple(parents_first(sessions)),
        prices=pricing.source(),
    )


def heaps_of(
    exchanges: Iterable[Exchange], *, counter_for: CounterFor = tokens.counter_for
) -> Iterator[Heap]:
    """Yield the finished heap of every session, in the order in which sessions began."""
    stitcher = Stitcher()
    builders: dict[str, HeapBuilder] = {}
    changes = _Changes()
    for exchange in canonical_order(exchanges):
        if not exchange.session:
            place = stitcher.assign(exchange)
            exchange = replace(exchange, session=place.session, parent=place.parent)  # noqa: PLW2901
        builder = builders.get(exchange.session)
        if builder is None:
            builder = HeapBuilder(session=exchange.session, counter_for=counter_for)
            builders[exchange.session] = builder
        builder.add(exchange, handed_over=changes.take(exchange.session))
        if exchange.parent is not None:
            parent = builders.get(exchange.parent)
            changes.note(exchange, builder.take_written(), parent.calls if parent else 0)
    while builders:
        yield builders.pop(next(iter(builders))).finish()


class _Changes:
    """Keep what sub-agents changed until the session that started them makes its next call.

    A change that a call of a sub-agent shows was asked for by its call before; what the parent saw
    earlier than that one is surely older. A first call shows the past that a fork has in common.
    """

    def __init__(self) -> None:
        self._changed: dict[str, dict[str, int]] = {}
        self._asked_at: dict[str, int] = {}

    def note(self, exchange: Exchange, written: frozenset[str], parent_calls: int) -> None:
        """Take in what a sub-agent's call shows as changed."""
        asked_at = self._asked_at.get(exchange.session)
        self._asked_at[exchange.session] = parent_calls
        if asked_at is not None and written and exchange.parent is not None:
            changed = self._changed.setdefault(exchange.parent, {})
            changed.update((path, max(asked_at, changed.get(path, 0))) for path in written)

    def take(self, session: str) -> dict[str, int]:
        """Return what was changed for a session since it was last asked for."""
        return self._changed.pop(session, {})


def with_own_ids(sessions: Sequence[SessionProfile], taken: Tally[str]) -> Iterator[SessionProfile]:
    """Yield the sessions of one input with ids that no other input's have: `run`, `run~2`, `run~3`.

    Agents that name their sessions after the file, or after a task, use a name again and again.
    `taken` counts the ids of the inputs before.
    """
    names = {session.id: _own_id(session.id, taken) for session in sessions}
    taken.update(names.keys())
    for session in sessions:
        yield replace(session, id=names[session.id], parent=names.get(session.parent or "", session.parent))


def _own_id(name: str, taken: Tally[str]) -> str:
    return f"{name}~{taken[name] + 1}" if taken[name] else name


def parents_first(sessions: Sequence[SessionProfile]) -> Iterator[SessionProfile]:
    """Yield sessions in their order, the children of each right behind it."""
    ids = {session.id for session in sessions}
    children: dict[str | None, list[SessionProfile]] = {}
    for session in sessions:
        parent = session.parent if session.parent in ids and session.parent != session.id else None
        children.setdefault(parent, []).append(session)
    waiting = children.get(None, [])[::-1]
    seen: set[int] = set()
    while waiting:
        session = waiting.pop()
        if id(session) in seen:
            continue
        seen.add(id(session))
        yield session
        waiting.extend(children.get(session.id, [])[::-1])
    yield from (session for session in sessions if id(session) not in seen)


def file_report(reading: Reading, sessions: int) -> FileReport:
    """Return what one input gave; its source has to be read to the end before."""
    skipped = [SkippedRow(item.line, item.reason) for item in reading.source.skipped]
    if reading.problem:
        skipped.insert(0, SkippedRow(0, reading.problem.removeprefix(f"{reading.source.name}: ")))
    path = STDIN if reading.source.files == (STDIN,) else reading.source.name
    return FileReport(path=str(path), format=reading.format, sessions=sessions, skipped=tuple(skipped))
