"""Check suggestions: what is accepted saves net, by two ledgers, and frees nothing that is still needed."""

from __future__ import annotations

import random
import subprocess
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ctxheap.analysis.cache import NS_PER_SECOND, PromptCache
from ctxheap.analysis.proposals import MIN_IDLE_TOKENS, RECEIPT_TOKENS
from ctxheap.analysis.regret import regret
from ctxheap.analysis.repeats import repeated_state
from ctxheap.analysis.study import Study, study
from ctxheap.analysis.suggestion_records import Suggestion
from ctxheap.analysis.suggestions import policy_of, suggest
from ctxheap.analysis.upstream import Offer, Paragraph
from ctxheap.analysis.verdicts import Leak, verdicts
from ctxheap.heap.evidence import Use
from ctxheap.heap.model import Exchange, Usage
from ctxheap.heap.records import Call, Heap, HeapObject
from ctxheap.heap.supersession import Superseded
from ctxheap.prices import Rates, rates
from ctxheap.reclaim.policy import READS, Match, Policy, Rule, When
from ctxheap_collector.report.build import heaps_of
from ctxheap_collector.transcripts.detect import read_all

RATES = Rates(1e-3, 1e-4, 1.25e-3, 2e-3, 5e-3, "test", "2026-12-01")
READ = "tool_result:Read"


def session(
    objects: Sequence[tuple[str, int, int]],
    calls: int,
    *,
    minutes: Sequence[int] = (),
    uses: Mapping[int, Sequence[int]] = {},
    superseded: Sequence[Superseded] = (),
    pinned: Sequence[int] = (),
) -> Heap:
    """Return a heap of (tag, tokens, birth) objects that stay to the end, billed by a warm cache."""
    found = Heap("s", None, "", superseded=list(superseded))
    for number, (tag, _, birth) in enumerate(objects):
        found.objects.append(
            HeapObject(
                number,
                str(number),
                "tool_result",
                tag,
                "",
                birth,
                calls,
                0,
                pinned=number in pinned,
                error=False,
            )
        )
    found.uses = [Use(number, call, "quote", 1.0, "used") for number, at in uses.items() for call in at]
    for k in range(1, calls + 1):
        prompt = {n: size for n, (_, size, birth) in enumerate(objects) if birth <= k}
        total = sum(prompt.values())
        found.calls.append(
            Call(
                number=k,
                id=str(k),
                model="claude-test",
                provider="",
                started_ns=minutes[k - 1] * 60 * NS_PER_SECOND if minutes else None,
                usage=Usage(cache_read=1, cache_write_5m=total - 1),
                numbers=array("I", prompt),
                tokens=array("q", prompt.values()),
                born=tuple(n for n in prompt if objects[n][2] == k),
                extends=True,
                exact=True,
                implied=False,
                incomplete=False,
                compaction=None,
                messages=0,
            )
        )
    return found


def studied(heap: Heap, rates: Rates | None = RATES) -> Study:
    return study(heap, lambda _call: rates)


def copies(calls: int, size: int) -> Heap:
    """Return a session that reads the same text at every call; each copy makes the one before redundant."""
    objects = [("system_prompt", 100, 1), *[(READ, size, k) for k in range(1, calls + 1)]]
    events = [Superseded(k, k + 1, "duplicate", k + 1) for k in range(1, calls)]
    return session(objects, calls, superseded=events)


def used_once(count: int, *, tag: str = "tool_result:query") -> Heap:
    """Return a session that gets one large result at each of its first calls, each used at once."""
    objects = [("system_prompt", 100, 1), *[(tag, 2_000, k) for k in range(1, count + 1)]]
    return session(objects, count + 15, uses={k: [k] for k in range(1, count + 1)})


def only(found: Sequence[Suggestion], action: str) -> Suggestion:
    [each] = [each for each in found if each.action == action]
    return each


def six(_tag: str) -> int:
    """Return θ of a fleet."""
    return 6


def leak(tag: str) -> Leak:
    return Leak(tag, "leak", "major", share=0.5)


def test_copies_are_deduped_with_what_it_saves_and_what_the_cache_stores_again() -> None:
    heap = session(
        [("system_prompt", 100, 1), (READ, 10_000, 1), (READ, 10_000, 2)],
        8,
        superseded=[Superseded(1, 2, "duplicate", 2)],
    )

    [found] = suggest(studied(heap), [])

    # From call 4 on 994 a call of rent; the cut costs 1.15 · 10,060: never reached in 8 calls.
    assert (found.action, found.accepted, found.objects, found.reason) == (
        "dedupe",
        False,
        (),
        "the cache never made it worth while here",
    )


