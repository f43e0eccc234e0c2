"""Decide which objects of a prompt to free before a call, from what is known by then (SPEC 7, 8).

    residents ──rules──▶ candidates ──trigger──▶ changes ──▶ the prompt that is sent

    on_demand   only above the budget, in the order of the rules, from the tail, until below it
    economic    what the cache does not hold: at once; else the best single cut, when the dead rent
                paid since the last collection reaches what the cut costs; above the budget all at
                once, where that brings the prompt below it
    eager       whole are the last 3 results only, 6,000 tokens at most (for comparison)

Recency, reference counting and generations are conditions of the rules. Nothing here is kept between
calls but what was computed before; the caller carries the state in `Moment`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from ctxheap.heap.model import Part
from ctxheap.reclaim import actions
from ctxheap.reclaim.actions import Count
from ctxheap.reclaim.invariants import Resident, is_pinned, must_stay, turns
from ctxheap.reclaim.policy import Action, Policy, Rule, When

EAGER_RESULTS: Final = 3
EAGER_TOKENS: Final = 6_000
WHOLE_TAIL_TOKENS = 20_000
"""The newest tokens that a compaction leaves whole (SPEC 8)."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Hold what is known before a call.

    Attributes:
        call: Number of the call to come.
        residents: The prompt's objects in order, those freed before as they stand now.
        cached: How many of the first residents the cache would serve; 0 when it is cold.
        read: r, and `write` w: price factors of the model.
        paid: Dead rent paid since the last collection, in token equivalents.
        compactions: Compactions of this session so far.
    """

    call: int
    residents: Sequence[Resident]
    cached: int
    read: float = 0.1
    write: float = 1.25
    paid: float = 0.0
    compactions: int = 0

    @property
    def tokens(self) -> int:
        """Return the size of the prompt in tokens."""
        return sum(item.tokens for item in self.residents)


@dataclass(frozen=True, slots=True)
class Change:
    """Say what becomes of one object.

    Attributes:
        number: The object.
        action: How it is freed.
        part: What takes its place; None for what goes into the record of a compaction.
        tokens: Size of what takes its place.
        removed: Tokens that are gone from the prompt.
        rule: Place of the rule in the policy; None for `eager`.
        reason: Why, in words.
    """

    number: int
    action: Action
    part: Part | None
    tokens: int
    removed: int
    rule: int | None
    reason: str
    place: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Collection:
    """Hold what to do before a call.

    Attributes:
        changes: Objects that are freed, by rising place in the prompt.
        record: What stands for the compacted objects, in the place of the first of them.
        paid: Dead rent since the last collection, the coming call's included; for the next `Moment`.
    """

    changes: tuple[Change, ...] = ()
    record: Part | None = None
    record_tokens: int = 0
    paid: float = 0.0


@dataclass(frozen=True, slots=True)
class Cut:
    """Hold a cut: free every candidate from place `start` on.

    `freed` are the tokens that go, `after` the cached tokens that must be stored again.
    """

    start: int
    freed: int
    after: int


class Collector:
    """Apply one policy, call by call.

    `count` gives the tokens of a text, as the prompt's sizes are given.
    """

    def __init__(self, policy: Policy, *, count: Count) -> None:
        self._policy = policy
        self._count = count
        self._made: dict[tuple[bytes, int, str], tuple[Part, int]] = {}

    def collect(self, moment: Moment) -> Collection:
        """Return what to free before a call."""
        if self._policy.trigger == "eager":
            return _collection(self._eager(moment))
        if self._policy.trigger == "economic":
            return self._economic(moment)
        return self._on_demand(moment)

    def _on_demand(self, moment: Moment) -> Collection:
        """Free in the order of the rules, from the tail: that re-bills least, until below the budget."""
        over = moment.tokens - self._policy.budget
        if over <= 0:
            return Collection()
        chosen: list[Change] = []
        for change in sorted(self._candidates(moment), key=lambda each: (each.rule or 0, -each.place)):
            if over <= 0:
                break
            chosen.append(change)
            over -= change.removed
        if over > 0 and (compacted := self._compaction(moment, chosen)).changes:
            return compacted
        return _collection(chosen)

    def _economic(self, moment: Moment) -> Collection:
        found = list(self._candidates(moment))
        over = moment.tokens - self._policy.budget
        if over > 0:
            if sum(change.removed for change in found) >= over:
                return _collection(found)
            if (compacted := self._compaction(moment, found)).changes:
                return compacted
        # Above a budget that nothing here can reach, waiting costs no more than it always does.
        free = [change for change in found if change.place >= moment.cached]
        held = [change for change in found if change.place < moment.cached]
        cut = best_cut(moment, held, calls=self._policy.cache.expected_calls)
        if cut is None:
            return _collection(free, paid=moment.paid if held else 0.0)
        coming = moment.read * cut.freed
        if moment.paid + coming < (moment.write - moment.read) * cut.after:
            return _collection(free, paid=moment.paid + coming)
        return _collection([change for change in held if change.place >= cut.start] + free)

    def _eager(self, moment: Moment) -> Iterator[Change]:
        places = [place for place, item in enumerate(moment.residents) if item.part.kind == "tool_result"]
        whole = set(places[-EAGER_RESULTS:])
        for place in places:
            item = moment.residents[place]
            if place not in whole and not self._must_stay(item, moment):
                yield from self._change(place, item, None, "evict", moment)
            elif item.tokens > EAGER_TOKENS and not self._is_pinned(item):
                yield from self._change(place, item, None, "truncate", moment)

    def _candidates(self, moment: Moment) -> Iterator[Change]:
        """Yield what the rules would free, each object by the first rule that fits it."""
        for place, item in enumerate(moment.residents):
            if self._is_pinned(item):
                continue
            for index, rule in enumerate(self._policy.rules):
                if rule.action != "compact" and self._fits(rule, item, moment):
                    change = next(self._change(place, item, index, rule.action, moment), None)
                    if change is not None:
                        yield change
                    if change is not None or rule.action == "pin":
                        break

    def _fits(self, rule: Rule, item: Resident, moment: Moment) -> bool:
        if rule.action not in {"truncate", "pin"} and self._must_stay(item, moment):
            return False
        return rule.match.fits(item.part, signature=item.signature) and holds(
            rule.when, item, call=moment.call, minor_calls=self._policy.minor_calls
        )

    def _must_stay(self, item: Resident, moment: Moment) -> bool:
        recent = self._policy.keep_recent_calls
        return must_stay(item, call=moment.call, recent_calls=recent) or self._is_pinned(item)

    def _is_pinned(self, item: Resident) -> bool:
        return is_pinned(item) or any(pin.fits(item.part) for pin in self._policy.pins)

    def _change(
        self, place: int, item: Resident, index: int | None, action: Action, moment: Moment
    ) -> Iterator[Change]:
        """Yield the change of one object, nothing where it would free nothing or may not be made."""
        rule = Rule(action, max_tokens=EAGER_TOKENS) if index is None else self._policy.rules[index]
        if action == "pin" or (action == "dedupe" and not self._is_replaced(item)):
            return
        key = (item.part.identity, -1 if index is None else index, f"{action}{item.superseded}")
        if key not in self._made:
            self._made[key] = self._apply(action, item, rule, moment)
        part, tokens = self._made[key]
        if tokens < item.tokens and part is not item.part:
            reason = rule.reason or item.superseded
            yield Change(item.number, action, part, tokens, item.tokens - tokens, index, reason, place)

    def _is_replaced(self, item: Resident) -> bool:
        """Return whether equal content follows, or a newer answer of a tool that only reads (SPEC 5.2)."""
        is_read = any(fnmatchcase(item.part.tool, glob) for glob in self._policy.idempotent_tools)
        return item.superseded == "duplicate" or (item.superseded == "superseded" and is_read)

    def _apply(self, action: Action, item: Resident, rule: Rule, moment: Moment) -> tuple[Part, int]:
        if action == "truncate":
            part = actions.truncate(item.part, max_tokens=rule.max_tokens, count=self._count)
        else:
            asked = next((each for each in moment.residents if each.number == item.answers), None)
            request = asked.part if asked is not None and item.answers is not None else None
            do = actions.dedupe if action == "dedupe" else actions.evict
            part = do(item.part, tokens=item.tokens, request=request, reason=rule.reason or item.superseded)
        return part, item.tokens if part is item.part else self._count(part.text)

    def _compaction(self, moment: Moment, chosen: Iterable[Change]) -> Collection:
        """Return the compaction of all turns that may go, on top of what was chosen; else nothing."""
        rules = [(i, rule) for i, rule in enumerate(self._policy.rules) if rule.action == "compact"]
        if not rules or moment.compactions >= self._policy.max_compactions:
            return Collection()
        index, rule = rules[0]
        places = {item.number: place for place, item in enumerate(moment.residents)}
        going = [item for turn in self._compactable(moment, rule) for item in turn]
        if not going:
            return Collection()
        record = actions.compact([item.part for item in going])
        size = self._count(record.text)
        if sum(item.tokens for item in going) <= size:
            return Collection()
        gone = {item.number for item in going}
        changes = [
            Change(item.number, "compact", None, 0, item.tokens, index, rule.reason, places[item.number])
            for item in going
        ]
        rest = [change for change in chosen if change.number not in gone]
        made = _collection(changes + rest)
        return Collection(made.changes, record, size, 0.0)

    def _compactable(self, moment: Moment, rule: Rule) -> Iterator[tuple[Resident, ...]]:
        """Yield whole turns before the newest 20,000 tokens in which nothing must stay."""
        tail = moment.tokens
        limit = 0
        for limit, item in enumerate(moment.residents):  # noqa: B007 -- the place is the result
            tail -= item.tokens
            if tail < WHOLE_TAIL_TOKENS:
                break
        old = {item.number for item in moment.residents[:limit]}
        for turn in turns(moment.residents):
            if all(self._may_leave(item, rule, moment) and item.number in old for item in turn):
                yield turn

    def _may_leave(self, item: Resident, rule: Rule, moment: Moment) -> bool:
        """Return whether an object may leave with its turn; reasoning may, receipts may."""
        part = item.part
        if part.pinned or any(pin.fits(part) for pin in self._policy.pins):
            return False
        if item.birth > moment.call - self._policy.keep_recent_calls:
            return False
        if part.kind != "tool_result" or item.is_freed:
            return True
        return rule.match.fits(part, signature=item.signature) and holds(
            rule.when, item, call=moment.call, minor_calls=self._policy.minor_calls
        )


def holds(when: When, item: Resident, *, call: int, minor_calls: int) -> bool:
    """Return whether an object is as dead as a rule wants it before a call."""
    if when.superseded and not item.superseded:
        return False
    age, idle = call - item.birth, call - max(item.birth, item.last_use or 0)
    if age < when.older_calls or idle < when.idle_calls or item.tokens < when.min_tokens:
        return False
    was_used = item.last_use is not None and item.last_use > item.birth
    if when.generation == "young":
        return age >= minor_calls and not was_used
    return when.generation is None or was_used


def best_cut(moment: Moment, held: Sequence[Change], *, calls: float) -> Cut | None:
    """Return the best single cut among cached candidates: argmax r·V·R − (w−r)·S, None when none pays.

    The formula of SPEC 7; `analysis.economics.best_cut` is the same for finished sessions.
    """
    by_place = {change.place: change for change in held}
    best, most = None, 0.0
    freed = after = 0
    for place in reversed(range(moment.cached)):
        change = by_place.get(place)
        if change is None:
            after += moment.residents[place].tokens
            continue
        freed += change.removed
        after += change.tokens
        net = moment.read * freed * calls - (moment.write - moment.read) * after
        if net > most:
            best, most = Cut(place, freed, after), net
    return best


def _collection(changes: Iterable[Change], *, paid: float = 0.0) -> Collection:
    return Collection(tuple(sorted(changes, key=lambda change: change.place)), paid=paid)
