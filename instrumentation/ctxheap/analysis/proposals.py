"""Propose rules for a session: which of its objects each would free, and from which call on (SPEC 8).

    surely dead            ──▶ dedupe, after as many idle calls as such objects were still used after
    idle for M calls       ──▶ evict, M beyond every gap after which the tag was used again
    very long              ──▶ truncate

A rule knows no future. What it would have freed before a use is named, so that it can be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

from ctxheap.analysis.freeing import KEEP_CALLS, Candidate
from ctxheap.analysis.reuse import Reuse
from ctxheap.analysis.series import ThetaOf
from ctxheap.analysis.study import Study
from ctxheap.analysis.verdicts import Leak
from ctxheap.heap.records import HeapObject
from ctxheap.heap.subject import base_of
from ctxheap.reclaim.policy import TRUNCATE_TOKENS, Match, Rule, When

FREEABLE = frozenset({"tool_result", "tool_call", "retrieval", "media", "memory", "harness", "example"})
"""Kinds that rules may free; the model's own text stays with its turn (SPEC 8)."""
EVICTABLE = FREEABLE - {"tool_call"}
RECEIPT_TOKENS = 60
MIN_TOKENS = 200
"""Objects below this are not worth a receipt."""
MIN_IDLE_CALLS = 6
USUAL_IDLE_CALLS = 12
IDLE_MARGIN = 1.5
"""How far beyond the longest gap after which a tag was used again an idle rule must stay."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Hold one rule with what it would do to the session.

    Attributes:
        candidates: What it would free, each from its call on.
        used_later: Numbers of those among them that were used at that call or later.
        idle: Idle calls after which it frees; 0 where that is no condition.
        is_sure: Whether it frees only what is surely dead.
        evidence: What speaks for it.
    """

    rule: Rule
    tag: str
    candidates: tuple[Candidate, ...]
    used_later: tuple[int, ...]
    idle: int
    is_sure: bool
    evidence: str


def proposals(
    study: Study, leaks: Iterable[Leak], reuse: Reuse, *, theta: ThetaOf | None = None
) -> list[Proposal]:
    """Return the rules worth weighing, in the order in which a policy should hold them."""
    dead = {leak.tag: leak for leak in leaks if leak.verdict in ("leak", "ballast")}
    groups: dict[str, list[HeapObject]] = {}
    for item in study.heap.objects:
        if base_of(item.tag) in FREEABLE and not item.inherent and item.kind != "hidden":
            groups.setdefault(item.tag, []).append(item)
    found: list[Proposal] = []
    for tag, items in groups.items():
        found.extend(_dedupe(study, tag, items))
    for tag, items in groups.items():
        if base_of(tag) in EVICTABLE:
            found.extend(_truncate(study, tag, items, reuse))
            found.extend(_evict(study, dead[tag], items, reuse, theta) if tag in dead else ())
    return [each for each in found if each.candidates]


def _dedupe(study: Study, tag: str, items: Sequence[HeapObject]) -> Iterator[Proposal]:
    """Yield the rule that frees what is surely dead; later uses make it wait."""
    lives = study.account.lives
    sure = [
        item for item in items if lives[item.number].sure is not None and _size(study, item) >= MIN_TOKENS
    ]
    idle = max((_late_gap(study, item) for item in sure), default=0)
    since = {item.number: lives[item.number].sure or 0 for item in sure}
    rule = Rule(
        "dedupe",
        Match(tags=(tag,)),
        When(superseded=True, idle_calls=idle, min_tokens=MIN_TOKENS),
        reason="superseded, invalidated or a copy of a later object",
    )
    later = f", {idle} idle calls waited for" if idle else ""
    yield _proposal(
        study,
        rule,
        sure,
        lambda item: _idle_from(study, idle, item, since=since[item.number]),
        idle=idle,
        is_sure=True,
        evidence=f"{len(sure)} of {len(items)} objects were surely dead while in the prompt{later}",
    )


