"""Say in words which tags leak, and draw why their objects are still there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ctxheap_collector.report.contract import SessionProfile
from ctxheap_collector.report.figures import money, percent, percent_range, plural, short
from ctxheap_collector.report.findings import LeakRow, TraceNodeRow
from ctxheap_collector.report.layout import (
    INDENT,
    NO_BREAK,
    Line,
    Piece,
    joined,
    more,
    paragraph,
    printable,
    shorten,
    text,
)
from ctxheap_collector.report.palette import ALARM, FAINT, STRONG

JUDGED: Final = ("leak", "ballast")
_HOLDS: Final = {
    "root": "",
    "history": "held by the message list only",
    "pair": "pair: the API asks for it",
    "turn": "same turn: the API asks for it",
    "derivation": "its arguments came from there",
}


def suspects(session: SessionProfile, *, width: int, top: int, traced: bool = False) -> list[Line]:
    """Return a paragraph on each tag that leaks or is ballast, with the trace of an object if wanted."""
    judged = [row for row in session.leaks if row.verdict in JUDGED]
    lines: list[Line] = []
    for row in judged[: top or None]:
        lines += _suspect(row, session, width)
        if traced and row.trace:
            lines += [(), *_trace(row.trace, width), ()]
    lines += more(len(judged) - len(judged[: top or None]), "suspect")
    growing = [row for row in session.leaks if row.verdict not in JUDGED]
    return lines + _growing(growing, width)


def _suspect(row: LeakRow, session: SessionProfile, width: int) -> list[Line]:
    head = f"{row.severity or ''} {row.verdict}".strip()
    name = f"{'!' if row.severity == 'critical' else '·'} {head} · {printable(row.tag)}"
    style = ALARM if row.severity == "critical" else STRONG
    told = " ".join(sentences(row, session))
    return [text(f"{INDENT}{shorten(name, width - 2)}", style), *paragraph(told, width, indent=INDENT * 2)]


def sentences(row: LeakRow, session: SessionProfile) -> Iterator[str]:
    """Yield what speaks for the verdict on a tag, sentence by sentence; figures do not wrap."""
    tag = next((tag for tag in session.tags if tag.tag == row.tag), None)
    if tag is not None:
        what, held, whole = "token-calls", float(tag.token_calls), float(session.token_calls)
        low, high = float(tag.dead_low_token_calls), float(tag.dead_token_calls)
        if session.input_usd and tag.rent_usd and row.dead_low_usd is not None and row.dead_usd is not None:
            what, held, whole = "rent", tag.rent_usd, session.input_usd
            low, high = row.dead_low_usd, row.dead_usd
        held_share, dead = percent(held, whole), percent_range(low, high, held)
        verb = "holds" if tag.objects == 1 else "hold"
        yield f"{plural(tag.objects, 'object')} {verb} {_tight(held_share)} of this session's {what};"
        yield f"{_tight(dead)} of that was no longer used."
    if row.verdict == "leak":
        yield (
            f"Dead tokens were added at {plural(row.additions, 'call')} and grow by "
            f"{short(round(row.slope), gap=NO_BREAK)} a call."
        )
    elif row.level > 0:
        tokens = short(round(row.level), gap=NO_BREAK)
        yield f"It does not grow; {tokens} dead tokens are carried to the end."
    else:
        yield "It does not grow, and left before the end."
    if row.echo:
        yield "Each one holds the one before it whole."
    if row.score_usd:
        yield f"If the session went on as long again it would cost {money(row.score_usd)} more (gross)."
    if row.unusual:
        yield "That is more than in nine of ten sessions of this agent."


def _growing(rows: Sequence[LeakRow], width: int) -> list[Line]:
    if not rows:
        return []
    named = ", ".join(f"{printable(row.tag)} (+{short(round(row.slope))} a call)" for row in rows)
    return paragraph(f"growing, but in use: {named}", width, style=FAINT)


def _trace(nodes: Sequence[TraceNodeRow], width: int) -> Iterator[Line]:
    """Yield the way from the root to the object, suspect edges marked."""
    depth = INDENT * 2
    if nodes[0].hold == "history":
        yield text(f"{depth}the application's message list", FAINT)
    for place, node in enumerate(nodes):
        if place or node.hold == "history":
            mark, style = ("┊ ◀ suspect: ", ALARM) if node.suspect else ("│ ", FAINT)
            yield text(f"{depth}{mark}{_HOLDS[node.hold]}", style)
        about = f"{node.verdict}, {short(node.tokens)} tokens"
        idle = f", {plural(node.drag_calls, 'call')} without use" if node.drag_calls else ""
        name = shorten(printable(node.name), max(20, width - len(depth) - len(about) - len(idle) - 4))
        yield joined((Piece(depth + name), Piece(f"  {about}{idle}", FAINT)))


def _tight(words: str) -> str:
    return words.replace(" ", NO_BREAK)
