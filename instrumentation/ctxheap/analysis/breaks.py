"""Find the calls whose cached prefix shrank, say what broke it, and what was billed anew (SPEC 7).

    call k−1   | tools | system | a | b | c |          all of it could have been read at call k
    call k     | tools | system | a | x | c | d |      read up to a: c is billed anew, x broke the cache

What is billed anew counts only content that was there before: new content would have been paid for in
any case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ctxheap.analysis.cache import (
    FIVE_MINUTES_SECONDS,
    HOUR_SECONDS,
    NS_PER_SECOND,
    shared_prefix,
)
from ctxheap.analysis.factors import factors_of, writes_for_an_hour
from ctxheap.analysis.study import Study
from ctxheap.heap.model import Usage
from ctxheap.heap.records import Call, Heap
from ctxheap.heap.subject import base_of
from ctxheap.prices import Rates

Cause = Literal[
    "ttl",
    "model",
    "tools",
    "system",
    "volatile",
    "compaction",
    "eviction",
    "rewrite",
    "insertion",
    "provider",
]
"""What broke the cache: the time to live passed; another model; other tools; an edited system prompt;
dates or ids in the system prompt or a tool; a compaction; content left out of the middle; content
replaced by other content; content put in front of old content; or nothing that the prompts show."""

MIN_TOKENS = 1_024
"""Less than the least prefix that providers store is no break: they serve in blocks and from marks."""

OVERHEAD = frozenset({"framing", "unattributed"})
"""Kinds that the provider adds behind whatever comes last: no part of what a prompt shares."""
SERVED_SHARE = 0.9
"""From this share of the old prefix on a bill shows that the cache outlived a pause."""


@dataclass(frozen=True, slots=True)
class CacheBreak:
    """Hold one call at which less was read from the cache than the call before could have served.

    Attributes:
        call: The call that paid for it.
        number: The object at the first difference: the one that left for `eviction`, otherwise the
            one that stands there now; None when the prompts agree.
        tag: Its tag, "" without one.
        cause: What broke the cache.
        tokens: Tokens of old content that were billed anew.
        gross_usd: What they cost above the price of reading them; None when a price is unknown.
    """

    call: int
    number: int | None
    tag: str
    cause: Cause
    tokens: int
    gross_usd: float | None


@dataclass(frozen=True, slots=True)
class CauseSum:
    """Hold the sums of one cause in an agent's sessions; `gross_usd` is None when any is unknown."""

    agent: str
    cause: Cause
    tag: str
    breaks: int
    tokens: int
    gross_usd: float | None


@dataclass(frozen=True, slots=True)
class Passage:
    """Hold what changed from one call to the next.

    Attributes:
        before: The call before.
        call: The call.
        number: The object at the first difference, None when one prompt stands whole in front of the
            other.
        tag: Its tag, "" without one.
        cause: What a cache can have broken by; None when nothing can have.
        ahead: Tokens of the call in front of the first difference.
        kept: Tokens of the call whose objects were in the prompt before.
    """

    before: Call
    call: Call
    number: int | None
    tag: str
    cause: Cause | None
    ahead: int
    kept: int


def cache_breaks(study: Study) -> list[CacheBreak]:
    """Return the cache breaks of a session in the order of its calls.

    A session without any cache traffic has none, unless its provider caches by itself: then only
    breaks whose cause the prompts show are listed.
    """
    usages = [call.usage for call in study.heap.calls]
    is_written = any(usage is not None and usage.cache_write for usage in usages)
    is_used = is_written or any(usage is not None and usage.cache_read for usage in usages)
    found: list[CacheBreak] = []
    for passage, rates in zip(passages(study.heap), study.rates[1:], strict=True):
        # the same prompt sent again and not served shows nothing where caching may be switched off
        shows = is_used or (passage.number is not None and _caches_by_itself(passage.call, rates))
        if shows:
            each = _break(passage, rates, is_written=is_written)
            found.extend([each] if each else [])
    return found


def passages(heap: Heap) -> Iterator[Passage]:
    """Yield what changed at every call but the first."""
    ttl = HOUR_SECONDS if writes_for_an_hour(call.usage for call in heap.calls) else FIVE_MINUTES_SECONDS
    for before, call, after in zip(heap.calls, heap.calls[1:], [*heap.calls[2:], None], strict=False):
        yield _passage(heap, (before, call, after), ttl_seconds=ttl)


def _passage(heap: Heap, around: tuple[Call, Call, Call | None], *, ttl_seconds: int) -> Passage:
    before, call, _ = around
    if call.extends:
        return _appended(heap, around, ttl_seconds=ttl_seconds)
    old, new = _contents(heap, before), _contents(heap, call)
    resident = set(old)
    place = shared_prefix(old, new)
    sizes = dict(zip(call.numbers, call.tokens, strict=True))
    ahead = sum(sizes[number] for number in new[:place])
    number: int | None = None
    cause = _outer_cause(around, ttl_seconds=ttl_seconds, ahead=ahead)
    if place < min(len(old), len(new)):
        difference = _difference(heap, call, (old[place], new[place]), resident=resident)
        number = old[place] if difference == "eviction" else new[place]
        cause = cause or difference
    kept = sum(sizes[number] for number in new if number in resident)
    return Passage(
        before, call, number, heap.objects[number].tag if number is not None else "", cause, ahead, kept
    )


