"""Hold a profile to bounds, for CI: what passes them is named, session by session.

Bounds ──▶ broken(profile, bounds) ──▶ one `Breach` a session and bound
baseline ─▶ grown(profile, baseline, …) ──▶ the same for what grew since it was saved
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from ctxheap_collector.report.contract import Profile, SessionProfile
from ctxheap_collector.report.row import Row

SEVERITIES: Final = ("minor", "major", "critical")
ANY_AGENT: Final = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Hold the largest values allowed; None leaves a figure unbounded.

    Attributes:
        peak: Context at its high-water mark, in tokens.
        peak_share: The same as a share of the model's window, 0 to 1.
        dead: Share of a session's token-calls that is surely dead, 0 to 1.
        unused: Share of its token-calls without later evidence of use, 0 to 1.
        rebill: Re-bill factor Στ/Σσ.
        cost_usd: Cost of a session.
        leak: Gravest leak that is still allowed: "none", "minor" or "major"; None allows all.
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
        session: Id of the session; the agent's name for a growth against a baseline.
        figure: Name of the figure.
        tag: Tag of a leak, else "".
        value: What it is, a number or a severity.
        bound: What it may be at most.
    """

    session: str
    figure: str
    tag: str = ""
    value: float | str
    bound: float | str


def broken(profile: Profile, bounds: Bounds) -> list[Breach]:
    """Return every breach of the bounds, sessions in the profile's order."""
    return [breach for session in profile.sessions for breach in _session(session, bounds)]


def _session(session: SessionProfile, bounds: Bounds) -> Iterator[Breach]:
    for figure, value, bound in _figures(session, bounds):
        if value is not None and bound is not None and value > bound:
            yield Breach(session=session.id, figure=figure, value=value, bound=bound)
    if bounds.leak is None:
        return
    allowed = SEVERITIES.index(bounds.leak) if bounds.leak in SEVERITIES else -1
    for leak in session.leaks:
        if leak.severity in SEVERITIES and SEVERITIES.index(leak.severity) > allowed:
            yield Breach(
                session=session.id, figure=leak.verdict, tag=leak.tag, value=leak.severity, bound=bounds.leak
            )


def _figures(session: SessionProfile, bounds: Bounds) -> Iterable[tuple[str, float | None, float | None]]:
    window = session.context.window
    paid = session.token_calls
    return (
        ("peak", session.context.peak, bounds.peak),
        ("peak_share", session.context.peak / window if window else None, bounds.peak_share),
        ("dead", session.dead_low_token_calls / paid if paid else None, bounds.dead),
        ("unused", session.dead_token_calls / paid if paid else None, bounds.unused),
        ("rebill", session.rebill_factor, bounds.rebill),
        ("cost_usd", session.cost_usd, bounds.cost_usd),
    )


# What a baseline keeps of each agent: medians over its sessions.
_KEPT: Final[Mapping[str, Callable[[SessionProfile], float]]] = {
    "peak": lambda session: session.context.peak,
    "tokens_per_call": lambda session: session.token_calls / max(session.calls, 1),
    "growth_per_call": lambda session: (
        (session.context.last - session.context.first) / max(session.calls - 1, 1)
    ),
    "dead_per_call": lambda session: session.dead_token_calls / max(session.calls, 1),
}


def baseline_of(profile: Profile) -> dict[str, dict[str, float]]:
    """Return the figures of each agent, medians over its sessions, in tokens."""
    return {
        agent: {name: round(median(map(figure, sessions)), 1) for name, figure in _KEPT.items()}
        for agent, sessions in _by_agent(profile.sessions).items()
    }


def grown(
    profile: Profile, baseline: Mapping[str, Mapping[str, float]], *, growth: float, least: float
) -> list[Breach]:
    """Return the agents' figures that grew by more than a share of the baseline's.

    Args:
        profile: The profile of now.
        baseline: What `baseline_of` returned then; agents that it lacks are new and pass.
        growth: Largest growth allowed, 0.1 for a tenth.
        least: Growth below so many tokens is never a breach.
    """
    breaches: list[Breach] = []
    for agent, figures in baseline_of(profile).items():
        for name, value in figures.items():
            before = baseline.get(agent, {}).get(name)
            if before is None:
                continue
            bound = before + max(growth * abs(before), least)
            if value > bound:
                breaches.append(Breach(session=agent, figure=name, value=value, bound=round(bound, 1)))
    return breaches


def _by_agent(sessions: Sequence[SessionProfile]) -> dict[str, list[SessionProfile]]:
    found: dict[str, list[SessionProfile]] = {}
    for session in sessions:
        found.setdefault(session.agent or ANY_AGENT, []).append(session)
    return dict(sorted(found.items()))
