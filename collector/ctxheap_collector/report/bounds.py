"""Hold a profile to bounds, for CI: what passes them is named, session by session.

Bounds ──▶ broken(profile, bounds)   one `Breach` a session and figure, or leaking tag
       └─▶ unknown(profile, bounds)  one `Unknown` a session and figure that nobody can say
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ctxheap_collector.report.contract import Profile, SessionProfile
from ctxheap_collector.report.findings import LeakRow
from ctxheap_collector.report.layout import printable
from ctxheap_collector.report.row import IF_SET, Row
from ctxheap_collector.report.suspects import JUDGED, sentences

SEVERITIES: Final = ("none", "minor", "major", "critical")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Hold the largest values allowed; None leaves a figure unbounded.

    Attributes:
        peak: Context at its high-water mark, in tokens.
        peak_share: The same as a share of the model's window, 0 to 1.
        dead: Share of a session's token-calls that is surely dead, 0 to 1.
        unused: Share of its token-calls without later evidence of use, 0 to 1.
        rebill: Re-bill factor Στ/Σσ.
        cost_usd: Cost of a session, input and output, in USD.
        leak: Gravest leak or ballast that is still allowed, one of `SEVERITIES`.
    """

    peak: int | None = None
    peak_share: float | None = None
    dead: float | None = None
    unused: float | None = None
    rebill: float | None = None
    cost_usd: float | None = None
    leak: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach(Row):
    """Say that a figure passes its bound.

    Attributes:
        session: Id of the session; "" where an agent's figure grew.
        agent: Its name, "" for none.
        figure: Name of a figure of `Bounds`, or of one in a baseline.
        value: What it is, a number or a severity (by `LeakRow.share`, no share of the input bill).
        bound: What it may be at most.
        baseline: What it was when the baseline was saved.
        tag: Tag of a leak; with its `verdict` and a `reason` in words, whose shares are of the whole
            session's rent, or of its token-calls where a price is unknown.
    """

    session: str
    agent: str
    figure: str
    value: float | str
    bound: float | str
    baseline: float | None = field(default=None, metadata=IF_SET)
    tag: str | None = field(default=None, metadata=IF_SET)
    verdict: str | None = field(default=None, metadata=IF_SET)
    reason: str | None = field(default=None, metadata=IF_SET)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown(Row):
    """Say that a bound cannot be checked, since nobody knows the model's price or window."""

    session: str
    agent: str
    figure: str
    model: str


def broken(profile: Profile, bounds: Bounds) -> list[Breach]:
    """Return every breach of the bounds, by session; the order of the inputs does not matter."""
    return [breach for session in _sorted(profile) for breach in _breaches(session, bounds)]


def unknown(profile: Profile, bounds: Bounds) -> list[Unknown]:
    """Return what was bounded and is not known of a session."""
    return [
        Unknown(session=session.id, agent=session.agent, figure=figure, model=session.model)
        for session in _sorted(profile)
        for figure, value, bound in _figures(session, bounds)
        if value is None and bound is not None
    ]


def _sorted(profile: Profile) -> list[SessionProfile]:
    # Two files may hold sessions of one name.
    return sorted(profile.sessions, key=lambda each: (each.id, each.agent, each.token_calls, each.calls))


def _breaches(session: SessionProfile, bounds: Bounds) -> Iterator[Breach]:
    for figure, value, bound in _figures(session, bounds):
        if value is not None and bound is not None and value > bound:
            yield Breach(session=session.id, agent=session.agent, figure=figure, value=value, bound=bound)
    if bounds.leak is None:
        return
    allowed = SEVERITIES.index(bounds.leak)
    for leak in session.leaks:
        # What only grows, or grows so far in a session that still runs, has no verdict that could fail it.
        if leak.verdict in JUDGED and leak.severity and SEVERITIES.index(leak.severity) > allowed:
            yield _leak(session, leak, bounds.leak)


def _leak(session: SessionProfile, leak: LeakRow, bound: str) -> Breach:
    return Breach(
        session=session.id,
        agent=session.agent,
        figure="leak",
        value=leak.severity or "",
        bound=bound,
        tag=leak.tag,
        verdict=leak.verdict,
        reason=printable(" ".join(sentences(leak, session))),
    )


def _figures(session: SessionProfile, bounds: Bounds) -> Iterator[tuple[str, float | None, float | None]]:
    window = session.context.window
    paid = session.token_calls
    yield "peak", session.context.peak, bounds.peak
    yield "peak_share", session.context.peak / window if window else None, bounds.peak_share
    # Of a session that paid for nothing no share is dead.
    yield "dead", session.dead_low_token_calls / paid if paid else 0.0, bounds.dead
    yield "unused", session.dead_token_calls / paid if paid else 0.0, bounds.unused
    yield "rebill", session.rebill_factor or 0.0, bounds.rebill
    yield "cost_usd", session.cost_usd, bounds.cost_usd
