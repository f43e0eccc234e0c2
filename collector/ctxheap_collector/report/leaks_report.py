"""Write what leaks as a report for people: what many sessions share, then each session with its traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ctxheap_collector.report.contract import Profile, SessionProfile
from ctxheap_collector.report.family import short_id
from ctxheap_collector.report.figures import money, percent, plural, short
from ctxheap_collector.report.fleet import Fleet, GroupRow
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
    text,
)
from ctxheap_collector.report.palette import ALARM, FAINT, STRONG
from ctxheap_collector.report.regretted import regrets, remarks
from ctxheap_collector.report.sheet import View, section
from ctxheap_collector.report.suspects import JUDGED, suspects

GROUP_COLUMNS: Final = (
    Column("leak", is_left=True, least=24),
    Column("signature", is_left=True, drop=2),
    Column("severity", is_left=True),
    Column("sessions"),
    Column("objects", drop=3),
    Column("dead"),
    Column("a week", drop=1),
)


def leaks_report(profile: Profile, found: Fleet, view: View) -> list[Line]:
    """Return the report as lines that fit."""
    lines: list[Line] = []
    if len(profile.sessions) > 1:
        lines += section("over all sessions, money gross", _groups(found.groups, view), view)
        lines += section("over time", list(_fleet(found, view.width)), view)
    told = sorted((session for session in profile.sessions if _is_told(session)), key=_weight)
    shown = told[: view.top or None]
    for session in shown:
        name = f"session {short_id(session.id)}"
        lines += section(printable(name), _session(session, view), view)
    lines += more(len(told) - len(shown), "session")
    if not any(map(_leaks, profile.sessions)):
        words = f"no leak and no ballast in {plural(len(profile.sessions), 'session')}"
        lines += [text(words, STRONG)]
    return [safe(line, view.width) for line in lines]


def _leaks(session: SessionProfile) -> bool:
    return any(row.verdict in JUDGED for row in session.leaks)


def _is_told(session: SessionProfile) -> bool:
    """Return whether a session leaks, or regrets something."""
    return _leaks(session) or next(remarks(session), None) is not None


def _weight(session: SessionProfile) -> tuple[bool, float, int]:
    return not _leaks(session), -(session.dead_rent_usd or 0.0), -session.dead_token_calls


def _session(session: SessionProfile, view: View) -> list[Line]:
    lines = suspects(session, width=view.width, top=view.top, traced=True)
    return [*lines, *regrets(session, width=view.width)]


def _groups(rows: Sequence[GroupRow], view: View) -> list[Line]:
    shown = rows[: view.top or None]
    if not shown:
        return []
    lines = table(GROUP_COLUMNS, [_group(row) for row in shown], view.width)
    return [*lines, *more(len(rows) - len(shown), "leak")]


def _group(row: GroupRow) -> list[Cell]:
    name = f"{row.agent}: {row.tag}" if row.agent else row.tag
    return [
        named(name),
        Piece(row.signature[:10]),
        Piece(row.severity, ALARM if row.severity == "critical" else ""),
        Piece(short(row.sessions)),
        Piece(short(row.objects)),
        Piece(money(row.dead_usd) if row.dead_usd is not None else f"{short(row.dead_token_calls)} t-calls"),
        Piece("–" if row.usd_per_week is None else money(row.usd_per_week)),
    ]


def _fleet(found: Fleet, width: int) -> Iterator[Line]:
    for each in found.recurrences:
        if each.recurs:
            low, high = percent(each.low, 1.0), percent(each.high, 1.0)
            words = (
                f"{_whose(each.agent, each.tag)} leaks in {each.flagged} of {each.sessions} sessions "
                f"(95 % interval {low} to {high})"
            )
            yield from paragraph(words, width)
    for creep in found.creeps:
        growth = f"{short(round(creep.slope))} tokens from session to session at the first call"
        words = f"{_whose(creep.agent, creep.tag)} grows by {growth}"
        yield from paragraph(words, width)
    for row in found.regressions:
        if row.worse:
            interval = f"{percent(row.low, 1.0)} to {percent(row.high, 1.0)}"
            words = (
                f"{_whose(row.agent, row.tag)} grows faster since the release: {percent(row.shift, 1.0)} of "
                f"the input more ({interval}; {row.old} sessions before, {row.new} since)"
            )
            yield from paragraph(words, width, style=ALARM)
    if not found.recurrences and not found.creeps and not found.regressions:
        yield text("  nothing that recurs in an agent's sessions or grows between them", FAINT)


def _whose(agent: str, tag: str) -> str:
    return printable(f"{agent}: {tag}" if agent else tag)
