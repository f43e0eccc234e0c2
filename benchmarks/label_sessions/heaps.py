"""Build the heap of a labelled session and find its objects under the indexes that labels use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from ctxheap.heap.model import Exchange
from ctxheap.heap.records import Heap
from ctxheap_collector.report.build import heaps_of
from ctxheap_collector.transcripts.detect import read_all

from . import load
from .turns import Placed, Track

LINES = ("Claude Code", "pi coding-agent", "codex")
"""Formats whose labels count lines from 0, where readers count them from 1."""

TRACKS = {"pi coding-agent session jsonl v3": "pi_jsonl", "codex session jsonl": "codex_jsonl"}
"""Formats that only the label loaders read so far."""

Label = Mapping[str, object]


@dataclass(slots=True)
class Labelled:
    """Hold one labelled session: its heap and the numbers of its objects by label index."""

    label: Label
    heap: Heap
    exchanges: tuple[Exchange, ...]
    places: dict[int, set[int]] = field(default_factory=dict[int, set[int]])

    def numbers(self, index: int, tag: str | None = None) -> set[int]:
        """Return the objects of a message, those with the tag where any has it."""
        found = self.places.get(index, set())
        tagged = {number for number in found if self.heap.objects[number].tag == tag}
        return tagged or found


def labelled(label: Label, data: Path) -> Labelled | None:
    """Return the session that a label describes; None when nothing here reads its format."""
    exchanges = _exchanges(label, data)
    heap = next(heaps_of(exchanges), None)
    if heap is None:
        return None
    found = Labelled(label, heap, tuple(exchanges))
    offset = 1 if str(label["format"]).startswith(LINES) else 0
    for call, exchange in zip(heap.calls, exchanges, strict=False):
        message = -1
        for number, part in zip(call.numbers, exchange.prompt, strict=False):
            message = _message(part.where, before=message)
            found.places.setdefault(message - offset, set()).add(number)
    return found


def _message(where: str, *, before: int) -> int:
    """Return the index of the message a part is in; a reply that was sent back follows its request."""
    head = where.split(":", 1)[0]
    if head.isdigit():
        return int(head)
    return before + (head == "response" and before >= 0)


def _exchanges(label: Label, data: Path) -> list[Exchange]:
    path, form = data / str(label["path"]), str(label["format"])
    if form in TRACKS:
        return list(_replayed(load(path, TRACKS[form], 0)[0], str(label["session"])))
    # One call of an OpenHands session is one file; its folder is the session.
    sessions = _sessions(path.parent if form.startswith("OpenHands") else path)
    if not sessions:
        return []
    entry = label.get("entry")
    if isinstance(entry, int):
        return list(sessions.values())[entry]
    together = [exchange for exchanges in sessions.values() for exchange in exchanges]
    if len(together) == label["calls"]:
        # Labels take the file as one session, also where it forks or was cleared.
        return [replace(exchange, session=str(label["session"])) for exchange in together]
    return sessions.get(str(label["session"])) or max(sessions.values(), key=len)


@cache
def _sessions(path: Path) -> dict[str, list[Exchange]]:
    found: dict[str, list[Exchange]] = {}
    for reading in read_all([str(path)]):
        for exchange in reading.exchanges:
            found.setdefault(exchange.session, []).append(exchange)
    return found


def _replayed(track: Track, session: str) -> Iterator[Exchange]:
    """Yield the calls of a track, each with the whole prompt that it saw."""
    prompt: list[Placed] = []
    for number, turn in enumerate(track):
        prompt = [placed for placed in prompt if placed.key not in turn.dropped] + list(turn.seen)
        parts = tuple(replace(placed.part, where=placed.key) for placed in prompt)
        yield Exchange(f"{session}#{number}", parts, turn.output, session=session)
