"""Say whether reclaiming hurt, and where the session went in circles (SPEC 9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxheap_collector.report.contract import SessionProfile
from ctxheap_collector.report.figures import plural, short
from ctxheap_collector.report.findings import RegretRow, SpiralRow
from ctxheap_collector.report.layout import INDENT, Line, Piece, joined, paragraph, printable
from ctxheap_collector.report.palette import ALARM

THRASH_LIMIT: Final = 0.3
SHOWN: Final = 5
_CIRCLES: Final = {
    "repeat": "the same call with the same answer",
    "block": "a block of calls repeated",
    "few": "the same few calls",
    "failure": "attempts that fail in the same way",
    "dialogue": "the same said again and again",
}


def regrets(session: SessionProfile, *, width: int) -> list[Line]:
    """Return one remark for each thing that went wrong; nothing where nothing did."""
    lines: list[Line] = []
    for words in remarks(session):
        first, *rest = paragraph(words, width, indent=INDENT * 2)
        mark = (Piece(INDENT), Piece("!", ALARM), Piece(" " + first[0].text.lstrip()))
        lines += [joined(mark), *rest]
    return lines


def remarks(session: SessionProfile) -> Iterator[str]:
    """Yield the remarks in words."""
    if session.regret is not None:
        yield from _remarks(session.regret)


def _remarks(found: RegretRow) -> Iterator[str]:
    if found.fetches:
        tokens = short(sum(row.tokens for row in found.fetches))
        yield (
            f"{plural(len(found.fetches), 'answer')} ({tokens} tokens) fetched again, unchanged, what had "
            f"left the context, first at call {found.fetches[0].call}"
        )
    if found.thrash > THRASH_LIMIT:
        yield f"thrash index {found.thrash:.2f} (fine is up to {THRASH_LIMIT}): stop evicting this"
    if found.edit_misses:
        yield f"{plural(found.edit_misses, 'edit')} failed right after the file had left the context"
    if found.receipt_misreads:
        receipts = plural(found.receipt_misreads, "receipt")
        yield f"{receipts} taken for data, or pointing at a text that is gone"
    if found.lost_sight:
        calls = ", ".join(map(str, found.lost_sight[:SHOWN]))
        yield f"the model says that what it read is gone (call {calls})"
    for spiral in found.spirals[:SHOWN]:
        yield _spiral(spiral)
    if len(found.spirals) > SHOWN:
        yield f"and {len(found.spirals) - SHOWN} more circles"
    if found.zero_write:
        yield "a change was asked for, and the session ended without one"


def _spiral(row: SpiralRow) -> str:
    tools = ", ".join(map(printable, row.tools))
    return (
        f"in circles from call {row.first_call} to {row.last_call}: {_CIRCLES[row.kind]}"
        f"{f' ({tools})' if tools else ''}, {row.times} times; {short(row.tokens)} input tokens after the "
        "first round"
    )
