"""Say what else happened in a session, compactions and sub-agents, and how far to trust its figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ctxheap_collector.report.contract import FileReport, Profile, SessionProfile, SkippedRow
from ctxheap_collector.report.family import Family, short_id
from ctxheap_collector.report.figures import UNKNOWN, money, percent, percent_range, plural, short
from ctxheap_collector.report.layout import (
    INDENT,
    NO_BREAK,
    Cell,
    Column,
    Line,
    Piece,
    joined,
    more,
    named,
    paragraph,
    printable,
    shorten,
    table,
    text,
)
from ctxheap_collector.report.palette import ALARM, FINE, STRONG

UNATTRIBUTED_BOUND: Final = 0.05
SHOWN_REASONS: Final = 3
PATH_CELLS: Final = 48
FAMILY_COLUMNS: Final = (
    Column("session", is_left=True, least=16),
    Column("model", is_left=True, least=15, drop=3),
    Column("calls"),
    Column("billed"),
    Column("peak", drop=2),
    Column("re-bill", drop=1),
    Column("dead"),
    Column("cost"),
)


def compactions(session: SessionProfile, *, top: int) -> list[Line]:
    """Return one line a compaction, in call order."""
    shown = session.compactions[: top or None]
    lines = [text(f"{INDENT}before call {row.call}: {_fall(row.before, row.after)}") for row in shown]
    return [*lines, *more(len(session.compactions) - len(shown), "compaction")]


def _fall(before: int | None, after: int) -> str:
    if before is None:
        return f"{short(after)} tokens left"
    return f"{short(before)} → {short(after)} tokens ({percent(before - after, before)} freed)"


def overview(found: Sequence[Family], *, width: int, top: int) -> list[Line]:
    """Return one line a session, sub-agents counted in, and the sum."""
    shown = found[: top or None]
    rows = [_whole(family) for family in shown]
    lines = table(FAMILY_COLUMNS, rows, width)
    return [*lines, *more(len(found) - len(shown), "session"), *_total(found, "all together", width)]


def _total(found: Sequence[Family], label: str, width: int) -> list[Line]:
    members = [member for family in found for member in family.members()]
    parts = (
        plural(len(members), "session"),
        plural(sum(member.calls for member in members), "call"),
        f"{_billed(members)} input tokens billed",
        _cost(found),
    )
    return paragraph(f"{label}: {', '.join(parts)}", width, style=STRONG)


def _cost(found: Sequence[Family]) -> str:
    known = sum(family.known_usd for family in found)
    if all(family.cost_usd is not None for family in found):
        return money(known)
    return f"{money(known)} + unknown" if known else "cost unknown"


def _whole(family: Family) -> list[Cell]:
    members = list(family.members())
    below = f" +{len(members) - 1}" if len(members) > 1 else ""
    head = family.head
    cost = money(family.cost_usd) if family.cost_usd is not None else f"{money(family.known_usd)} + ?"
    return [
        named(_name(head) + below),
        named(_model(head)),
        Piece(short(sum(member.calls for member in members))),
        Piece(_billed(members)),
        Piece(short(max(member.context.peak for member in members))),
        Piece(_factor(head)),
        Piece(_dead(members)),
        Piece(cost if family.known_usd else money(family.cost_usd)),
    ]


def _billed(members: Sequence[SessionProfile]) -> str:
    """Return the input of sessions, marked where some of it is counted for lack of usage."""
    counted = sum(member.token_calls for member in members if not member.conservation.calls)
    total = sum(member.billed.input for member in members) + counted
    return f"~{short(total)}" if counted else short(total)


def _name(session: SessionProfile) -> str:
    name = short_id(session.id)
    return f"{session.agent} {name}" if session.agent else name


def _model(session: SessionProfile) -> str:
    """Return the model without the date of its release, which tables have no room for."""
    return re.sub(r"[-@]20\d{6}$", "", session.model) or UNKNOWN


def _factor(session: SessionProfile) -> str:
    return "–" if session.rebill_factor is None else f"{session.rebill_factor:.1f}×"


def _dead(members: Sequence[SessionProfile]) -> str:
    low = sum(member.dead_low_token_calls for member in members)
    high = sum(member.dead_token_calls for member in members)
    return percent_range(low, high, sum(member.token_calls for member in members))


def sub_agents(family: Family, *, width: int, top: int) -> list[Line]:
    """Return the sessions below one, indented under their parents, and the sum of all."""
    rows = [_one(member, depth) for member, depth in _walk(family.below, 0)]
    if not rows:
        return []
    shown = rows[: top or None]
    lines = table(FAMILY_COLUMNS, shown, width)
    return [
        *lines,
        *more(len(rows) - len(shown), "sub-agent"),
        *_total([family], "with the session itself", width),
    ]


def _walk(below: Sequence[Family], depth: int) -> Iterator[tuple[SessionProfile, int]]:
    for family in below:
        yield family.head, depth
        yield from _walk(family.below, depth + 1)


def _one(session: SessionProfile, depth: int) -> list[Cell]:
    return [
        named(f"{'  ' * depth}└ {printable(_name(session))}"),
        named(_model(session)),
        Piece(short(session.calls)),
        Piece(_billed([session])),
        Piece(short(session.context.peak)),
        Piece(_factor(session)),
        Piece(_dead([session])),
        Piece(money(session.cost_usd)),
    ]


def quality(session: SessionProfile, *, width: int) -> list[Line]:
    """Return what bears on the trust in a session's figures, defects marked with an exclamation."""
    lines = _remark(_conservation(session), width, is_fine=_is_exact(session))
    for words in _defects(session):
        lines += _remark(words, width)
    return lines


