"""Draw what filled the context at its largest call, against the model's window."""

from __future__ import annotations

from collections.abc import Sequence

from ctxheap_collector.report.contract import SessionProfile, TagRow
from ctxheap_collector.report.figures import percent, short, whole
from ctxheap_collector.report.layout import (
    INDENT,
    Cell,
    Column,
    Line,
    Piece,
    Stretch,
    flow,
    joined,
    more,
    named,
    paragraph,
    shares,
    table,
    text,
)
from ctxheap_collector.report.palette import (
    FAINT,
    GROUPS,
    HATCH,
    RED_SHARE,
    SHADE,
    SOLID,
    TIER_COLOURS,
    YELLOW_SHARE,
    Tier,
    group_of,
    tier_of,
)

BAR_CELLS = 60
COLUMNS = (
    Column(""),
    Column("tag", is_left=True, least=18),
    Column("tokens"),
    Column("share"),
    Column("", is_left=True, least=10),
)


def high_water(session: SessionProfile, *, width: int, top: int) -> list[Line]:
    """Return the window as a gauge, and under it a bar for each tag."""
    if session.context.peak <= 0:
        return []
    lines = paragraph(_words(session), width)
    lines.append(())
    lines += _gauge(session, width - 2 * len(INDENT))
    rows = sorted((row for row in session.tags if row.at_peak), key=lambda row: -row.at_peak)
    if not rows:
        return lines
    shown = rows[: top or None]
    lines += ((), *table(COLUMNS, _cells(shown, session.context.peak), width))
    lines += more(len(rows) - len(shown), "tag")
    if any(row.dead_at_peak for row in shown):
        lines.append(text(f"{INDENT}{SOLID} in use   {SHADE} no later use   {HATCH} surely dead", FAINT))
    return lines


def _words(session: SessionProfile) -> str:
    context = session.context
    words = f"{whole(context.peak)} tokens at call {context.peak_call}"
    if context.window is None:
        return f"{words}; the model's window is not known."
    room = max(1, context.window - context.reserved)
    share = percent(context.peak, context.window)
    less = f" ({short(context.reserved)} reserved for the output)" if context.reserved else ""
    tier = tier_of(context.peak, room).upper()
    return f"{words}: {share} of the window of {whole(context.window)}{less}, {tier}."


def _gauge(session: SessionProfile, cells: int) -> list[Line]:
    """Return the context's groups side by side in a window's width, and a ruler of tiers."""
    context = session.context
    sizes = [
        sum(max(0, row.at_peak) for row in session.tags if group_of(row.tag) is group) for group in GROUPS
    ]
    filled = sum(sizes)
    total = max(context.window or filled, filled)
    if not total or cells < 10:
        return []
    *parts, free = shares([*sizes, total - filled], cells)
    blocks = [
        Piece(group.letter * part, f"{group.ink} on {group.colour}")
        for group, part in zip(GROUPS, parts, strict=True)
    ]
    bar = joined((Piece(INDENT), *blocks, Piece("·" * free, FAINT)))
    legend = [
        Piece(f"{group.letter} {group.label}  ", group.colour)
        for group, part in zip(GROUPS, parts, strict=True)
        if part
    ]
    ruler = [_ruler(context.window - context.reserved, total, cells)] if context.window else []
    return [bar, *ruler, *flow(legend, cells + 2 * len(INDENT))]


def _ruler(room: int, total: int, cells: int) -> Line:
    borders = [int(room * share) for share in (YELLOW_SHARE, RED_SHARE)]
    first, second = (max(1, round(border * cells / total)) for border in borders)
    tiers: tuple[tuple[Tier, str, int], ...] = (
        ("green", "green", first),
        ("yellow", f"yellow from {_tidy(borders[0])}", second - first),
        ("red", f"red from {_tidy(borders[1])}", cells - second),
    )
    return joined((Piece(INDENT), *(_tier(*tier) for tier in tiers)))


def _tidy(tokens: int) -> str:
    return short(tokens, gap=" ").replace(" ", "")


def _tier(tier: Tier, words: str, cells: int) -> Piece:
    label = words if len(words) + 4 <= cells else tier
    inner = f" {label} " if len(label) + 4 <= cells else ""
    return Piece(f"├{inner:─^{max(0, cells - 2)}}┤"[:cells], TIER_COLOURS[tier])


def _cells(rows: Sequence[TagRow], peak: int) -> list[list[Cell]]:
    largest = max(row.at_peak for row in rows)
    return [
        [
            Piece(group_of(row.tag).letter, group_of(row.tag).colour),
            named(row.tag),
            Piece(whole(row.at_peak)),
            Piece(percent(row.at_peak, peak)),
            _bar(row, largest),
        ]
        for row in rows
    ]


def _bar(row: TagRow, largest: int) -> Stretch:
    colour = group_of(row.tag).colour
    sure = row.dead_low_at_peak
    parts = (row.at_peak - row.dead_at_peak, row.dead_at_peak - sure, sure)

    def draw(width: int) -> Line:
        cells = max(1, row.at_peak * width // largest) if row.at_peak > 0 else 0
        marks = zip((SOLID, SHADE, HATCH), shares(parts, cells), strict=True)
        return tuple(Piece(mark * part, colour) for mark, part in marks)

    return Stretch(BAR_CELLS, draw)
