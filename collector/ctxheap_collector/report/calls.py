"""List every call of a session: what was sent, at which rate, and what came back."""

from __future__ import annotations

from typing import Final

from ctxheap_collector.report.contract import SessionProfile, TimelineRow
from ctxheap_collector.report.figures import short
from ctxheap_collector.report.layout import Cell, Column, Line, Piece, named, table
from ctxheap_collector.report.palette import ALARM, FAINT

COLUMNS: Final = (
    Column("call"),
    Column("started", is_left=True, drop=2),
    Column("model", is_left=True, least=8, drop=3),
    Column("input"),
    Column("change"),
    Column("read"),
    Column("written"),
    Column("output"),
    Column("reasoning", drop=1),
    Column("", is_left=True, least=8),
)


def calls(session: SessionProfile, *, width: int) -> list[Line]:
    """Return one line a call, all of them."""
    rows = session.timeline or ()
    before = (0, *(row.input for row in rows))
    compacted = {row.call for row in session.compactions}
    cells = [_call(row, last, row.call in compacted) for row, last in zip(rows, before, strict=False)]
    return table(COLUMNS, cells, width) if cells else []


def _call(row: TimelineRow, before: int, is_compacted: bool) -> list[Cell]:
    return [
        Piece(str(row.call)),
        Piece((row.started or "")[:19].replace("T", " "), FAINT),
        named(row.model, FAINT),
        Piece(short(row.input)),
        Piece(("+" if row.input >= before else "") + short(row.input - before), FAINT),
        Piece(short(row.cache_read)),
        Piece(short(row.cache_write)),
        Piece(short(row.output)),
        Piece(short(row.reasoning)),
        named(_remarks(row, is_compacted), ALARM),
    ]


def _remarks(row: TimelineRow, is_compacted: bool) -> str:
    marks = {"compacted": is_compacted, "estimated": row.estimated, "incomplete": row.incomplete}
    return ", ".join(word for word, holds in marks.items() if holds)
