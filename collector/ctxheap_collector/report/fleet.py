"""Look at an agent's sessions together: what recurs, what creeps in, what a release made worse.

groups        leaks with one signature, whatever the session
recurrences   tags that leak in more of an agent's sessions than chance explains
creeps        tags that are larger at the first call of every newer session
regressions   tags that grow faster since a release
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ctxheap.analysis.fleet import Creep, Recurrence, Regression, creeps, recurrences, regressions
from ctxheap_collector.report.contract import Profile, SessionProfile
from ctxheap_collector.report.findings import LeakRow
from ctxheap_collector.report.row import Row

MIN_SESSIONS: Final = 5
WEEK_SECONDS: Final = 7 * 24 * 3600.0
_JUDGED: Final = ("leak", "ballast")
_GRAVITY: Final = ("critical", "major", "minor")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow(Row):
    """Hold the leaks of one signature.

    Attributes:
        severity: The gravest of them.
        sessions: Sessions that have it; `objects` are the dead objects in all of them.
        dead_usd: Rent paid for what was dead under the tag, upper end, gross: the sum of the rows'
            `dead_usd`; None where any price is unknown.
        usd_per_week: The same per week from the first to the last of these sessions, over a week at
            least; None without money or times.
        example: Id of the session that has most of it.
    """

    signature: str
    tag: str
    agent: str
    severity: str
    sessions: int
    objects: int
    dead_token_calls: int
    dead_usd: float | None
    usd_per_week: float | None
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrenceRow(Row):
    """Say that a tag leaks in `flagged` of an agent's `sessions`; `low` to `high` is the 95 % interval."""

    agent: str
    tag: str
    flagged: int
    sessions: int
    low: float
    high: float
    q: float
    recurs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CreepRow(Row):
    """Say how a tag grows at the first call from session to session, in tokens per session."""

    agent: str
    tag: str
    slope: float
    share: float
    q: float
    creeps: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionRow(Row):
    """Compare how a tag grows before and since a release.

    `shift` is the Hodges–Lehmann shift of the share of the input that its growth costs, with its 95 %
    interval `low` to `high`; `old` and `new` are numbers of sessions.
    """

    agent: str
    tag: str
    shift: float
    low: float
    high: float
    q: float
    worse: bool
    old: int
    new: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet(Row):
    """Hold what sessions have in common."""

    groups: tuple[GroupRow, ...]
    recurrences: tuple[RecurrenceRow, ...]
    creeps: tuple[CreepRow, ...]
    regressions: tuple[RegressionRow, ...]


def fleet(profile: Profile, *, release: datetime | None = None) -> Fleet:
    """Return what the sessions of a profile have in common; it must have been made with its timeline.

    `release` parts the sessions that started before it from the others.
    """
    return Fleet(
        groups=tuple(groups(profile.sessions)),
        recurrences=tuple(map(_recurrence, recurrences(_flags(profile.sessions)))),
        creeps=tuple(_creeps(profile.sessions)),
        regressions=tuple(_regressions(profile.sessions, release)) if release else (),
    )


def groups(sessions: Iterable[SessionProfile]) -> list[GroupRow]:
    """Return leaks and ballast by signature, the most money first, then the most token-calls."""
    found: dict[str, list[tuple[SessionProfile, LeakRow]]] = {}
    for session in sessions:
        for row in session.leaks:
            if row.verdict in _JUDGED and row.signature:
                found.setdefault(row.signature, []).append((session, row))
    rows = [_group(members) for members in found.values()]
    return sorted(rows, key=lambda row: (-(row.dead_usd or 0.0), -row.dead_token_calls, row.signature))