def _appended(heap: Heap, around: tuple[Call, Call, Call | None], *, ttl_seconds: int) -> Passage:
    """Return the passage to a prompt that only grew, without looking at its parts one by one."""
    before, call, _ = around
    kept = sum(call.tokens[: contents_length(heap, before)])
    cause = _outer_cause(around, ttl_seconds=ttl_seconds, ahead=kept)
    return Passage(before, call, None, "", cause, kept, kept)


def _outer_cause(around: tuple[Call, Call, Call | None], *, ttl_seconds: int, ahead: int) -> Cause | None:
    """Return what made the cache cold whatever the prompts are."""
    before, call, after = around
    if before.model and call.model and before.model != call.model:
        return "model"
    # Transcripts date a request by the record before it, so a pause may seem to lie behind the call.
    is_late = after is not None and _is_paused(call, after, ttl_seconds) and _served(call, ahead) == 0
    is_expired = _is_paused(before, call, ttl_seconds) and _served(call, ahead) < SERVED_SHARE
    return "ttl" if is_expired or is_late else None


def _is_paused(before: Call, call: Call, ttl_seconds: int) -> bool:
    if before.started_ns is None or call.started_ns is None:
        return False
    return call.started_ns - before.started_ns > ttl_seconds * NS_PER_SECOND


def _served(call: Call, ahead: int) -> float:
    """Return the share of the old prefix that the bill shows as read; 0 where there is no bill."""
    return call.usage.cache_read / ahead if call.usage is not None and ahead > 0 else 0.0


def contents_length(heap: Heap, call: Call) -> int:
    """Return how many parts of a prompt stand in front of what the provider adds."""
    count = len(call.numbers)
    while count and base_of(heap.objects[call.numbers[count - 1]].tag) in OVERHEAD:
        count -= 1
    return count


def shared_parts(heap: Heap, before: Call, call: Call) -> int:
    """Return how many of the first parts of a prompt the one before had as well."""
    if call.extends:
        return contents_length(heap, before)
    return shared_prefix(_contents(heap, before), _contents(heap, call))


def _contents(heap: Heap, call: Call) -> tuple[int, ...]:
    """Return the prompt without what the provider adds: it stands behind whatever comes last."""
    return tuple(number for number in call.numbers if base_of(heap.objects[number].tag) not in OVERHEAD)


def _difference(heap: Heap, call: Call, pair: tuple[int, int], *, resident: set[int]) -> Cause:
    """Return what the first difference of two prompts is: old and new object at its place."""
    old, new = (heap.objects[number] for number in pair)
    if call.compaction is not None:
        return "compaction"
    parts: tuple[tuple[str, Cause], ...] = (("tool_definition", "tools"), ("system_prompt", "system"))
    for kind, cause in parts:
        if kind in (base_of(old.tag), base_of(new.tag)):
            return "volatile" if _has_same_shape(heap, pair) else cause
    is_gone = old.last < call.number
    is_new = new.number not in resident
    if is_gone and is_new:
        return "eviction" if base_of(new.tag) == "receipt" else "rewrite"
    if is_gone:
        return "eviction"
    return "insertion" if is_new else "rewrite"


def _has_same_shape(heap: Heap, pair: tuple[int, int]) -> bool:
    """Return whether two objects differ in dates, ids and numbers only."""
    shapes = [heap.facts.shapes.get(number) for number in pair]
    return shapes[0] is not None and shapes[0] == shapes[1]


def worst_causes(found: Iterable[tuple[str, CacheBreak]]) -> list[CauseSum]:
    """Return the sums of (agent, break) pairs by agent, cause and tag, the most tokens first."""
    groups: dict[tuple[str, Cause, str], list[CacheBreak]] = {}
    for agent, each in found:
        groups.setdefault((agent, each.cause, each.tag), []).append(each)
    sums = [_sum(*key, members) for key, members in groups.items()]
    return sorted(sums, key=lambda each: (-each.tokens, each.agent, each.cause, each.tag))


def _sum(agent: str, cause: Cause, tag: str, members: list[CacheBreak]) -> CauseSum:
    usd = [each.gross_usd for each in members if each.gross_usd is not None]
    tokens = sum(each.tokens for each in members)
    return CauseSum(agent, cause, tag, len(members), tokens, sum(usd) if len(usd) == len(members) else None)


def _caches_by_itself(call: Call, rates: Rates | None) -> bool:
    factors = factors_of(rates, call.model)
    return factors.read < factors.write <= 1


def _break(passage: Passage, rates: Rates | None, *, is_written: bool) -> CacheBreak | None:
    old, usage = passage.before.usage, passage.call.usage
    if old is None or usage is None:
        return None
    stored = old.cache_read + old.cache_write if is_written else old.input
    tokens = min(stored, passage.kept) - usage.cache_read
    if tokens < MIN_TOKENS:
        return None
    cause = passage.cause or "provider"
    has_place = passage.number is not None and cause not in ("ttl", "model")
    number = passage.number if has_place else None
    return CacheBreak(
        passage.call.number,
        number,
        passage.tag if has_place else "",
        cause,
        tokens,
        _above_reading(usage, rates, tokens),
    )


def _above_reading(usage: Usage, rates: Rates | None, tokens: int) -> float | None:
    """Return what tokens cost that were not read, above reading them: at the call's mean, in USD."""
    if rates is None:
        return None
    paid = (
        usage.uncached * rates.uncached
        + usage.cache_write_5m * rates.cache_write_5m
        + usage.cache_write_1h * rates.cache_write_1h
    )
    rest = usage.input - usage.cache_read
    return tokens * (paid / rest - rates.cache_read) if rest > 0 else 0.0
