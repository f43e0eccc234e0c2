"""Find what should not be sent at all: tools never called, prompt paragraphs never taken up, idle skills.

    sessions of one agent ──▶ tool definitions ──▶ by tool ──▶ by MCP server (mcp__server__tool)
                          ──▶ system prompts   ──▶ by paragraph
                          ──▶ skill texts      ──▶ by skill

These are questions to a fleet: what one session does not need, the next one may. Freeing does not
help either, since the next session is sent the same again, so the remedy lies upstream. All money
is gross: a shorter prefix is also a cheaper cache.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ctxheap.analysis.study import Study
from ctxheap.heap.facts.records import Section
from ctxheap.heap.records import HeapObject
from ctxheap.heap.subject import base_of

MIN_SESSIONS = 5
"""Sessions from which on "never" is worth a word."""
MIN_PROMPT_SESSIONS = 50
"""The same for a paragraph, which only some tasks need: never in 50 is at most 6 % at 95 % confidence."""
MIN_TELLING = 6
"""Names and uncommon words that a paragraph needs for its silence to mean something."""
_MCP = re.compile(r"mcp__(.+?)__")
_SKILL = re.compile(r"Base directory for this skill: *\S*?([^/\\\s\"…]+)[/\\]?(?=[\s\"…]|$)")


@dataclass(frozen=True, slots=True)
class Offer:
    """Hold what a fleet was sent of one tool, MCP server or skill, and what came of it.

    Attributes:
        name: Name of the tool, server or skill.
        kind: `tool`, `server` or `skill`.
        tools: Names of a server's tools; of a tool or skill its own name.
        sessions: Sessions that were sent it.
        sessions_used: Those among them that called it (a skill: took something up from it).
        calls: Tool calls, of a skill outputs that used it.
        tokens: Size of it in the last prompt, the mean over the sessions.
        token_calls: Tokens billed for it over all calls.
        rent_usd: Gross money paid for it, None when the price of any call is unknown.
    """

    name: str
    kind: str
    tools: tuple[str, ...]
    sessions: int
    sessions_used: int
    calls: int
    tokens: float
    token_calls: int
    rent_usd: float | None

    @property
    def is_unused(self) -> bool:
        """Return whether no session ever used it."""
        return self.sessions_used == 0


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Hold what a fleet was sent of one paragraph of a system prompt, and what came of it.

    Attributes:
        digest: Digest of its text, the same in every session.
        title: First words of it.
        sessions: Sessions that were sent it.
        sessions_used: Those in which an output took something up from it.
        share: Its share of the prompt, the mean over the sessions.
        telling: Names and uncommon words that few other paragraphs hold.
        tokens: Size of it in the last prompt, the mean over the sessions.
        token_calls: Tokens billed for it over all calls.
        rent_usd: Gross money paid for it, None when the price of any call is unknown.
    """

    digest: str
    title: str
    sessions: int
    sessions_used: int
    share: float
    telling: int
    tokens: float
    token_calls: float
    rent_usd: float | None

    @property
    def is_unused(self) -> bool:
        """Return whether it says enough to be recognised and no session ever took it up."""
        return self.sessions_used == 0 and self.telling >= MIN_TELLING


@dataclass(slots=True)
class _Sum:
    """Add up one thing over the sessions that were sent it."""

    sessions: int = 0
    sessions_used: int = 0
    uses: int = 0
    tokens: float = 0.0
    token_calls: float = 0.0
    usd: float = 0.0
    is_priced: bool = True

    def add(self, study: Study, shares: Iterable[tuple[int, float]], uses: int) -> None:
        """Add what one session was sent: shares of objects by number."""
        self.sessions += 1
        self.sessions_used += uses > 0
        self.uses += uses
        self.is_priced &= study.is_priced and not study.account.unpriced
        at_last = study.heap.calls[-1].number
        size = 0.0
        for number, share in shares:
            sums = study.account.objects[number]
            size += share * sums.last if study.heap.objects[number].last == at_last else 0.0
            self.token_calls += share * sums.token_calls
            self.usd += share * sums.rent_usd
        self.tokens += size

    @property
    def rent_usd(self) -> float | None:
        """Return the money, None when any of it is unknown."""
        return self.usd if self.is_priced else None


def offered_tools(studies: Iterable[Study]) -> list[Offer]:
    """Return the tools whose definitions a fleet was sent, the most token-calls first."""
    return _offers(studies, "tool", lambda item: [item.tag.partition(":")[2]])


