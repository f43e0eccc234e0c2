"""Say in words what a session pays for, then what was billed, and at which price."""

from __future__ import annotations

from ctxheap_collector.report.contract import PriceSource, SessionProfile, TagRow
from ctxheap_collector.report.figures import (
    money,
    money_range,
    percent,
    percent_range,
    plural,
    short,
)
from ctxheap_collector.report.layout import INDENT, NO_BREAK, Line, Piece, joined, paragraph, printable
from ctxheap_collector.report.palette import ALARM, FAINT, STRONG

LABEL_CELLS = 10


def headline(session: SessionProfile, *, width: int) -> list[Line]:
    """Return the one thing to know about a session, as a paragraph."""
    if not session.token_calls:
        return paragraph("Nothing was sent to a model in this session.", width, style=STRONG)
    return paragraph(f"{_dead(session)} {_biggest(session)}", width, style=STRONG)


def _dead(session: SessionProfile) -> str:
    low, high = session.dead_low_token_calls, session.dead_token_calls
    if not high:
        return "Everything this session pays for was used to the end."
    dead_low, dead, bill = session.dead_low_rent_usd, session.dead_rent_usd, session.input_usd
    if dead_low is None or dead is None or not bill:
        share = _tight(percent_range(low, high, session.token_calls))
        return f"{share} of the tokens this session sends is no longer used."
    share = _tight(percent_range(dead_low, dead, bill))
    return (
        f"{share} of what this session pays for is no longer used: "
        f"{money_range(dead_low, dead)} of {money(bill)} input."
    )


def _biggest(session: SessionProfile) -> str:
    first = max(session.tags, key=_weight, default=None)
    if first is None:
        return ""
    if first.rent_usd is not None and session.input_usd:
        share = _tight(percent(first.rent_usd, session.input_usd))
        return f"The most goes to {printable(first.tag)}: {share} of the input bill."
    share = _tight(percent(first.token_calls, session.token_calls))
    return f"The most goes to {printable(first.tag)}: {share} of all token-calls."


def _weight(row: TagRow) -> tuple[float, int]:
    return (row.rent_usd or 0.0, row.token_calls)


def billed(session: SessionProfile, *, prices: PriceSource | None, width: int) -> list[Line]:
    """Return billed against allocated, the cache classes and the cost.

    Without reported usage nothing is known to be billed: what was sent is counted instead.
    """
    lines = paragraph(_factor(session), width)
    if not session.conservation.calls:
        return [*lines, *_cost(session, prices, width)]
    lines.append(())
    lines += _labelled("input", short(session.billed.input, gap=" "), _classes(session), width)
    lines += _labelled("output", short(session.billed.output, gap=" "), _reasoning(session), width)
    lines += _cost(session, prices, width)
    return lines


def _factor(session: SessionProfile) -> str:
    is_billed = session.conservation.calls > 0
    amount = _prose(session.billed.input if is_billed else session.token_calls)
    done, paid = ("billed", "paid") if is_billed else ("sent about", "sent")
    words = f"{done} {amount} input tokens for {_prose(session.allocated)} allocated"
    if session.rebill_factor is None:
        return f"{words}."
    return f"{words}: every token was {paid} {_times(session.rebill_factor)} on average."


def _times(factor: float) -> str:
    shown = f"{factor:.0f}" if factor >= 9.95 else f"{factor:.1f}"
    return "once" if shown == "1.0" else f"{shown} times"


def _classes(session: SessionProfile) -> list[str]:
    bill = session.billed
    parts = (
        ("uncached", bill.uncached),
        ("cache read", bill.cache_read),
        ("cache write", bill.cache_write),
    )
    return [f"{name} {short(tokens, gap=' ')} ({percent(tokens, bill.input)})" for name, tokens in parts]


def _reasoning(session: SessionProfile) -> list[str]:
    if not session.billed.reasoning:
        return []
    return [f"{short(session.billed.reasoning, gap=' ')} of it reasoning"]


def _cost(session: SessionProfile, prices: PriceSource | None, width: int) -> list[Line]:
    if session.cost_usd is None:
        return paragraph(_unknown_cost(session), width, style=ALARM)
    parts: list[str] = []
    if session.input_usd is not None:
        rest = max(0.0, session.cost_usd - session.input_usd)
        parts = [f"input {money(session.input_usd)}", f"output {money(rest)}"]
    if prices is not None:
        parts.append(f"prices: {prices.source}, {prices.date}")
    return _labelled("cost", money(session.cost_usd), parts, width)


def _unknown_cost(session: SessionProfile) -> str:
    models = [row.model or "without a name" for row in session.unpriced] or [session.model]
    named = ", ".join(printable(model) for model in models if model)
    return f"cost unknown: no price for model {named}" if named else "cost unknown: no price known"


def _labelled(label: str, figure: str, parts: list[str], width: int) -> list[Line]:
    """Return a figure and its parts; parts that find no room go on lines of their own."""
    head = (Piece(f"{INDENT}{label:<{LABEL_CELLS}}"), Piece(f"{figure:<9}", STRONG))
    left = len(INDENT) + LABEL_CELLS + 9
    rows: list[str] = []
    for part in parts:
        longer = f"{rows[-1]} · {part}" if rows else part
        if rows and left + len(longer) <= width:
            rows[-1] = longer
        else:
            rows.append(part)
    if not rows:
        return [(head[0], Piece(figure, STRONG))]
    under = [(Piece(" " * left), Piece(row, FAINT)) for row in rows[1:]]
    return [joined((*head, Piece(rows[0], FAINT))), *under]


def title(session: SessionProfile, *, width: int) -> list[Line]:
    """Return which session this is."""
    parts = [
        printable(words)
        for words in (session.agent, session.model or "model unknown", session.format)
        if words
    ]
    about = " · ".join((*parts, plural(session.calls, "call")))
    name = f"session {printable(session.id)}"
    if len(name) + len(about) + 3 <= width:
        return [(Piece(name, STRONG), Piece(f" · {about}", FAINT))]
    return [(Piece(name, STRONG),), *paragraph(about, width, style=FAINT)]


def _prose(tokens: int) -> str:
    return short(tokens, gap=NO_BREAK)


def _tight(words: str) -> str:
    return words.replace(" ", NO_BREAK)
