"""Define what `ctxheap leaks --json` prints."""

from __future__ import annotations

from dataclasses import dataclass

from ctxheap_collector.report.contract import FileReport, Profile, SessionProfile
from ctxheap_collector.report.findings import LeakRow, RegretRow
from ctxheap_collector.report.fleet import Fleet
from ctxheap_collector.report.row import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLeaks(Row):
    """Hold the verdicts on one session, and what it regrets; fields as in the profile."""

    id: str
    parent: str | None
    agent: str
    model: str
    calls: int
    token_calls: int
    leaks: tuple[LeakRow, ...]
    regret: RegretRow | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaksDocument(Row):
    """Hold a whole run of `ctxheap leaks`."""

    ctxheap: str
    files: tuple[FileReport, ...]
    sessions: tuple[SessionLeaks, ...]
    fleet: Fleet


def document(profile: Profile, found: Fleet) -> LeaksDocument:
    """Return the document of a profile and of what its sessions share."""
    return LeaksDocument(
        ctxheap=profile.ctxheap,
        files=profile.files,
        sessions=tuple(map(_session, profile.sessions)),
        fleet=found,
    )


def _session(session: SessionProfile) -> SessionLeaks:
    return SessionLeaks(
        id=session.id,
        parent=session.parent,
        agent=session.agent,
        model=session.model,
        calls=session.calls,
        token_calls=session.token_calls,
        leaks=session.leaks,
        regret=session.regret,
    )
