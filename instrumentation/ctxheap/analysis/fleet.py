"""Judge an agent over its sessions: what recurs, what creeps in, what a release made worse (SPEC 6, fleet).

recurrence   the same tag leaks in more sessions than chance explains
creep        a tag is larger at the first call of every newer session
regression   a tag grows faster under a new release than under the old one
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ctxheap.analysis.floor import Floor, floor_lite
from ctxheap.analysis.statistics import (
    Shift,
    benjamini_hochberg,
    binomial_tail,
    hodges_lehmann,
    rank_sum_p,
    wilson,
)

CHANCE = 0.10
"""Share of sessions in which a tag of a healthy agent may be flagged."""
MIN_FLAGGED = 2
MIN_SESSIONS = 5
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Recurrence:
    """Say in how many sessions of an agent a tag leaks.

    Attributes:
        low: Lower end of the 95 % Wilson interval of `flagged` / `sessions`; `high` the upper end.
        p: P(at least as many of `sessions` by chance); `q` corrected over all agents and tags.
        recurs: Whether q is at most 0.05.
    """

    agent: str
    tag: str
    flagged: int
    sessions: int
    low: float
    high: float
    p: float
    q: float
    recurs: bool


@dataclass(frozen=True, slots=True)
class Creep:
    """Say whether a tag grows from session to session at the first call.

    Attributes:
        tested: The trend over sessions in start order; its slope is in tokens per session.
        q: Its p corrected over the tags of the agent.
        creeps: Whether the growth is real (q at most 0.05) and costs at least 3 % of first calls.
    """

    tag: str
    tested: Floor
    q: float
    creeps: bool


@dataclass(frozen=True, slots=True)
class Regression:
    """Compare a tag's growth under two releases.

    Attributes:
        shift: Hodges–Lehmann shift new − old of the slope share, with its 95 % interval.
        p: Two-sided p of the rank-sum test; `q` corrected over the tags.
        is_worse: Whether q is at most 0.05 and the shift is above 0.
        old: Sessions of the old release; `new` of the new one.
    """

    tag: str
    shift: Shift
    p: float
    q: float
    is_worse: bool
    old: int
    new: int


def recurrences(sessions: Iterable[tuple[str, Mapping[str, bool]]]) -> list[Recurrence]:
    """Return how often each tag of each agent leaks, the surest first.

    Takes, per session, the agent and whether each of its tags leaks. Agents with fewer than five
    sessions and tags that were flagged fewer than twice say nothing.
    """
    totals: Counter[str] = Counter()
    flagged: Counter[tuple[str, str]] = Counter()
    for agent, tags in sessions:
        totals[agent] += 1
        flagged.update((agent, tag) for tag, leaks in tags.items() if leaks)
    found = [
        _recurrence(agent, tag, hits=hits, sessions=totals[agent])
        for (agent, tag), hits in flagged.items()
        if hits >= MIN_FLAGGED and totals[agent] >= MIN_SESSIONS
    ]
    qs = benjamini_hochberg([item.p for item in found])
    corrected = [replace(item, q=q, recurs=q <= ALPHA) for item, q in zip(found, qs, strict=True)]
    return sorted(corrected, key=lambda item: (item.q, item.agent, item.tag))


def _recurrence(agent: str, tag: str, *, hits: int, sessions: int) -> Recurrence:
    low, high = wilson(hits, sessions)
    p = binomial_tail(hits, sessions, chance=CHANCE)
    return Recurrence(agent, tag, hits, sessions, low, high, p, p, recurs=False)


def creeps(sessions: Sequence[Mapping[str, int]]) -> list[Creep]:
    """Return the trend of every tag over sessions, from its tokens at the first call of each.

    `sessions` come in start order. There is no warm-up to leave out between sessions.
    """
    inputs = [sum(tokens.values()) for tokens in sessions]
    tags = list(dict.fromkeys(tag for tokens in sessions for tag in tokens))
    tested = [floor_lite([tokens.get(tag, 0) for tokens in sessions], inputs, warm=0.0) for tag in tags]
    qs = benjamini_hochberg([floor.p for floor in tested])
    return [
        Creep(tag, floor, q, creeps=floor.word == "leak" and q <= ALPHA)
        for tag, floor, q in zip(tags, tested, qs, strict=True)
    ]


def regressions(old: Mapping[str, Sequence[float]], new: Mapping[str, Sequence[float]]) -> list[Regression]:
    """Return how the growth of every tag changed between two releases, the surest first.

    Takes, by tag, the slope share of every session of a release: b·n(n−1)/2 over its input tokens. A
    tag that only one release has is left out.
    """
    tags = [tag for tag in old if old[tag] and new.get(tag)]
    ps = [rank_sum_p(old[tag], new[tag]) for tag in tags]
    found = [
        _regression(tag, old[tag], new[tag], p=p, q=q)
        for tag, p, q in zip(tags, ps, benjamini_hochberg(ps), strict=True)
    ]
    return sorted(found, key=lambda item: (item.q, item.tag))


def _regression(tag: str, old: Sequence[float], new: Sequence[float], *, p: float, q: float) -> Regression:
    shift = hodges_lehmann(old, new)
    return Regression(tag, shift, p, q, q <= ALPHA and shift.estimate > 0, len(old), len(new))
