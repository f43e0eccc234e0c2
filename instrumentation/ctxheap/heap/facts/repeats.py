"""Note which objects repeat what an earlier one in the same prompt holds, whole or in part.

    plan 1: a b        ──▶ kept while it is in the prompt: its text, hashes of some lines
    plan 2: a b c      ──▶ Repeat(contains, of plan 1, share 2/3)
    grep:   x b y      ──▶ Repeat(lines, of plan 2, share 1/3)

Exact copies are the ledger's (`heap.supersession`) and make no `Repeat`.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import dataclass, field

from ctxheap.heap.facts.records import Repeat
from ctxheap.heap.model import Part
from ctxheap.heap.subject import OWN_TEXT, base_of, is_inherent

MIN_CHARS = 120
"""Texts shorter than this are not worth a look."""
MIN_LINE_CHARS = 12
"""Shorter lines (braces, blanks, `pass`) are met everywhere and are not counted as repeated."""
MIN_SHARED_CHARS = 200
MIN_SHARE = 0.3
"""Least share of the later object for `lines`."""
MAX_CANDIDATES = 8
"""Earlier objects that a new one is searched for, those it shares most with."""
FEW_LINES = 32
STRIDE = 4
"""Of texts with more lines, only each fourth is marked: a shared run of four is found all the same."""
SWEEP_LINES = 20_000
"""Least number of marked lines of objects that have left worth a sweep."""

_KINDS = frozenset({"tool_result", "text"})
_STRUCTURED = "{["
_SEPARATORS = ("\n", "\\n", "}, {", "},{")
_FEW = 3


class RepeatTracker:
    """Find repetitions among the objects of one session, fed in birth order."""

    def __init__(self) -> None:
        self._repeats: list[Repeat] = []
        self._entries: dict[str, _Entry] = {}
        self._entry_of: dict[int, _Entry] = {}
        self._holders: dict[int, _Entry] = {}
        self._gone = 0

    def see(self, number: int, part: Part, call: int) -> None:
        """Take in an object born at `call`; its text is kept until it leaves."""
        text = part.text
        if part.kind not in _KINDS or len(text) < MIN_CHARS or base_of(part.tag) in OWN_TEXT:
            return
        if is_inherent(part.tag, pinned=part.pinned):
            return
        entry = self._entries.get(text)
        if entry is None:
            entry = self._enter(number, text, call)
        entry.numbers.append(number)
        self._entry_of[number] = entry

    def drop(self, number: int) -> None:
        """Forget an object that left the prompt."""
        entry = self._entry_of.pop(number, None)
        if entry is None:
            return
        entry.numbers.remove(number)
        if not entry.numbers:
            del self._entries[entry.text]
            self._gone += entry.lines
        if self._gone > max(SWEEP_LINES, len(self._holders) // 2):
            self._holders = {line: holder for line, holder in self._holders.items() if holder.numbers}
            self._gone = 0

    def repeats(self) -> list[Repeat]:
        """Return the repetitions so far, in birth order."""
        return list(self._repeats)

    def _enter(self, number: int, text: str, call: int) -> _Entry:
        pieces = pieces_of(text)
        if not self._holders.keys().isdisjoint(map(hash, pieces)):
            self._compare((number, text), self._shared(pieces), call)
        entry = _Entry(text)
        step = 1 if len(pieces) <= FEW_LINES else STRIDE
        marks = [hash(piece) for piece in pieces[::step] if len(piece) >= MIN_LINE_CHARS]
        self._holders.update(dict.fromkeys(marks, entry))
        entry.lines = len(marks)
        self._entries[text] = entry
        return entry

    def _shared(self, pieces: Sequence[str]) -> list[tuple[_Entry, int]]:
        """Return the texts in the prompt that hold some of these lines, with the characters, most first."""
        lines = list(map(hash, pieces))
        marks = self._holders.keys() & set(lines)
        found = Tally(entry for mark in marks if (entry := self._holders[mark]).numbers)
        # too few marks for a share of the later text can still be all of a short earlier one
        is_little = sum(found.values()) * 5 * STRIDE < len(pieces)
        likely = [entry for entry in found if not is_little or 2 * found[entry] >= entry.lines]
        likely.sort(key=lambda entry: (found[entry], entry.numbers[-1]))
        holders: dict[int, _Entry] = {}
        for entry in likely[-MAX_CANDIDATES:]:
            holders.update(dict.fromkeys(map(hash, pieces_of(entry.text)), entry))
        chars: dict[_Entry, int] = {}
        for piece, line in zip(pieces, lines, strict=True):
            if line in holders and len(piece) >= MIN_LINE_CHARS and not piece.isspace():
                chars[holders[line]] = chars.get(holders[line], 0) + len(piece) + 1
        return sorted(chars.items(), key=lambda each: (-each[1], -each[0].numbers[-1]))

    def _compare(self, later: tuple[int, str], shared: Sequence[tuple[_Entry, int]], call: int) -> None:
        """Note which earlier objects a later one contains, or else the one it shares most lines with."""
        number, text = later
        contained = [entry for entry, _ in shared if is_contained(entry.text, text)]
        for entry in contained:
            share = round(len(entry.text.strip()) / len(text), 4)
            self._repeats.append(Repeat(number, entry.numbers[-1], "contains", share, call))
        total = sum(chars for _, chars in shared)
        if not contained and total >= max(MIN_SHARED_CHARS, MIN_SHARE * len(text)):
            share = round(min(1.0, total / len(text)), 4)
            self._repeats.append(Repeat(number, shared[0][0].numbers[-1], "lines", share, call))


@dataclass(slots=True, eq=False)
class _Entry:
    """Hold one text with the objects in the prompt that have it, oldest first, and its marked lines."""

    text: str
    lines: int = 0
    numbers: list[int] = field(default_factory=list[int])


def pieces_of(text: str) -> list[str]:
    """Return the lines of a text, of the text in a JSON string, or the records of a list in one line."""
    if text[0] in _STRUCTURED:
        for separator in _SEPARATORS:
            pieces = text.split(separator)
            if len(pieces) > _FEW:
                return pieces
    return text.split("\n")


def is_contained(earlier: str, later: str) -> bool:
    """Return whether the whole of an earlier text is in a later one, blanks at its ends left out."""
    found = earlier.strip()
    return MIN_CHARS <= len(found) < len(later) and found in later
