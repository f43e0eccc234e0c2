"""Bring the traces of many sessions together that have one cause: equal signatures (SPEC 6)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from ctxheap.analysis.trace_records import Leaks, Trace

WEEK_NS = 7 * 24 * 3600 * 10**9


def signature(agent: str, rule: str, tag: str, *, edges: Sequence[str], arguments: str) -> str:
    """Return the SHA-1 by which equal leaks are found in other sessions, 40 hexadecimal digits."""
    fields = (agent, rule, tag, *edges, arguments)
    return hashlib.sha1("\0".join(fields).encode(), usedforsecurity=False).hexdigest()


def group(traces: Iterable[Trace]) -> list[Leaks]:
    """Return the traces by signature, the most money first, then the most tokens."""
    groups: dict[str, list[Trace]] = {}
    for each in traces:
        groups.setdefault(each.signature, []).append(each)
    found = [_leaks(signature, members) for signature, members in groups.items()]
    return sorted(found, key=lambda each: (-(each.dead_usd or 0.0), -each.tokens, each.signature))


def _leaks(signature: str, members: Sequence[Trace]) -> Leaks:
    paid = [each.dead_usd for each in members if each.dead_usd is not None]
    dead_usd = sum(paid) if len(paid) == len(members) else None
    weeks = _weeks(members)
    return Leaks(
        signature=signature,
        count=len(members),
        sessions=len({each.session for each in members}),
        tokens=sum(each.tokens for each in members),
        dead_usd=dead_usd,
        usd_per_week=None if dead_usd is None or weeks is None else dead_usd / weeks,
        example=max(members, key=lambda each: (each.dead_usd or 0.0, each.tokens)),
    )


def _weeks(members: Sequence[Trace]) -> float | None:
    """Return the weeks from the first to the last call of these sessions, at least one."""
    times = [each.started_ns for each in members if each.started_ns is not None]
    if len(times) < len(members):
        return None
    span = max(last for _, last in times) - min(first for first, _ in times)
    return max(1.0, span / WEEK_NS)