def _group(members: Sequence[tuple[SessionProfile, LeakRow]]) -> GroupRow:
    head, first = max(members, key=lambda each: each[1].dead_token_calls)
    dead = [row.dead_usd for _, row in members if row.dead_usd is not None]
    dead_usd = sum(dead) if len(dead) == len(members) else None
    weeks = _weeks([session for session, _ in members])
    return GroupRow(
        signature=first.signature,
        tag=first.tag,
        agent=head.agent,
        severity=min((row.severity or "minor" for _, row in members), key=_GRAVITY.index),
        sessions=len({session.id for session, _ in members}),
        objects=sum(row.objects for _, row in members),
        dead_token_calls=sum(row.dead_token_calls for _, row in members),
        dead_usd=dead_usd,
        usd_per_week=None if dead_usd is None or weeks is None else dead_usd / weeks,
        example=head.id,
    )


def _weeks(sessions: Sequence[SessionProfile]) -> float | None:
    times = [time for session in sessions if (time := started(session)) is not None]
    if len(times) < len(sessions):
        return None
    return max(1.0, (max(times) - min(times)).total_seconds() / WEEK_SECONDS)


def started(session: SessionProfile) -> datetime | None:
    """Return when the first call of a session began, None where the source has no times."""
    first = session.timeline[0].started if session.timeline else None
    return datetime.fromisoformat(first) if first else None


def _flags(sessions: Iterable[SessionProfile]) -> Iterator[tuple[str, Mapping[str, bool]]]:
    for session in sessions:
        leaks = {row.tag for row in session.leaks if row.verdict == "leak"}
        yield session.agent, {tag.tag: tag.tag in leaks for tag in session.tags}


def _recurrence(found: Recurrence) -> RecurrenceRow:
    return RecurrenceRow(
        agent=found.agent,
        tag=found.tag,
        flagged=found.flagged,
        sessions=found.sessions,
        low=found.low,
        high=found.high,
        q=found.q,
        recurs=found.recurs,
    )


def _creeps(sessions: Sequence[SessionProfile]) -> Iterator[CreepRow]:
    for agent, members in _in_order(sessions).items():
        firsts = [session.timeline[0].tags for session in members if session.timeline]
        for found in creeps(firsts) if len(firsts) >= MIN_SESSIONS else ():
            if found.creeps:
                yield _creep(agent, found)


def _creep(agent: str, found: Creep) -> CreepRow:
    tested = found.tested
    return CreepRow(
        agent=agent, tag=found.tag, slope=tested.slope, share=tested.share, q=found.q, creeps=found.creeps
    )


def _in_order(sessions: Iterable[SessionProfile]) -> dict[str, list[SessionProfile]]:
    """Return each agent's sessions of known time in start order; sub-agents are agents of their own."""
    found: dict[str, list[tuple[datetime, SessionProfile]]] = {}
    for session in sessions:
        time = started(session)
        if time is not None:
            found.setdefault(session.agent, []).append((time, session))
    return {
        agent: [session for _, session in sorted(members, key=lambda each: (each[0], each[1].id))]
        for agent, members in found.items()
    }


def _regressions(sessions: Iterable[SessionProfile], release: datetime) -> Iterator[RegressionRow]:
    for agent, members in _in_order(sessions).items():
        old = [session for session in members if (started(session) or release) < release]
        new = members[len(old) :]
        if min(len(old), len(new)) >= MIN_SESSIONS:
            for found in regressions(_slope_shares(old), _slope_shares(new)):
                yield _regression(agent, found)


def _slope_shares(sessions: Sequence[SessionProfile]) -> dict[str, list[float]]:
    """Return, by tag, the share of each session's input that its growth costs (SPEC 6, step 7)."""
    tags = dict.fromkeys(tag.tag for session in sessions for tag in session.tags)
    return {tag: [_slope_share(session, tag) for session in sessions] for tag in tags}


def _slope_share(session: SessionProfile, tag: str) -> float:
    slope = next((row.slope for row in session.leaks if row.tag == tag), 0.0)
    pairs = session.calls * (session.calls - 1) / 2
    return slope * pairs / session.token_calls if session.token_calls else 0.0


def _regression(agent: str, found: Regression) -> RegressionRow:
    return RegressionRow(
        agent=agent,
        tag=found.tag,
        shift=found.shift.estimate,
        low=found.shift.low,
        high=found.shift.high,
        q=found.q,
        worse=found.is_worse,
        old=found.old,
        new=found.new,
    )
