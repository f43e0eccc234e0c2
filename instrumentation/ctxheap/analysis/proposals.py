"""Propose rules for a session: which of its objects each would free, and from which call on (SPEC 8).

    surely dead, held again  ──▶ dedupe, after as many idle calls as such objects were still used after
    surely dead otherwise    ──▶ evict what is superseded
    idle for M calls         ──▶ evict, M beyond every gap after which the tag was used again
    very long                ──▶ truncate

A rule knows no future. What it would have freed before a use is named, so that it can be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from math import ceil

from ctxheap.analysis.freeing import KEEP_CALLS, Candidate
from ctxheap.analysis.reuse import Reuse
from ctxheap.analysis.series import ThetaOf
from ctxheap.analysis.study import Study
from ctxheap.analysis.suggestion_records import objects_of
from ctxheap.analysis.verdicts import Leak
from ctxheap.heap.presumed import MIN_KNOWN_GAPS
from ctxheap.heap.records import HeapObject
from ctxheap.heap.subject import base_of
from ctxheap.heap.supersession import Reason, Superseded
from ctxheap.reclaim.policy import READS, TRUNCATE_TOKENS, Action, Match, Rule, When

FREEABLE = frozenset({"tool_result", "tool_call", "retrieval", "media", "memory", "harness", "example"})
"""Kinds that rules may free; the model's own text stays with its turn (SPEC 8)."""
EVICTABLE = FREEABLE - {"tool_call"}
RECEIPT_TOKENS = 60
MIN_TOKENS = 200
"""Objects below this are not worth a receipt."""
MIN_IDLE_TOKENS = 500
"""Objects below this stay however idle: fetching one again costs a whole call, whatever its size."""
MIN_IDLE_CALLS = 6
USUAL_IDLE_CALLS = 12
MIN_WATCHED = 20
"""Objects seen idle from which on a tag that is never used late may be freed by idleness."""
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
        doubt: Why it must not be acted upon without a person's word; "" when it may.
    """

    rule: Rule
    tag: str
    candidates: tuple[Candidate, ...]
    used_later: tuple[int, ...]
    idle: int
    is_sure: bool
    evidence: str
    doubt: str = ""


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
        found.extend(_surely_dead(study, tag, items))
    for tag, items in groups.items():
        if base_of(tag) in EVICTABLE:
            found.extend(_truncate(study, tag, items, reuse, theta))
            found.extend(_evict(study, dead[tag], items, reuse, theta) if tag in dead else ())
    return [each for each in found if each.candidates]


def proposal_of(study: Study, rule: Rule) -> Proposal:
    """Return what a rule that was made for other sessions, with one tag, would do to this one."""
    tag, when = rule.match.tags[0], rule.when
    items = [
        item
        for item in study.heap.objects
        if item.tag == tag
        and not item.inherent
        and item.kind != "hidden"
        and _size(study, item) >= max(when.min_tokens, 1)
    ]
    since: dict[int, int] = {}
    if when.superseded:
        events = {event.number: event for event in reversed(study.heap.superseded)}
        items = [item for item in items if item.number in events]
        # a policy holds deduplication first, so eviction meets only what that leaves
        again = {item.number for item in items if _is_again(events[item.number].reason, tag)}
        items = [item for item in items if (item.number in again) == (rule.action == "dedupe")]
        since = {item.number: events[item.number].call for item in items}
    return _proposal(
        study,
        rule,
        items,
        lambda item: _idle_from(study, when.idle_calls, item, since=since.get(item.number, 0)),
        idle=when.idle_calls,
        is_sure=when.superseded,
        evidence="",
        left=rule.max_tokens if rule.action == "truncate" else RECEIPT_TOKENS,
    )


def _surely_dead(study: Study, tag: str, items: Sequence[HeapObject]) -> Iterator[Proposal]:
    """Yield the rules that free what is surely dead; later uses make them wait.

    `dedupe` is for what the prompt holds again. What was merely put out of date (a file that was edited
    since) is named apart: agents go on from old texts more often than one would think.
    """
    events = {event.number: event for event in reversed(study.heap.superseded)}
    contained = {repeat.of for repeat in study.heap.facts.repeats if repeat.kind == "contains"}
    sure = [item for item in items if item.number in events and _size(study, item) >= MIN_TOKENS]
    again = [item for item in sure if _is_again(events[item.number].reason, tag)]
    held = [
        item for item in sure if item not in again and _is_held(events[item.number].reason, item, contained)
    ]
    stale = [item for item in sure if item not in again and item not in held]
    yield _sure(study, "dedupe", tag, again, events, words="held again by a later object")
    # the rule cannot tell what is held from what is stale, so both go under it or neither
    doubt = f"put out of date, but nothing in the prompt holds the text again: {objects_of(len(stale))}"
    yield _sure(
        study, "evict", tag, [*held, *stale], events, words="put out of date", doubt=doubt if stale else ""
    )


def _is_again(reason: Reason, tag: str) -> bool:
    """Return whether the prompt holds an object again: equal content, or the same read anew (SPEC 5.2)."""
    return reason == "duplicate" or (reason == "superseded" and _is_read(tag))


def _is_read(tag: str) -> bool:
    return any(fnmatchcase(tag.partition(":")[2], glob) for glob in READS)


def _is_held(reason: Reason, item: HeapObject, contained: Container[int]) -> bool:
    """Return whether a later object stands for it: the next plan or echo, or a text that contains it."""
    return reason in ("plan_replaced", "echo_done") or item.number in contained


def _sure(
    study: Study,
    action: Action,
    tag: str,
    items: Sequence[HeapObject],
    events: Mapping[int, Superseded],
    *,
    words: str,
    doubt: str = "",
) -> Proposal:
    since = {item.number: events[item.number].call for item in items}
    idle = max((_late_gap(study, item, since[item.number]) for item in items), default=0)
    later = f"; waits for {idle} idle calls" if idle else ""
    return _proposal(
        study,
        Rule(
            action,
            Match(tags=(tag,)),
            When(superseded=True, idle_calls=idle, min_tokens=MIN_TOKENS),
            reason=words,
        ),
        items,
        lambda item: _idle_from(study, idle, item, since=since[item.number]),
        idle=idle,
        is_sure=True,
        evidence=f"{objects_of(len(items))} {words} while in the prompt{later}",
        doubt=doubt,
    )


def _late_gap(study: Study, item: HeapObject, since: int) -> int:
    """Return one more than the longest idle time before a use that came after an object was out of date."""
    start = max(since, item.birth + KEEP_CALLS)
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
    large = [item for item in items if _size(study, item) >= MIN_IDLE_TOKENS]
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
                When(idle_calls=idle, min_tokens=MIN_IDLE_TOKENS),
                reason=f"{leak.verdict}: not used for {idle} calls",
            ),
            large,
            partial(_idle_from, study, idle),
            idle=idle,
            is_sure=False,
            doubt="" if fleet else _doubt(leak.tag, reuse, idle),
            evidence=(
                f"{leak.verdict}, {leak.share:.0%} of the session dead under the tag; longest time before"
                f" a use {longest} calls, {objects_of(reuse.watched(leak.tag, idle=idle))} idle for {idle}"
            ),
        )


def _truncate(
    study: Study, tag: str, items: Sequence[HeapObject], reuse: Reuse, theta: ThetaOf | None
) -> Iterator[Proposal]:
    """Yield the rule that cuts very long objects once their newest calls are over."""
    long = [item for item in items if _size(study, item) > TRUNCATE_TOKENS]
    fleet = theta(tag) if theta else None
    idle = max(KEEP_CALLS, ceil(IDLE_MARGIN * reuse.longest(tag)), fleet or 0)
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
        doubt="" if fleet else _doubt(tag, reuse, idle),
    )


def _doubt(tag: str, reuse: Reuse, idle: int) -> str:
    """Return why an idle rule needs a fleet, "" where the session itself says enough (SPEC 5.5).

    One session misses a fifth of the late uses. Where many objects of a tag lay idle and none was ever
    used after its first call, late uses are rare all the same; what is left of the risk is priced in.
    """
    watched = reuse.watched(tag, idle=idle)
    if reuse.longest(tag) <= 1 and watched >= MIN_WATCHED:
        return ""
    return f"fewer than {MIN_KNOWN_GAPS} reuse gaps of {tag} are known, so idle does not mean dead yet"


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
    doubt: str = "",
) -> Proposal:
    starts = [(item, start_of(item)) for item in items]
    candidates = [
        Candidate(item.number, start, left)
        for item, start in starts
        if start is not None and start <= item.last
    ]
    late = [each.number for each in candidates if _is_used_from(study, each.number, each.call)]
    return Proposal(rule, rule.match.tags[0], tuple(candidates), tuple(late), idle, is_sure, evidence, doubt)


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