def inputs(profile: Profile, *, width: int, top: int) -> list[Line]:
    """Return how much of each input was left out, and why, and what concerns the whole run."""
    spoilt = [report for report in profile.files if report.skipped]
    lines = [line for words in profile.warnings for line in _remark(words, width)]
    for report in spoilt[: top or None]:
        lines += _remark(_reasons(report), width)
    return [*lines, *more(len(spoilt) - len(spoilt[: top or None]), "input")]


def _is_exact(session: SessionProfile) -> bool:
    return session.conservation.exact_calls == session.conservation.calls > 0


def _conservation(session: SessionProfile) -> str:
    kept = session.conservation
    if not kept.calls:
        return "no call reports its usage: all tokens are our own counts"
    words = f"objects add up to the bill at {kept.exact_calls:,} of {plural(kept.calls, 'call')} with usage"
    if not session.billed.input:
        return words
    share = percent(abs(kept.unattributed_tokens), session.billed.input)
    return f"{words}; {share.replace(' ', NO_BREAK)} unattributed"


def _defects(session: SessionProfile) -> Iterator[str]:
    """Yield one sentence for each thing that is not as it should be."""
    found = session.quality
    if abs(session.conservation.unattributed_tokens) > UNATTRIBUTED_BOUND * session.billed.input:
        yield (
            "more than 5 % of the bill is unattributed: a defect of the capture, which lacks parts of the "
            "prompt or holds some twice"
        )
    if found.estimated_calls and session.conservation.calls:
        yield f"{plural(found.estimated_calls, 'call')} without reported usage: tokens are our own counts"
    if found.implied_calls:
        yield f"{plural(found.implied_calls, 'call')} that no record shows but that must have happened"
    if found.incomplete_calls:
        yield f"{plural(found.incomplete_calls, 'call')} with parts of the prompt missing from the capture"
    if found.scale_outside_calls:
        yield _scale(session)
    for row in session.unpriced:
        model = printable(row.model) or "a model without a name"
        usage = f"{plural(row.calls, 'call')}, {short(row.input)} in, {short(row.output)} out"
        yield f"no price for {model}: {usage} are left out of the money"
    yield from map(printable, found.warnings)


def _scale(session: SessionProfile) -> str:
    found = session.quality
    low, high = found.scale_low or 0.0, found.scale_high or 0.0
    calls = plural(found.scale_outside_calls, "call")
    return (
        f"{calls} billed far from our count (factor {low:.2f}–{high:.2f}; fine is 0.7–1.5): a wrong "
        "tokenizer, stripped thinking, a compaction by the provider, or a message captured twice"
    )


def _remark(words: str, width: int, *, is_fine: bool = False) -> list[Line]:
    mark, style = ("✓", FINE) if is_fine else ("!", ALARM)
    lines = paragraph(words, width, indent=INDENT * 2)
    first = (Piece(INDENT), Piece(mark, style), Piece(" " + lines[0][0].text.lstrip()))
    return [joined(first), *lines[1:]]


def _reasons(report: FileReport) -> str:
    path = shorten(printable(report.path), PATH_CELLS)
    if not report.sessions:
        return f"{path} was not read: {report.skipped[0].reason.removeprefix(f'{report.path}: ')}"
    shown = [_reason(row) for row in report.skipped[:SHOWN_REASONS]]
    rest = len(report.skipped) - len(shown)
    return f"{path}: {'; '.join(shown)}{f'; and {rest:,} more' if rest else ''}"


def _reason(row: SkippedRow) -> str:
    return f"line {row.line}: {printable(row.reason)}" if row.line else printable(row.reason)