def test_a_cold_cache_makes_the_same_rule_pay() -> None:
    heap = session(
        [("system_prompt", 100, 1), (READ, 10_000, 1), (READ, 10_000, 2)],
        8,
        superseded=[Superseded(1, 2, "duplicate", 2)],
        minutes=[0, 1, 2, 3, 20, 21, 22, 23],
    )

    [found] = suggest(studied(heap), [])

    saved = (10_000 - RECEIPT_TOKENS) * (1.25 + 3 * 0.1)
    assert (found.objects, found.freed_at, found.tokens, found.token_calls) == ((1,), (5,), 9_940, 39_760)
    assert [found.gross_tokens, found.rebill_tokens, found.regret_tokens, found.net_tokens] == pytest.approx(
        [saved, 0, 0, saved]
    )
    assert [found.gross_usd, found.rebill_usd, found.regret_usd, found.net_usd] == pytest.approx(
        [saved * 1e-3, 0, 0, saved * 1e-3]
    )
    assert (found.accepted, found.confidence, found.break_even_calls) == (True, "high", 0.0)


def test_money_is_unknown_without_prices_and_tokens_are_not() -> None:
    heap = session(
        [("system_prompt", 100, 1), (READ, 10_000, 1), (READ, 10_000, 2)],
        8,
        superseded=[Superseded(1, 2, "duplicate", 2)],
        minutes=[0, 1, 2, 3, 20, 21, 22, 23],
    )

    [found] = suggest(studied(heap, None), [])

    assert (found.gross_usd, found.net_usd, found.accepted, found.net_tokens > 0) == (None, None, True, True)


def test_a_rule_waits_longer_than_such_objects_were_still_used() -> None:
    heap = session(
        [("system_prompt", 100, 1), (READ, 10_000, 1), (READ, 10_000, 2)],
        12,
        superseded=[Superseded(1, 2, "duplicate", 2)],
        uses={1: [1, 6]},
        minutes=[0, 1, 2, 3, 20, 40, 60, 80, 100, 120, 140, 160],
    )

    [found] = suggest(studied(heap), [])

    assert (found.rule, found.freed_at) == (
        Rule(
            "dedupe",
            Match(tags=(READ,)),
            When(superseded=True, idle_calls=6, min_tokens=200),
            reason="held again by a later object",
        ),
        (12,),
    )


def test_what_was_only_put_out_of_date_is_refused() -> None:
    heap = session(
        [("system_prompt", 100, 1), (READ, 10_000, 1), ("tool_result:Edit", 50, 2)],
        8,
        superseded=[Superseded(1, 2, "invalidated", 2)],
        minutes=[0, 1, 2, 3, 20, 21, 22, 23],
    )

    [found] = suggest(studied(heap), [])

    assert (found.action, found.accepted, found.reason, found.net_tokens > 0) == (
        "evict",
        False,
        "put out of date, but nothing in the prompt holds the text again: 1 object",
        True,
    )


def test_a_replaced_plan_is_evicted() -> None:
    heap = session(
        [("system_prompt", 100, 1), ("tool_result:plan", 900, 1), ("tool_result:plan", 1_800, 2)],
        8,
        superseded=[Superseded(1, 2, "plan_replaced", 2)],
        minutes=[0, 1, 2, 3, 20, 21, 22, 23],
    )

    [found] = suggest(studied(heap), [])

    assert (found.action, found.accepted, found.objects) == ("evict", True, (1,))


def test_idle_results_of_a_short_session_are_refused_without_a_fleet() -> None:
    heap = used_once(8)

    found = only(suggest(studied(heap), [leak("tool_result:query")]), "evict")

    assert (found.accepted, found.reason) == (
        False,
        "fewer than 200 reuse gaps of tool_result:query are known, so idle does not mean dead yet",
    )


@pytest.mark.parametrize(("count", "theta"), [(25, None), (8, six)])
def test_idle_results_are_evicted_where_enough_is_known(
    count: int, theta: Callable[[str], int | None] | None
) -> None:
    heap = used_once(count)

    found = only(suggest(studied(heap), [leak("tool_result:query")], theta=theta), "evict")

    assert found.rule == Rule(
        "evict",
        Match(tags=("tool_result:query",)),
        When(idle_calls=6, min_tokens=MIN_IDLE_TOKENS),
        reason="leak: not used for 6 calls",
    )
    assert (found.accepted, found.regret_tokens > 0, found.net_tokens > 0, found.used_later) == (
        True,
        True,
        True,
        (),
    )


