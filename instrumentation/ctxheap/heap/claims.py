"""Count what still speaks for an object that a tool call brought in (SPEC 5.2).

    result of `cat a.py b.py`   Claim of (result, call), 2 reasons left     a.py read again → 1 left
                                                                            b.py edited     → dead

An object is dead once every access that it shows was shown again or changed; until then it counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ctxheap.heap.access import Access, Range, contains, covers, overlaps

MAX_PENDING = 64
"""Accesses of one resource that are watched; older ones are left alone, which errs on their side."""


MIN_PLACE_CHARS = 20
"""A text shorter than this may stand in a file twice."""

_NUMBER = re.compile(r"^[ \t]*\d{1,7}(?:\t|→|:|[ ]?\|)", re.MULTILINE)


@dataclass(slots=True)
class Claim:
    """Hold the objects that go together, and how many of their accesses still speak for them.

    `text` is the result's, or the arguments' where a claim is about these; "" once it is gone.
    `parts` is how many accesses there were.
    """

    numbers: tuple[int, ...]
    text: str
    left: int
    parts: int

    @property
    def is_open(self) -> bool:
        """Return whether the objects can still be superseded."""
        return self.left > 0

    def is_older(self, before: int | None) -> bool:
        """Return whether the objects were there before the one with number `before` (None: all were)."""
        return before is None or all(number < before for number in self.numbers)


@dataclass(slots=True)
class Shown:
    """Hold one access whose lines a result shows."""

    access: Access
    claim: Claim


@dataclass(slots=True)
class Edit:
    """Hold one successful write: its arguments, its echo, and the lines that the echo shows.

    `awaits_place` says that its arguments still count: the place was not seen again; `awaits_edit`
    the same of its echo.
    """

    access: Access
    arguments: Claim
    echo: Claim
    lines: Range | None
    awaits_place: bool = True
    awaits_edit: bool = True

    @property
    def is_whole(self) -> bool:
        """Return whether it put the whole file there."""
        return self.access.range is None and not self.access.before and not self.access.after

    @property
    def is_open(self) -> bool:
        """Return whether its arguments or its echo still count."""
        return (self.awaits_place and self.arguments.is_open) or (self.awaits_edit and self.echo.is_open)


@dataclass(slots=True)
class Resource:
    """Hold what is resident of one resource, oldest first."""

    shown: list[Shown] = field(default_factory=list[Shown])
    edits: list[Edit] = field(default_factory=list[Edit])
    is_written: bool = False

    def take_covered(self, access: Access, text: str) -> Iterator[Claim]:
        """Yield the claims whose access `access` shows again, and forget these."""
        kept: list[Shown] = []
        for item in self.shown:
            if not item.claim.is_open:
                continue
            if covers(access, item.access) and _stands_for(access, text, item):
                yield item.claim
            else:
                kept.append(item)
        self.shown = kept

    def take_touched(self, access: Access, *, before: int | None = None) -> Iterator[Claim]:
        """Yield the claims of reads whose lines a write changes, and forget these.

        `before` leaves those alone whose objects have that number or a later one.
        """
        kept: list[Shown] = []
        for item in self.shown:
            if not item.claim.is_open:
                continue
            if item.claim.is_older(before) and _touches(access, item):
                yield item.claim
            else:
                kept.append(item)
        self.shown = kept

    def take_reread(self, access: Access, text: str) -> Iterator[Claim]:
        """Yield the arguments of edits whose place a read shows again."""
        for edit in self.edits:
            if edit.awaits_place and _shows_place(access, text, edit):
                edit.awaits_place = False
                yield edit.arguments

    def take_rewritten(self, access: Access, *, before: int | None = None) -> Iterator[tuple[Claim, bool]]:
        """Yield the claims of edits whose place is written again; True stands for an echo."""
        for edit in self.edits:
            if not (edit.echo.is_older(before) and edit.arguments.is_older(before)):
                continue
            if edit.awaits_place and is_same_place(access, edit):
                edit.awaits_place = False
                yield edit.arguments, False
            if edit.awaits_edit and ends_echo(access, edit):
                edit.awaits_edit = False
                yield edit.echo, True
        self.edits = [edit for edit in self.edits if edit.is_open]

    def show(self, access: Access, claim: Claim) -> None:
        """Watch an access that a result shows."""
        self.shown.append(Shown(access, claim))
        if len(self.shown) > 2 * MAX_PENDING:
            self.shown = self.shown[-MAX_PENDING:]

    def write(self, edit: Edit) -> None:
        """Watch a write that succeeded."""
        self.is_written = True
        self.edits.append(edit)
        if len(self.edits) > 2 * MAX_PENDING:
            self.edits = self.edits[-MAX_PENDING:]


def is_same_place(write: Access, edit: Edit) -> bool:
    """Return whether a later write surely works on the lines of an earlier edit.

    One line changed in a file that was written whole does not make the rest of it old.
    """
    if _is_unranged(write):
        return True
    if edit.is_whole:
        return False
    place = edit.lines or edit.access.range
    if write.range is not None and place is not None:
        return overlaps(write.range, place)
    return _holds(edit.echo.text, write) or _shows(edit.access.new, write.old)


def ends_echo(write: Access, edit: Edit) -> bool:
    """Return whether a later write takes the last worth from an edit's echo.

    An echo without lines only confirms, and confirms nothing once the file was written again.
    """
    return edit.lines is None or is_same_place(write, edit)


def _stands_for(access: Access, text: str, item: Shown) -> bool:
    """Return whether an answer is as much as it should be: notices and stubs are far shorter."""
    return item.claim.parts > 1 or bool(access.detail) or 2 * len(text) >= len(item.claim.text)


def _touches(write: Access, item: Shown) -> bool:
    shown = item.access
    if _is_unranged(write):
        return True
    if shown.action == "search":
        return _holds(item.claim.text, write)
    if shown.range is None:
        return True
    if write.range is not None:
        return overlaps(write.range, shown.range)
    return _holds(item.claim.text, write)


def _shows_place(read: Access, text: str, edit: Edit) -> bool:
    if read.action != "read" or read.detail:
        return False
    if read.range is None:
        return True
    place = edit.lines or edit.access.range
    if place is not None and contains(read.range, place):
        return True
    is_elsewhere = place is not None and not overlaps(read.range, place)
    is_telling = len(edit.access.new.strip()) >= MIN_PLACE_CHARS
    return is_telling and not is_elsewhere and _shows(text, edit.access.new)


def _is_unranged(write: Access) -> bool:
    return write.range is None and not write.before


def _holds(text: str, write: Access) -> bool:
    """Return whether a text holds what a write replaces: all its lines together, not one like them."""
    return bool(write.before) and write.before in text and bool(write.old) and _shows(text, write.old)


def _shows(text: str, piece: str) -> bool:
    """Return whether a text, or a listing with numbered lines, holds a piece of a file."""
    piece = piece.strip("\n")
    return bool(piece) and (piece in text or ("\n" in piece and piece in _NUMBER.sub("", text)))