def _late_gap(study: Study, item: HeapObject) -> int:
    """Return one more than the longest idle time before a use that came after an object was out of date."""
    start = max(study.account.lives[item.number].sure or 0, item.birth + KEEP_CALLS)
    found, before = 0, item.birth
    for call in sorted(study.account.uses[item.number]):
        if call >= start:
            found = max(found, call - before + 1)
        before = call
    return found


def _evict(
    study: Study, leak: Leak, items: Sequence[HeapObject], reuse: Reuse, theta: ThetaOf | None
) -> Iterator[Proposal]:
    """Yield the usual idle rule where it would err, and the one that waits beyond every known gap."""
    large = [item for item in items if _size(study, item) >= MIN_TOKENS]
    longest = reuse.longest(leak.tag)
    fleet = theta(leak.tag) if theta else None
    safe = max(MIN_IDLE_CALLS, ceil(IDLE_MARGIN * longest), fleet or 0)
    usual = [USUAL_IDLE_CALLS] if longest >= USUAL_IDLE_CALLS else []
    for idle in [*usual, safe]:
        yield _proposal(
            study,
            Rule(
                "evict",
                Match(tags=(leak.tag,)),
                When(idle_calls=idle, min_tokens=MIN_TOKENS),
                reason=f"{leak.verdict}: not used for {idle} calls",
            ),
            large,
            partial(_idle_from, study, idle),
            idle=idle,
            is_sure=False,
            evidence=(
                f"{leak.verdict}, {leak.share:.0%} of the session dead under the tag; longest time before"
                f" a use {longest} calls, {reuse.watched(leak.tag, idle=idle)} objects idle for {idle}"
            ),
        )


def _truncate(study: Study, tag: str, items: Sequence[HeapObject], reuse: Reuse) -> Iterator[Proposal]:
    """Yield the rule that cuts very long objects once their newest calls are over."""
    long = [item for item in items if _size(study, item) > TRUNCATE_TOKENS]
    idle = max(KEEP_CALLS, ceil(IDLE_MARGIN * reuse.longest(tag)))
    yield _proposal(
        study,
        Rule(
            "truncate",
            Match(tags=(tag,)),
            When(idle_calls=idle, min_tokens=TRUNCATE_TOKENS),
            reason=f"longer than {TRUNCATE_TOKENS:,} tokens and not used for {idle} calls",
        ),
        long,
        partial(_idle_from, study, idle),
        idle=idle,
        is_sure=False,
        evidence=f"{len(long)} of {len(items)} objects are longer than {TRUNCATE_TOKENS:,} tokens",
        left=TRUNCATE_TOKENS,
    )


def _proposal(
    study: Study,
    rule: Rule,
    items: Sequence[HeapObject],
    start_of: Callable[[HeapObject], int | None],
    *,
    idle: int,
    is_sure: bool,
    evidence: str,
    left: int = RECEIPT_TOKENS,
) -> Proposal:
    starts = [(item, start_of(item)) for item in items]
    candidates = [
        Candidate(item.number, start, left)
        for item, start in starts
        if start is not None and start <= item.last
    ]
    late = [each.number for each in candidates if _is_used_from(study, each.number, each.call)]
    return Proposal(rule, rule.match.tags[0], tuple(candidates), tuple(late), idle, is_sure, evidence)


def _idle_from(study: Study, idle: int, item: HeapObject, *, since: int = 0) -> int | None:
    """Return the first call before which an object was not used for `idle` calls; None if there is none.

    A use shows in the output of a call, after its prompt was sent: idle at call k is k less the last
    use before k.
    """
    start = max(since, item.birth + KEEP_CALLS)
    ends = sorted({item.birth, *study.account.uses[item.number]})
    for place, end in enumerate(ends):
        until = ends[place + 1] if place + 1 < len(ends) else item.last
        if max(start, end + max(idle, 1)) <= until:
            return max(start, end + max(idle, 1))
    return None


def _is_used_from(study: Study, number: int, call: int) -> bool:
    return any(used >= call for used in study.account.uses[number])


def _size(study: Study, item: HeapObject) -> int:
    return study.account.objects[item.number].last