def offered_servers(studies: Iterable[Study]) -> list[Offer]:
    """Return the MCP servers whose tools a fleet was sent, the most token-calls first."""
    return _offers(studies, "server", lambda item: _MCP.findall(item.tag.partition(":")[2])[:1])


def loaded_skills(studies: Iterable[Study]) -> list[Offer]:
    """Return the skills whose texts a fleet was sent, the most token-calls first."""
    sums: dict[str, _Sum] = {}
    for study in studies:
        loaded: dict[str, list[int]] = {}
        for item in study.heap.objects:
            if item.tag == "harness:skill":
                loaded.setdefault(skill_of(item.name), []).append(item.number)
        for name, numbers in loaded.items():
            uses = {call for number in numbers for call in study.account.uses[number]}
            sums.setdefault(name, _Sum()).add(study, [(number, 1.0) for number in numbers], len(uses))
    return _sorted([_offer(name, "skill", (name,), found) for name, found in sums.items()])


def prompt_paragraphs(studies: Iterable[Study]) -> list[Paragraph]:
    """Return the paragraphs of a fleet's system prompts, the most token-calls first."""
    sums: dict[str, _Sum] = {}
    examples: dict[str, list[Section]] = {}
    for study in studies:
        sent: dict[str, list[Section]] = {}
        for section in study.heap.facts.sections:
            sent.setdefault(section.digest, []).append(section)
        for digest, sections in sent.items():
            shares = [(section.number, section.share) for section in sections]
            uses = sum(section.uses for section in sections)
            sums.setdefault(digest, _Sum()).add(study, shares, uses)
            examples.setdefault(digest, []).append(sections[0])
    found = [_paragraph(examples[digest], each) for digest, each in sums.items()]
    return sorted(found, key=lambda each: (-each.token_calls, each.digest))


def never_called(offers: Iterable[Offer], *, min_sessions: int = MIN_SESSIONS) -> list[Offer]:
    """Return what enough sessions were sent and none used."""
    return [offer for offer in offers if offer.is_unused and offer.sessions >= min_sessions]


def never_taken_up(
    paragraphs: Iterable[Paragraph], *, min_sessions: int = MIN_PROMPT_SESSIONS
) -> list[Paragraph]:
    """Return the paragraphs that enough sessions were sent and no output took anything up from.

    These are candidates for a condition, not for deletion: a rule that was obeyed leaves no trace.
    """
    return [each for each in paragraphs if each.is_unused and each.sessions >= min_sessions]


def skill_of(name: str) -> str:
    """Return the name of a skill from the name of the object that holds its text."""
    found = _SKILL.search(name)
    return found[1] if found else name


def _offers(
    studies: Iterable[Study], kind: str, names_of: Callable[[HeapObject], Sequence[str]]
) -> list[Offer]:
    sums: dict[str, _Sum] = {}
    tools: dict[str, set[str]] = {}
    for study in studies:
        offered: dict[str, list[int]] = {}
        called: dict[str, int] = {}
        for item in study.heap.objects:
            base = base_of(item.tag)
            for name in names_of(item) if base in ("tool_definition", "tool_call") else ():
                if base == "tool_call":
                    called[name] = called.get(name, 0) + 1
                else:
                    offered.setdefault(name, []).append(item.number)
                    tools.setdefault(name, set()).add(item.tag.partition(":")[2])
        for name, numbers in offered.items():
            found = sums.setdefault(name, _Sum())
            found.add(study, [(number, 1.0) for number in numbers], called.get(name, 0))
    return _sorted([_offer(name, kind, sorted(tools[name]), found) for name, found in sums.items()])


def _offer(name: str, kind: str, tools: Iterable[str], found: _Sum) -> Offer:
    return Offer(
        name=name,
        kind=kind,
        tools=tuple(tools),
        sessions=found.sessions,
        sessions_used=found.sessions_used,
        calls=found.uses,
        tokens=found.tokens / found.sessions,
        token_calls=round(found.token_calls),
        rent_usd=found.rent_usd,
    )


def _sorted(offers: list[Offer]) -> list[Offer]:
    return sorted(offers, key=lambda offer: (-offer.token_calls, offer.name))


def _paragraph(examples: Sequence[Section], found: _Sum) -> Paragraph:
    return Paragraph(
        digest=examples[0].digest,
        title=examples[0].title,
        sessions=found.sessions,
        sessions_used=found.sessions_used,
        share=sum(each.share for each in examples) / len(examples),
        telling=max(each.telling for each in examples),
        tokens=found.tokens / found.sessions,
        token_calls=found.token_calls,
        rent_usd=found.rent_usd,
    )
