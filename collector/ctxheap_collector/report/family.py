"""Order sessions by what they cost, children under their parents, and find the one asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ctxheap_collector.report.contract import Profile, ProfileError, SessionProfile

SUGGESTED = 5
_LONG = re.compile(r"^([0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Family:
    """Hold a session with its sub-agents and forks, largest first.

    `below` are those of the children, each with its own.
    """

    head: SessionProfile
    below: tuple[Family, ...]

    def members(self) -> Iterator[SessionProfile]:
        """Yield the session and everything below it, parents first."""
        yield self.head
        for family in self.below:
            yield from family.members()

    @property
    def cost_usd(self) -> float | None:
        """Return the cost of all members, None as soon as one is unknown."""
        costs = [member.cost_usd for member in self.members()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    @property
    def known_usd(self) -> float:
        """Return the cost of those members whose cost is known."""
        return sum(member.cost_usd or 0.0 for member in self.members())

    @property
    def token_calls(self) -> int:
        """Return the token-calls of all members."""
        return sum(member.token_calls for member in self.members())


def families(sessions: Sequence[SessionProfile]) -> list[Family]:
    """Return sessions as families, most expensive first, by token-calls where a price is missing.

    A session whose parent is not at hand, or is its own ancestor, heads a family.
    """
    known = {session.id: session for session in sessions}
    children: dict[str, list[SessionProfile]] = {}
    heads: list[SessionProfile] = []
    for session in sessions:
        if session.parent in known and not _is_loop(session, known):
            children.setdefault(session.parent or "", []).append(session)
        else:
            heads.append(session)
    return _ranked([_grow(head, children) for head in heads])


def _is_loop(session: SessionProfile, known: dict[str, SessionProfile]) -> bool:
    seen: set[str] = set()
    at: SessionProfile | None = session
    while at is not None and at.id not in seen:
        seen.add(at.id)
        at = known.get(at.parent or "")
    return at is not None


def _grow(head: SessionProfile, children: dict[str, list[SessionProfile]]) -> Family:
    below = [_grow(child, children) for child in children.get(head.id, ())]
    return Family(head, tuple(_ranked(below)))


def _ranked(found: list[Family]) -> list[Family]:
    if any(family.cost_usd is None for family in found):
        return sorted(found, key=lambda family: -family.token_calls)
    return sorted(found, key=lambda family: -(family.cost_usd or 0.0))


def short_id(session: str) -> str:
    """Return a session's id with only the first eight digits of a UUID before it, as tables show it."""
    return _LONG.sub(r"\1", session)


def is_meant(session: str, wanted: str) -> bool:
    """Return whether an id begins as a person typed it, whole or as tables show it."""
    return session.startswith(wanted) or short_id(session).startswith(wanted)


def select(profile: Profile, wanted: str) -> Profile:
    """Return the profile with only the session wanted and what is below it.

    Raises:
        ProfileError: No session, or more than one, has an id that begins so.
    """
    exact = [session for session in profile.sessions if session.id == wanted]
    found = exact or [session for session in profile.sessions if is_meant(session.id, wanted)]
    if len(found) != 1 or not wanted:
        raise ProfileError(_not_one(wanted, found, profile))
    orphan = replace(found[0], parent=None)
    others = [session for session in profile.sessions if session.id != orphan.id]
    head = next(family for family in families([orphan, *others]) if family.head is orphan)
    kept = {member.id for member in head.members()}
    return replace(profile, sessions=tuple(s for s in profile.sessions if s.id in kept))


def _not_one(wanted: str, found: Sequence[SessionProfile], profile: Profile) -> str:
    if found:
        names = _some([session.id for session in found])
        return f"{len(found)} sessions begin with {wanted!r}: {names}; give more of the id"
    largest = [family.head.id for family in families(profile.sessions)]
    return no_session(wanted, largest, read=sum(report.sessions for report in profile.files))


def no_session(wanted: str, largest: Sequence[str], *, read: int) -> str:
    """Return that no id of `read` sessions begins as wanted, with the largest ones' where they are known."""
    if not largest:
        return f"there is no session {wanted!r} among the {read} read"
    return f"there is no session {wanted!r}; the largest are {_some(largest)}"


def _some(ids: Sequence[str]) -> str:
    names = ", ".join(ids[:SUGGESTED])
    return names if len(ids) <= SUGGESTED else f"{names}, …"
