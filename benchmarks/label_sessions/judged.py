"""Run the evidence tracker over labelled sessions and look up what it said about a pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ctxheap.heap.evidence import EvidenceTracker, Use

from . import LOADERS, Track, bare, load

CHARS_PER_TOKEN = 3.5

Row = Mapping[str, object]
Session = tuple[str, int]


@dataclass(slots=True)
class Span:
    """Hold one object of a track: its numbers, first and last call, size in tokens."""

    birth: int
    last: int
    tokens: float = 0.0
    numbers: list[int] = field(default_factory=list[int])


@dataclass(slots=True)
class Judged:
    """Hold what the tracker said about one track; calls count from 1."""

    calls: dict[str, int] = field(default_factory=dict[str, int])
    spans: dict[str, Span] = field(default_factory=dict[str, Span])
    uses: dict[tuple[int, int], Use] = field(default_factory=dict[tuple[int, int], Use])

    def span(self, key: str) -> Span | None:
        """Return the object under an index, the parts of a message taken together."""
        found = [self.spans[k] for k in self.spans if k == key or bare(k) == key]
        if not found:
            return None
        numbers = [number for span in found for number in span.numbers]
        tokens = sum(span.tokens for span in found)
        return Span(min(span.birth for span in found), found[0].last, tokens, numbers)

    def use(self, span: Span, call: int) -> Use | None:
        """Return the strongest use of an object by the output of a call."""
        found = [self.uses[n, call] for n in span.numbers if (n, call) in self.uses]
        return max(found, key=lambda use: use.score, default=None)


def judge(track: Track, tracker: EvidenceTracker) -> Judged:
    """Feed a track to a tracker in call order."""
    judged = Judged()
    count = 0
    for call, turn in enumerate(track, start=1):
        for key in turn.dropped:
            judged.spans[key].last = call - 1
            for number in judged.spans[key].numbers:
                tracker.drop(number)
        for placed in turn.seen:
            count += 1
            span = judged.spans.setdefault(placed.key, Span(call, len(track)))
            span.numbers.append(count)
            span.tokens += len(placed.part.text) / CHARS_PER_TOKEN
            tracker.see(count, placed.part, call)
        judged.calls[turn.key] = call
        for use in tracker.output(call, turn.output):
            judged.uses[use.number, call] = use
    return judged


def session_of(row: Row) -> Session:
    """Return the session that a label belongs to."""
    session = row.get("session", 0)
    return str(row["path"]), session if isinstance(session, int) else 0


def tracks_of(rows: Iterable[Row], data: Path) -> tuple[dict[Session, list[Track]], dict[str, str]]:
    """Return the tracks of every labelled session, and by path why others were left out."""
    tracks: dict[Session, list[Track]] = {}
    skipped: dict[str, str] = {}
    for row in rows:
        session = session_of(row)
        if session in tracks or session[0] in skipped:
            continue
        indexing = str(row.get("indexing"))
        if indexing not in LOADERS:
            skipped[session[0]] = f"no loader for indexing {indexing}"
        elif not (data / session[0]).is_file():
            skipped[session[0]] = "no such file"
        else:
            tracks[session] = load(data / session[0], indexing, session[1])
    return tracks, skipped