def test_what_lay_idle_and_was_used_later_is_pinned_and_never_freed() -> None:
    objects = [("system_prompt", 100, 1), *[(READ, 5_000, k) for k in range(1, 9)]]
    uses = {k: [k] for k in range(1, 9)} | {2: [2, 29]}
    heap = session(objects, 30, uses=uses, minutes=[k * 10 for k in range(30)])

    found = suggest(studied(heap), [leak(READ)], theta=six)

    pin = only(found, "pin")
    evict = [(each.accepted, each.reason) for each in found if each.action == "evict"]
    assert (pin.accepted, pin.keeps, pin.objects, pin.net_tokens > 0) == (True, (2,), (), True)
    assert evict == [(False, "would free 1 object before a later use")]


def test_tags_that_thrash_are_left_alone() -> None:
    heap = copies(20, 10_000)
    found = studied(heap)
    thrashing = replace(regret(found), thrash={READ: 0.5})

    each = only(suggest(found, [], regret=thrashing), "dedupe")

    assert (each.accepted, each.reason) == (
        False,
        "what left the prompt under this tag was fetched again too often",
    )


def test_repeated_state_is_named_as_evidence() -> None:
    found = studied(copies(20, 10_000))

    each = only(suggest(found, [], repeats=repeated_state(found)), "dedupe")

    assert each.evidence == (
        "19 objects held again by a later object while in the prompt; duplicate 1,900,000 token-calls"
    )


def test_what_a_fleet_never_used_becomes_advice_without_a_rule() -> None:
    offers: list[Offer | Paragraph] = [
        Offer("grep", "tool", ("grep",), 6, 0, 0, 120.0, 5_000, 0.5),
        Offer("mail", "server", ("mcp__mail__send",), 2, 0, 0, 900.0, 9_000, None),
        Offer("read", "tool", ("read",), 6, 4, 20, 120.0, 5_000, 0.5),
    ]
    found = suggest(studied(session([("system_prompt", 100, 1)], 3)), [], upstream=offers)

    rows = [
        (each.action, each.tag, each.rule, each.objects, each.accepted, each.net_usd, each.reason)
        for each in found
    ]
    assert rows == [
        (
            "upstream",
            "tool_definition:grep",
            None,
            (),
            True,
            0.5,
            "no session called this tool: leave its definition out, or load it on demand",
        ),
        (
            "upstream",
            "tool_definition:mail",
            None,
            (),
            False,
            None,
            "seen in 2 sessions only, 5 needed",
        ),
    ]


def test_retrievers_that_return_too_much_get_a_lower_top_k() -> None:
    objects = [("retrieval:kb", 500, k) for k in (1, 1, 1, 2, 2, 2, 3, 3, 3)]
    heap = session(objects, 5, uses={0: [1], 3: [2], 6: [3]})

    found = only(suggest(studied(heap), []), "upstream")

    assert (found.accepted, found.tokens, found.token_calls, found.reason) == (
        True,
        3_000,
        1_000 * (5 + 4 + 3),
        "lower top-k: 3.0 documents a retrieval, never more than 1 used",
    )


def test_policy_holds_the_accepted_rules_in_the_order_of_their_safety() -> None:
    dedupe, evict, pin = (Rule(action, Match(tags=("x",))) for action in ("dedupe", "evict", "pin"))
    found = [
        Suggestion("evict", "x", evict, accepted=True),
        Suggestion("dedupe", "x", dedupe, accepted=True),
        Suggestion("pin", "x", pin, accepted=True),
        Suggestion("evict", "y", Rule("evict"), accepted=False),
        Suggestion("upstream", "z", None, accepted=True),
    ]

    assert policy_of(found) == Policy(
        rules=(dedupe, evict), pins=(Match(tags=("x",)),), trigger="economic", idempotent_tools=READS
    )


