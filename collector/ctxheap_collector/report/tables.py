"""Draw the tables of a session: its tags and its largest objects, with the phases of their lives."""

from __future__ import annotations

from typing import Final

from ctxheap_collector.report.contract import ObjectRow, Phase, SessionProfile, TagRow
from ctxheap_collector.report.figures import money, percent_range, short
from ctxheap_collector.report.layout import (
    INDENT,
    Cell,
    Column,
    Line,
    Piece,
    Stretch,
    flow,
    more,
    named,
    shares,
    table,
    text,
)
from ctxheap_collector.report.palette import FAINT, PHASES, group_of

PHASE_CELLS = 24
SUPERSEDED = "†"
TAG_COLUMNS = (
    Column(""),
    Column("tag", is_left=True, least=21),
    Column("objs", drop=5),
    Column("alloc", drop=6),
    Column("now", drop=2),
    Column("peak", drop=1),
    Column("t-calls"),
    Column("rent"),
    Column("phases", is_left=True, least=8, drop=4),
    Column("dead"),
)
OBJECT_COLUMNS = (
    Column(""),
    Column("object", is_left=True, least=26),
    Column("calls", drop=5),
    Column("tokens"),
    Column("retain", drop=3),
    Column("t-calls"),
    Column("rent"),
    Column("phases", is_left=True, least=8, drop=6),
    Column("phase", is_left=True, drop=2),
    Column("last use", is_left=True, drop=1),
)


# What stands for a last use where no evidence is listed (SPEC 5.4).
_UNUSED: Final[dict[Phase, str]] = {"lag": "not yet", "void": "never"}
_SHARED: Final = {
    "tool_call": "as result",
    "agent_output": "next call",
    "agent_reasoning": "next call",
}


def tags(session: SessionProfile, *, width: int, top: int) -> list[Line]:
    """Return one line a tag: how many, how large, how dear, and how much of it was of use."""
    if not session.tags:
        return []
    ranked = sorted(session.tags, key=lambda row: (-(row.rent_usd or 0.0), -row.token_calls))
    shown = ranked[: top or None]
    lines = table(TAG_COLUMNS, [_tag(row) for row in shown], width)
    return [*lines, *more(len(session.tags) - len(shown), "tag"), *_phase_legend(width)]


def _tag(row: TagRow) -> list[Cell]:
    group = group_of(row.tag)
    return [
        Piece(group.letter, group.colour),
        named(row.tag),
        Piece(short(row.objects)),
        Piece(short(row.allocated)),
        Piece(short(row.resident)),
        Piece(short(row.peak)),
        Piece(short(row.token_calls)),
        Piece(money(row.rent_usd)),
        _phases(row),
        Piece(percent_range(row.dead_low_token_calls, row.dead_token_calls, row.token_calls)),
    ]


def _phases(row: TagRow | ObjectRow) -> Stretch:
    amounts = (row.lag, row.use, row.drag, row.void)

    def draw(width: int) -> Line:
        parts = zip(PHASES, shares(amounts, width), strict=True)
        return tuple(Piece(mark * cells, colour) for (_, mark, colour), cells in parts)

    return Stretch(PHASE_CELLS, draw)


def _phase_legend(width: int) -> list[Line]:
    parts = [Piece(f"{mark} {name}   ", colour) for name, mark, colour in PHASES]
    meaning = Piece("t-calls: tokens × calls they stayed", FAINT)
    return flow([Piece("phases   ", FAINT), *parts, meaning], width)


def objects(session: SessionProfile, *, width: int, top: int) -> list[Line]:
    """Return one line an object, largest token-calls first."""
    shown = session.objects[: top or None]
    if not shown:
        return []
    lines = table(OBJECT_COLUMNS, [_object(row) for row in shown], width)
    lines += more(max(session.objects_total, len(session.objects)) - len(shown), "object")
    if any(row.superseded_by for row in shown):
        lines.append(text(f"{INDENT}{SUPERSEDED} superseded by a later object", FAINT))
    return lines


def _object(row: ObjectRow) -> list[Cell]:
    group = group_of(row.tag)
    phase = {name: colour for name, _, colour in PHASES}[row.phase]
    return [
        Piece(group.letter, group.colour),
        named(row.name),
        Piece(f"{row.birth}–{row.last}", FAINT),
        Piece(short(row.tokens)),
        Piece(short(row.retained)),
        Piece(short(row.token_calls)),
        Piece(money(row.rent_usd)),
        _phases(row),
        Piece(row.phase + (SUPERSEDED if row.superseded_by else ""), phase),
        Piece(_last_use(row)),
    ]


def _last_use(row: ObjectRow) -> str:
    if row.uses:
        last = row.uses[-1]
        return f"@{last.call} {last.rule}"
    if row.phase in _UNUSED:
        return _UNUSED[row.phase]
    return _SHARED.get(row.tag.partition(":")[0], "inherent")
