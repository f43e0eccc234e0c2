"""Say what freeing would save net of the prompt cache, and what broke the cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxheap_collector.report.contract import SessionProfile
from ctxheap_collector.report.figures import money, plural, short
from ctxheap_collector.report.findings import CacheBreakRow, SuggestionRow
from ctxheap_collector.report.layout import (
    Cell,
    Column,
    Line,
    Piece,
    more,
    named,
    paragraph,
    printable,
    safe,
    table,
)
from ctxheap_collector.report.palette import FAINT, FINE
from ctxheap_collector.report.sheet import View, section

SHOWN_REJECTED: Final = 3
SUGGESTION_COLUMNS: Final = (
    Column("rule", is_left=True, least=30),
    Column("frees"),
    Column("tokens", drop=3),
    Column("gross", drop=2),
    Column("re-bill", drop=4),
    Column("regret", drop=1),
    Column("net"),
    Column("pays after", drop=5),
)
CAUSES: Final = {
    "ttl": "the cache's time to live passed",
    "model": "another model",
    "tools": "other tool definitions",
    "system": "the system prompt was edited",
    "volatile": "a date or id in the system prompt or a tool",
    "compaction": "compaction",
    "eviction": "content left out of the middle",
    "rewrite": "content was rewritten",
    "insertion": "content was put in front of old content",
    "provider": "nothing in the prompts: the provider's side",
}


def suggestions(found: Sequence[SuggestionRow], *, width: int, top: int) -> list[Line]:
    """Return the rules that would pay, and why the next best would not."""
    accepted = [row for row in found if row.accepted and row.action != "pin"]
    rejected = [row for row in found if not row.accepted]
    lines: list[Line] = []
    shown = accepted[: top or None]
    if shown:
        lines += table(SUGGESTION_COLUMNS, [_rule(row) for row in shown], width)
        lines += more(len(accepted) - len(shown), "rule")
    elif rejected:
        lines += paragraph("No rule would have paid here, net of re-billing and regret.", width)
    for row in found:
        if row.accepted and row.action == "pin":
            cost = _worth(row.net_usd, row.net_tokens)
            pinned = (
                f"pin {printable(row.tag)}: {printable(row.evidence)}; freeing them would have cost {cost}"
            )
            lines += paragraph(pinned, width)
    for row in rejected[: len(rejected) if top == 0 else SHOWN_REJECTED]:
        rule = f"{row.action} {printable(row.tag)}".strip()
        lines += paragraph(f"not {rule}: {row.reason}", width, style=FAINT)
    return lines


def advice_report(found: Sequence[SuggestionRow], sessions: int, view: View) -> list[Line]:
    """Return the suggestions for many sessions as lines that fit."""
    name = f"what freeing would save in {plural(sessions, 'session')}"
    rules = suggestions(found, width=view.width, top=view.top)
    nothing = paragraph("Nothing to suggest: no rule finds anything to free here.", view.width)
    lines = section(name, rules or nothing, view)
    evidence = [row for row in found if row.accepted and row.evidence]
    why = [line for row in evidence[: view.top or None] for line in _evidence(row, view.width)]
    return [safe(line, view.width) for line in (*lines, *section("why", why, view))]


def _evidence(row: SuggestionRow, width: int) -> list[Line]:
    rule = f"{row.action} {printable(row.tag)}".strip()
    return paragraph(f"{rule}: {printable(row.evidence)}; confidence {row.confidence}; {row.reason}", width)


def _rule(row: SuggestionRow) -> list[Cell]:
    after = "–" if row.break_even_calls is None else plural(round(row.break_even_calls), "call")
    return [
        named(f"{row.action} {row.tag}".strip()),
        Piece(short(row.objects)),
        Piece(short(row.tokens)),
        Piece(_worth(row.gross_usd, row.gross_tokens)),
        Piece(_worth(row.rebill_usd, row.rebill_tokens)),
        Piece(_worth(row.regret_usd, row.regret_tokens)),
        Piece(_worth(row.net_usd, row.net_tokens), FINE),
        Piece(after),
    ]


def _worth(usd: float | None, tokens: float) -> str:
    """Return money, or where no price is known what it comes to in uncached input tokens."""
    return money(usd) if usd is not None else f"{short(round(tokens))}t"


def cache(session: SessionProfile, *, width: int) -> list[Line]:
    """Return what was billed again because the cached prefix broke, by cause, and where freeing was free."""
    lines: list[Line] = []
    for cause, rows in _by_cause(session.cache_breaks).items():
        usd = [row.gross_usd for row in rows if row.gross_usd is not None]
        paid = f", {money(sum(usd))} above reading it (gross)" if len(usd) == len(rows) else ""
        calls = ", ".join(str(row.call) for row in rows[:5]) + (", …" if len(rows) > 5 else "")
        tokens = short(sum(row.tokens for row in rows))
        breaks = plural(len(rows), "break")
        words = f"{CAUSES[cause]}: {breaks}, {tokens} tokens billed anew{paid} (call {calls})"
        lines += paragraph(words, width)
    if session.gc_points:
        dead = max(session.gc_points, key=lambda point: point.dead)
        lines += paragraph(
            f"Freeing was free at {plural(len(session.gc_points), 'call')}, where the cache was cold anyway; "
            f"at call {dead.call} {short(dead.dead_low)}–{short(dead.dead)} tokens were dead.",
            width,
        )
    return lines


def _by_cause(rows: Sequence[CacheBreakRow]) -> dict[str, list[CacheBreakRow]]:
    found: dict[str, list[CacheBreakRow]] = {}
    for row in rows:
        found.setdefault(row.cause, []).append(row)
    return dict(sorted(found.items(), key=lambda each: -sum(row.tokens for row in each[1])))