def test_accepted_suggestions_save_what_two_ledgers_bill_apart_and_free_nothing_that_must_stay() -> None:
    dice = random.Random(23)
    accepted = 0
    for _ in range(300):
        found, minutes = _random_session(dice)

        rules = [each for each in suggest(found, verdicts(found), theta=six) if each.accepted]

        freed = {
            number: call for each in rules for number, call in zip(each.objects, each.freed_at, strict=True)
        }
        spent = _billed(found, minutes, {}) - _billed(found, minutes, freed)
        rules = [each for each in rules if each.action not in ("pin", "upstream")]
        assert sum(each.gross_tokens - each.rebill_tokens for each in rules) == pytest.approx(spent, abs=1e-6)
        items = found.heap.objects
        assert not [n for n, call in freed.items() if items[n].inherent or call < items[n].birth + 3]
        assert not [n for n, call in freed.items() if any(use >= call for use in found.account.uses[n])]
        accepted += bool(freed)
    assert accepted > 100


@pytest.mark.shared
@pytest.mark.parametrize("form", ["claude-code", "openai-requests", "openai-messages"])
def test_the_planted_plan_is_freed_and_the_value_of_step_2_never(
    form: str, shared: Path, tmp_path: Path
) -> None:
    file = tmp_path / "planted.jsonl"
    script = shared / "eval" / "gen_transcript.py"
    subprocess.run(
        [sys.executable, str(script), "--format", form, "--steps", "60", "-o", str(file)], check=True
    )
    exchanges: list[Exchange] = [each for reading in read_all([str(file)]) for each in reading.exchanges]
    [heap] = heaps_of(exchanges)
    found = study(heap, lambda call: rates(call.model, call.provider, call.usage or Usage(), call.started_ns))
    leaks = verdicts(found)

    freed = {number for each in suggest(found, leaks) if each.accepted for number in each.objects}

    kept = {
        part.identity.hex()
        for each in exchanges
        for part in each.prompt
        if part.kind == "tool_result" and "max_shards = 4173" in part.text
    }
    plans = {item.number for item in heap.objects if item.tag == leaks[0].tag}
    assert leaks[0].tag in ("tool_result:TodoWrite", "tool_result:update_plan")
    assert plans & freed
    assert kept
    assert not [item for item in heap.objects if item.id in kept and item.number in freed]


def _random_session(dice: random.Random) -> tuple[Study, list[int]]:
    """Return a session with copies, replaced plans, late uses, pins and pauses."""
    calls = dice.randrange(8, 30)
    tags = (READ, "tool_result:plan", "tool_result:query", "user_turn", "agent_output")
    objects = [("system_prompt", 500, 1)]
    for k in range(1, calls + 1):
        objects += [(dice.choice(tags), dice.randrange(50, 6_000), k) for _ in range(dice.randrange(1, 3))]
    events = [
        Superseded(n, n + 1, dice.choice(["duplicate", "plan_replaced", "invalidated"]), objects[n + 1][2])
        for n in range(1, len(objects) - 1)
        if dice.random() < 0.4
    ]
    uses: dict[int, list[int]] = {}
    for n, (_, _, birth) in enumerate(objects):
        uses[n] = [birth] if dice.random() < 0.8 else []
        uses[n] += [dice.randrange(birth, calls + 1)] if dice.random() < 0.2 else []
    pinned = [n for n in range(len(objects)) if dice.random() < 0.1]
    minutes = [0]
    for _ in range(calls - 1):
        minutes.append(minutes[-1] + dice.choice([1, 1, 1, 1, 1, 9]))
    heap = session(objects, calls, minutes=minutes, uses=uses, superseded=events, pinned=pinned)
    return studied(heap), minutes


def _billed(found: Study, minutes: Sequence[int], freed: Mapping[int, int]) -> float:
    """Return the bill in token equivalents with receipts from each object's call on."""
    bill = 0.0
    before: tuple[list[str], list[int]] | None = None
    for call in found.heap.calls:
        gone = [freed.get(number, call.number + 1) <= call.number for number in call.numbers]
        names = [f"{n}{' gone' if is_gone else ''}" for n, is_gone in zip(call.numbers, gone, strict=True)]
        sizes = [
            min(size, RECEIPT_TOKENS) if is_gone else size
            for size, is_gone in zip(call.tokens, gone, strict=True)
        ]
        cache = PromptCache()
        if before is not None and minutes[call.number - 1] - minutes[call.number - 2] <= 5:
            cache.send(*before)
        served = cache.send(names, sizes)
        bill += 0.1 * served.read + 1.25 * served.written
        before = (names, sizes)
    return bill
