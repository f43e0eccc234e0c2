"""Re-run a recorded session under a reclaim policy, call by call (SPEC 8, 9).

    recorded prompt ──projection──▶ prompt so far ──collector──▶ prompt ──PromptCache──▶ tokens, money
                                                                                │
    uses recorded after an object was freed  ◀── regret ────────────────────────┘

What is decided before call k rests on what was known before it: earlier uses, what stands in the
prompt, sizes counted from the texts and scaled by the bill of the call before. The recorded future
judges only regret. The model's answers are taken as they were: a policy that would have changed what
the agent does next is not simulated.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ctxheap import tokens as tokenizers
from ctxheap.analysis.cache import FIVE_MINUTES_SECONDS, HOUR_SECONDS, PromptCache, Served
from ctxheap.analysis.economics import refetch_cost
from ctxheap.analysis.factors import Factors, factors_of, writes_for_an_hour
from ctxheap.analysis.replay_records import Bill, Freed, Regret, ReplayReport, Sent
from ctxheap.analysis.replay_sizes import CounterFor, Sizes
from ctxheap.heap.model import Exchange, Part
from ctxheap.heap.records import Call, Heap
from ctxheap.prices import Rates
from ctxheap.reclaim.collector import Change, Collection, Collector, Moment
from ctxheap.reclaim.invariants import Resident, broken
from ctxheap.reclaim.ledger import AuditLog, Entry
from ctxheap.reclaim.policy import Policy
from ctxheap.reclaim.requests import refused, shape_of

YELLOW: Final = 0.50
RED: Final = 0.75

RatesOf = Callable[[Call], Rates | None]
Watch = Callable[[Sent], None]


def replay(
    heap: Heap,
    exchanges: Iterable[Exchange],
    policy: Policy,
    *,
    rates_of: RatesOf,
    counter_for: CounterFor = tokenizers.counter_for,
    signatures: Mapping[int, str] | None = None,
    watch: Watch | None = None,
    log: AuditLog | None = None,
) -> ReplayReport:
    """Return what a policy would have done to a session.

    Args:
        heap: The finished heap of the session.
        exchanges: The exchanges that it was made from; those of other sessions are passed over.
        policy: What to free, and when.
        rates_of: Prices of a call in USD per token, None when unknown.
        counter_for: Gives the tokenizer of a model.
        signatures: Signatures of leak traces by object number, as known before the session.
        watch: Is told every replayed prompt.
        log: Takes every removal, whole.

    Raises:
        KeyError: When the exchange of a call is missing.
    """
    recorded: dict[str, Exchange] = {}
    for exchange in exchanges:
        # Files of a forked session repeat calls under the same ids.
        if exchange.session in {"", heap.session}:
            recorded.setdefault(exchange.call_id, exchange)
    run = _Run(
        heap,
        policy,
        rates_of=rates_of,
        counter_for=counter_for,
        signatures=signatures or {},
        log=AuditLog() if log is None else log,
    )
    for call in heap.calls:
        sent = run.step(call, recorded[call.id].prompt)
        if watch is not None:
            watch(sent)
    return run.report()


@dataclass(slots=True)
class _Record:
    """Hold the record that stands for compacted objects."""

    number: int
    part: Part
    tokens: int
    call: int


class _Run:
    """Carry the state of one replay from call to call."""

    def __init__(
        self,
        heap: Heap,
        policy: Policy,
        *,
        rates_of: RatesOf,
        counter_for: CounterFor,
        signatures: Mapping[int, str],
        log: AuditLog,
    ) -> None:
        self._heap, self._policy, self._rates_of = heap, policy, rates_of
        self._signatures, self._log = signatures, log
        self._sizes = Sizes(counter_for)
        self._collector = Collector(policy, count=self._sizes.count)
        self._is_hourly = writes_for_an_hour(call.usage for call in heap.calls)
        self._base_cache, self._cache = self._new_cache(), self._new_cache()
        self._base, self._bill = Bill(), Bill()
        self._changes: dict[int, Change] = {}
        self._history: defaultdict[int, list[Change]] = defaultdict(list)
        self._calls: defaultdict[int, list[int]] = defaultdict(list)
        self._record_of: dict[int, _Record] = {}
        self._records: list[_Record] = []
        self._freed: list[Freed] = []
        self._prompts: dict[int, int] = {}
        self._billed: dict[int, int] = {}
        # Residents as they were built last; out of it goes whatever something new is known of.
        self._known: dict[int, Resident] = {}
        self._last_use: dict[int, int] = {}
        self._superseded: dict[int, tuple[int, str]] = {}
        self._paid = 0.0
        self._factors: Factors | None = None
        self._spent: list[tuple[float, float | None]] = []
        self._refusals: list[str] = []
        self._uses: defaultdict[int, list[int]] = defaultdict(list)
        for use in heap.uses:
            if use.grade == "used":
                self._uses[use.call].append(use.number)
        self._revived: defaultdict[int, list[int]] = defaultdict(list)
        for number, call in heap.revived:
            self._revived[call].append(number)
        self._events = defaultdict[int, list[tuple[int, str]]](list)
        for event in heap.superseded:
            self._events[event.call].append((event.number, event.reason))

    def _new_cache(self) -> PromptCache:
        assumed = self._policy.cache
        ttl = HOUR_SECONDS if self._is_hourly else FIVE_MINUTES_SECONDS
        return PromptCache(ttl_seconds=assumed.ttl_seconds or ttl, minimum_tokens=assumed.minimum_tokens)

    def step(self, call: Call, prompt: Sequence[Part]) -> Sent:
        """Replay one call and return what was sent."""
        for number in self._revived.get(call.number, ()):
            self._superseded.pop(number, None)
            self._known.pop(number, None)
        for number, reason in self._events.get(call.number, ()):
            self._superseded.setdefault(number, (call.number, reason))
            self._known.pop(number, None)
        self._sizes.turn_to(call)
        residents = self._residents(call, prompt)
        collection = self._collector.collect(self._moment(call, residents))
        self._apply(collection, call, residents)
        if collection.changes:
            residents = self._residents(call, prompt)
        parts = tuple(item.part for item in residents)
        sent = self._send(call, prompt, residents=residents, parts=parts)
        # What only grows behind a prompt that was fine is fine.
        if self._changes and (collection.changes or not call.extends):
            self._check(call, prompt, parts)
        self._learn(call, prompt)
        return sent

    def _residents(self, call: Call, prompt: Sequence[Part]) -> list[Resident]:
        """Return a recorded prompt as it stands under the policy."""
        found: list[Resident] = []
        shown: set[int] = set()
        for number, part in zip(call.numbers, prompt, strict=False):
            record = self._record_of.get(number)
            if record is None:
                found.append(self._resident(number, part))
            elif record.number not in shown:
                shown.add(record.number)
                item = Resident(record.number, record.part, record.tokens, record.call, is_freed=True)
                found.append(item)
        return found

    def _resident(self, number: int, part: Part) -> Resident:
        change = self._changes.get(number)
        tokens = self._size(number, part) if change is None else change.tokens
        known = self._known.get(number)
        if known is None or known.tokens != tokens:
            known = self._known[number] = self._made(number, part, change, tokens)
        return known

    def _size(self, number: int, part: Part) -> int:
        """Return what an object was billed at the last call that held it, as suggestions count it."""
        billed = self._billed.get(number)
        return self._sizes.of(part) if billed is None else billed

    def _made(self, number: int, part: Part, change: Change | None, tokens: int) -> Resident:
        item = self._heap.objects[number]
        last_use = self._last_use.get(number)
        since, reason = self._superseded.get(number, (0, ""))
        if last_use is not None and last_use > since:
            reason = ""
        return Resident(
            number=number,
            part=part if change is None or change.part is None else change.part,
            tokens=tokens,
            birth=item.birth,
            last_use=last_use,
            superseded=reason,
            answers=item.answers,
            signature=self._signatures.get(number, ""),
            is_freed=change is not None,
        )

    def _moment(self, call: Call, residents: Sequence[Resident]) -> Moment:
        identities = [item.part.identity for item in residents]
        factors = self._factors or factors_of(None, call.model, hour=self._is_hourly)
        assumed = self._policy.cache
        return Moment(
            call=call.number,
            residents=residents,
            cached=self._cache.shared(identities, model=call.model, started_ns=call.started_ns),
            read=factors.read if assumed.read_factor is None else assumed.read_factor,
            write=factors.write if assumed.write_factor is None else assumed.write_factor,
            paid=self._paid,
            compactions=len(self._records),
        )

    def _apply(self, collection: Collection, call: Call, residents: Sequence[Resident]) -> None:
        """Take over what the collector decided."""
        self._paid = collection.paid
        known = {item.number: item for item in residents}
        record = None
        if collection.record is not None:
            number = -1 - len(self._records)
            record = _Record(number, collection.record, collection.record_tokens, call.number)
            self._records.append(record)
            context = sum(item.tokens for item in residents)
            self._spend(call, context, record.tokens)
        for change in collection.changes:
            number, item = change.number, known[change.number]
            self._changes[number] = change
            self._known.pop(number, None)
            if change.action == "compact" and record is not None:
                self._record_of[number] = record
            self._history[number].append(change)
            self._calls[number].append(call.number)
            entry = Entry(
                call.number, number, change.action, change.rule, change.reason, change.removed, item.part
            )
            self._log.append(entry)
            tag = self._heap.objects[number].tag
            self._freed.append(
                Freed(number, tag, call.number, change.action, change.rule, change.removed, change.reason)
            )

    def _spend(self, call: Call, context: int, written: int) -> None:
        """Charge the call that makes a record: r·C + ω·q (SPEC 7)."""
        rates = self._rates_of(call)
        factors = factors_of(rates, call.model, hour=self._is_hourly)
        cost = factors.read * context + factors.output * written
        self._spent.append((cost, factors.usd(cost)))

    def _send(
        self, call: Call, prompt: Sequence[Part], *, residents: Sequence[Resident], parts: tuple[Part, ...]
    ) -> Sent:
        """Bill the recorded and the replayed prompt, each through its own cache."""
        billed = dict(zip(call.numbers, call.tokens, strict=True))
        # A negative rest says that the capture holds more than was billed: there is nothing to send.
        rest = [number for number in call.numbers[len(prompt) :] if billed[number] > 0]
        sizes = [max(0, tokens) for tokens in call.tokens[: len(prompt)]]
        now = [item.tokens if item.is_freed else max(0, billed[item.number]) for item in residents]
        beyond = [billed[number] for number in rest]
        recorded = [*(part.identity for part in prompt), *rest]
        identities: tuple[Hashable, ...] = (*(part.identity for part in parts), *rest)
        self._charge(self._base, self._base_cache, call, recorded, sizes + beyond)
        served, usd = self._charge(self._bill, self._cache, call, identities, now + beyond)
        self._prompts[call.number] = served.input
        return Sent(call.number, parts, identities, tuple(now + beyond), served, usd)

    def _charge(
        self, bill: Bill, cache: PromptCache, call: Call, identities: Sequence[Hashable], sizes: Sequence[int]
    ) -> tuple[Served, float | None]:
        served = cache.send(identities, sizes, model=call.model, started_ns=call.started_ns)
        factors = factors_of(self._rates_of(call), call.model, hour=self._is_hourly)
        cost = served.uncached + factors.read * served.read + factors.write * served.written
        usd = factors.usd(cost)
        bill.read += served.read
        bill.written += served.written
        bill.uncached += served.uncached
        bill.equivalents += cost
        bill.usd = None if usd is None or bill.usd is None else bill.usd + usd
        bill.peak = max(bill.peak, served.input)
        room = max(1, self._policy.window - self._policy.reserve_tokens)
        bill.red += served.input > RED * room
        bill.yellow += YELLOW * room < served.input <= RED * room
        return served, usd

    def _check(self, call: Call, prompt: Sequence[Part], parts: Sequence[Part]) -> None:
        """Note what breaks an invariant, and what a provider refuses that it took as recorded.

        The session's own provider is asked; tests ask all three (docs/reclaim.md).
        """
        problems = broken(prompt, parts)
        shape = shape_of(call.provider)
        if (found := refused(parts, shape)) and not refused(prompt, shape):
            problems += found
        self._refusals += [f"call {call.number}: {problem}" for problem in problems]

    def _learn(self, call: Call, prompt: Sequence[Part]) -> None:
        """Take in what is known once a call has been answered and billed."""
        self._sizes.billed(call, prompt)
        self._billed.update(zip(call.numbers, (max(0, tokens) for tokens in call.tokens), strict=True))
        self._factors = factors_of(self._rates_of(call), call.model, hour=self._is_hourly)
        for number in self._uses.get(call.number, ()):
            self._last_use[number] = call.number
            self._known.pop(number, None)
            answers = self._heap.objects[number].answers
            if answers is not None:
                self._last_use[answers] = call.number
                self._known.pop(answers, None)

    def report(self) -> ReplayReport:
        """Return the report once all calls are replayed."""
        usd = [money for _, money in self._spent if money is not None]
        return ReplayReport(
            session=self._heap.session,
            trigger=self._policy.trigger,
            calls=len(self._heap.calls),
            recorded=sum(sum(call.tokens) for call in self._heap.calls),
            baseline=self._base,
            bill=self._bill,
            freed=tuple(self._freed),
            regrets=tuple(self._regrets()),
            compactions=len(self._records),
            collection_equivalents=sum(cost for cost, _ in self._spent),
            collection_usd=sum(usd) if len(usd) == len(self._spent) else None,
            refusals=tuple(self._refusals),
        )

    def _regrets(self) -> list[Regret]:
        """Return the first use of each object after it was freed."""
        found: dict[int, Regret] = {}
        by = {event.number: event.by for event in self._heap.superseded if event.reason == "duplicate"}
        for use in sorted(self._heap.uses, key=lambda use: use.call):
            # What was freed by then: an object may be cut first and evicted later.
            done = bisect_right(self._calls.get(use.number, ()), use.call) - 1
            if done < 0 or use.call > self._heap.objects[use.number].last:
                continue
            if self._is_whole(by.get(use.number), use.call):
                continue
            known = found.get(use.number)
            is_certain = use.grade == "used" and self._history[use.number][done].action != "truncate"
            if known is None or (is_certain and not known.is_certain):
                freed = self._calls[use.number][done]
                found[use.number] = self._regret(use.number, freed, use.call, is_certain=is_certain)
        return sorted(found.values(), key=lambda regret: (regret.used, regret.number))

    def _is_whole(self, number: int | None, call: int) -> bool:
        """Return whether a duplicate still stands in the prompt of a call as it was."""
        if number is None or number in self._changes:
            return False
        item = self._heap.objects[number]
        return item.birth <= call <= item.last

    def _regret(self, number: int, freed: int, used: int, *, is_certain: bool) -> Regret:
        item, call = self._heap.objects[number], self._heap.calls[used - 1]
        sizes = dict(zip(call.numbers, call.tokens, strict=True))
        factors = factors_of(self._rates_of(call), call.model, hour=self._is_hourly)
        tokens = max(0, sizes.get(number, 0))
        cost = refetch_cost(
            factors,
            context=self._prompts[used],
            arguments=max(0, sizes.get(item.answers, 0)) if item.answers is not None else 0,
            tokens=tokens,
            calls=item.last - used,
        )
        return Regret(number, item.tag, freed, used, tokens, cost, factors.usd(cost), is_certain)
