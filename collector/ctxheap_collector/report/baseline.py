"""Keep what an agent's sessions were like, and say what grew since.

{
  "baseline": 1,                 version of this format
  "ctxheap": "0.1.0",            program that wrote it
  "agents": {
    "NAME": {                    "" for sessions without a name; medians over the agent's sessions
      "sessions": 12,
      "peak": 48210.0,           tokens of the largest context
      "tokens_per_call": …,      tokens billed a call
      "growth_per_call": …,      tokens by which the context grew a call, from the first to the last
      "dead_per_call": …         tokens billed a call that had no later use
    }
  }
}
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final, cast

from ctxheap_collector.report.bounds import Breach
from ctxheap_collector.report.contract import Profile, ProfileError, SessionProfile
from ctxheap_collector.report.row import Row

VERSION: Final = 1
# Smaller growth is chance: a longer question, another date in a prompt.
LEAST_TOKENS: Final = 50.0

Figures = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncompared(Row):
    """Say that a baseline lacks these figures of an agent, so that nobody knows whether they grew."""

    agent: str
    figures: tuple[str, ...]


_KEPT: Final[Mapping[str, Callable[[SessionProfile], float]]] = {
    "peak": lambda session: session.context.peak,
    "tokens_per_call": lambda session: session.token_calls / max(session.calls, 1),
    "growth_per_call": lambda session: (
        (session.context.last - session.context.first) / max(session.calls - 1, 1)
    ),
    "dead_per_call": lambda session: session.dead_token_calls / max(session.calls, 1),
}


def baseline_of(profile: Profile) -> dict[str, dict[str, float]]:
    """Return the figures of each agent by name, medians over its sessions, in tokens."""
    return {
        agent: {name: round(float(median(map(figure, sessions))), 1) for name, figure in _KEPT.items()}
        for agent, sessions in _by_agent(profile).items()
    }


def grown(profile: Profile, baseline: Figures, *, growth: float, least: float = LEAST_TOKENS) -> list[Breach]:
    """Return the agents' figures that grew by more than a share of the baseline's.

    Args:
        profile: The profile of now.
        baseline: The figures of then; agents and figures that it lacks are new and pass (`uncompared`).
        growth: Largest growth allowed, 0.1 for a tenth.
        least: Growth of up to so many tokens is never a breach.
    """
    return [
        Breach(session="", agent=agent, figure=name, value=value, bound=bound, baseline=before)
        for agent, figures in baseline_of(profile).items()
        for name, value in figures.items()
        if (before := baseline.get(agent, {}).get(name)) is not None
        and value > (bound := round(before + max(growth * abs(before), least), 1))
    ]


def uncompared(profile: Profile, baseline: Figures) -> list[Uncompared]:
    """Return the agents, and the figures of others, of now that a baseline lacks."""
    return [
        Uncompared(agent=agent, figures=lacking)
        for agent, figures in baseline_of(profile).items()
        if (lacking := tuple(name for name in figures if name not in baseline.get(agent, {})))
    ]


def document(profile: Profile) -> bytes:
    """Return the baseline file of a profile, as text that a version control can compare."""
    sessions = _by_agent(profile)
    agents = {
        agent: {"sessions": len(sessions[agent]), **kept} for agent, kept in baseline_of(profile).items()
    }
    whole = {"baseline": VERSION, "ctxheap": profile.ctxheap, "agents": agents}
    return f"{json.dumps(whole, indent=2)}\n".encode()


def load(path: Path) -> Figures:
    """Return the figures of a baseline file.

    Raises:
        ProfileError: It cannot be read, or holds something else; the message names it and the remedy.
    """
    try:
        return _figures(json.loads(path.read_bytes()))
    except OSError as error:
        raise ProfileError(_unusable(path, str(error.strerror))) from error
    except RecursionError as error:
        raise ProfileError(_unusable(path, "nested too deeply for a baseline")) from error
    except json.JSONDecodeError as error:
        raise ProfileError(_unusable(path, f"not JSON: {error.msg} in line {error.lineno}")) from error
    except (ValueError, OverflowError) as error:
        raise ProfileError(_unusable(path, str(error))) from error


def _unusable(path: Path, reason: str) -> str:
    return f"{path}: {reason}; save a baseline first: ctxheap check PATH --save-baseline {path}"


def _figures(read: object) -> Figures:
    top = _fields(read, "a baseline")
    if top.get("baseline") != VERSION:
        raise ValueError(
            f'not a baseline of version {VERSION}: the key "baseline" is {top.get("baseline")!r}'
        )
    agents = _fields(top.get("agents"), '"agents"')
    return {agent: _numbers(agent, _fields(found, f"agent {agent!r}")) for agent, found in agents.items()}


def _numbers(agent: str, figures: Mapping[str, object]) -> Mapping[str, float]:
    for name, value in figures.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError(f"{name!r} of agent {agent!r} is {value!r}, not a number")
    return cast("Mapping[str, float]", figures)


def _fields(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not a JSON object")
    return cast("dict[str, object]", value)


def _by_agent(profile: Profile) -> Mapping[str, Sequence[SessionProfile]]:
    found: dict[str, list[SessionProfile]] = {}
    for session in profile.sessions:
        found.setdefault(session.agent, []).append(session)
    return dict(sorted(found.items()))
