"""Check that what freeing saves is what two prompt caches bill apart, call by call."""

from __future__ import annotations

import random
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from ctxheap.analysis.cache import NS_PER_SECOND, PromptCache
from ctxheap.analysis.factors import Factors
from ctxheap.analysis.freeing import Candidate, Freed, course_of, play, totals
from ctxheap.analysis.study import Study, study
from ctxheap.heap.model import Usage
from ctxheap.heap.records import Call, Heap, HeapObject
from ctxheap.prices import Rates

RATES = Rates(1e-3, 1e-4, 1.25e-3, 2e-3, 5e-3, "test", "2026-12-01")
CASES = 3_000

Prompt = Sequence[tuple[int, int]]
"""Objects of one call with their tokens."""


def session(prompts: Sequence[Prompt], *, minutes: Sequence[int] = (), models: Sequence[str] = ()) -> Heap:
    """Return a heap of prompts, billed as written each time but for a token: a warm cache leaves a trace."""
    found = Heap("s", None, "")
    count = 1 + max(number for prompt in prompts for number, _ in prompt)
    for number in range(count):
        calls = [k for k, prompt in enumerate(prompts, 1) if number in dict(prompt)] or [1]
        found.objects.append(
            HeapObject(
                number,
                str(number),
                "tool_result",
                "tool_result:read",
                "",
                calls[0],
                calls[-1],
                0,
                pinned=False,
                error=False,
            )
        )
    for place, prompt in enumerate(prompts):
        before = [number for number, _ in prompts[place - 1]] if place else []
        numbers = [number for number, _ in prompt]
        found.calls.append(
            Call(
                number=place + 1,
                id=str(place),
                model=models[place] if models else "claude-test",
                provider="",
                started_ns=minutes[place] * 60 * NS_PER_SECOND if minutes else None,
                usage=Usage(cache_read=1, cache_write_5m=sum(size for _, size in prompt) - 1),
                numbers=array("I", numbers),
                tokens=array("q", [size for _, size in prompt]),
                born=tuple(n for n in numbers if found.objects[n].birth == place + 1),
                extends=numbers[: len(before)] == before,
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


def rounded(freed: Mapping[int, Freed]) -> dict[int, Freed]:
    """Return what was freed with its money rounded, so that it compares as whole values."""
    names = ("gross", "rebill", "gross_usd", "rebill_usd")
    return {
        number: replace(each, **{name: round(getattr(each, name), 6) for name in names})
        for number, each in freed.items()
    }


def growing(calls: int, size: int) -> list[Prompt]:
    return [[(number, size) for number in range(k)] for k in range(1, calls + 1)]


def test_an_object_goes_when_its_rent_reaches_what_the_cut_costs() -> None:
    prompts: list[Prompt] = [
        [(0, 1_000), (1, 10_000), *[(n, 500) for n in range(2, k + 2)]] for k in range(1, 13)
    ]
    found = studied(session(prompts))

    freed = rounded(play(found, course_of(found), [Candidate(1, 4, 0)]))

    # Rent is 1,000 a call from call 4; the cut costs 1.15 · 500 for each later object in the cache.
    # Call 4: 1,000 coming < 1,725. Call 5: 1,000 paid + 1,000 coming < 2,300.
    # Call 6: 2,000 + 1,000 >= 2,875: it goes, 5 objects behind it are stored again.
    assert freed == {
        1: Freed(
            1,
            6,
            10_000,
            14_000,
            token_calls=70_000,
            calls=7,
            gross=7_000.0,
            rebill=2_875.0,
            gross_usd=7.0,
            rebill_usd=2.875,
        )
    }


def test_a_cold_cache_frees_at_once_and_bills_nothing_anew() -> None:
    found = studied(session(growing(8, 1_000), minutes=(0, 1, 2, 3, 4, 20, 21, 22)))

    freed = play(found, course_of(found), [Candidate(1, 5, 100)])

    assert [(each.call, each.tokens, round(each.gross), each.rebill) for each in freed.values()] == [
        (6, 900, round(900 * (1.25 + 0.1 + 0.1)), 0.0)
    ]


def test_objects_of_the_newest_three_calls_stay() -> None:
    found = studied(session(growing(8, 1_000), models=[str(k) for k in range(8)]))

    freed = play(found, course_of(found), [Candidate(n, 1, 0) for n in range(8)])

    assert {number: each.call for number, each in freed.items()} == {0: 4, 1: 5, 2: 6, 3: 7, 4: 8}


def test_what_one_cut_costs_is_shared_by_size() -> None:
    prompts: list[Prompt] = [
        [(0, 3_000), (1, 1_000), *[(n, 10) for n in range(2, k + 2)]] for k in range(1, 9)
    ]
    found = studied(session(prompts))

    freed = play(found, course_of(found), [Candidate(0, 4, 0), Candidate(1, 4, 0)])

    assert [(each.call, round(each.rebill, 6)) for each in freed.values()] == [
        (4, round(1.15 * 30 / 4, 6)),
        (4, round(1.15 * 30 * 3 / 4, 6)),
    ]


def test_caching_that_is_off_makes_every_token_cost_the_same() -> None:
    heap = session(growing(3, 1_000))
    for call in heap.calls:
        call.usage = Usage(uncached=sum(call.tokens))

    assert course_of(studied(heap)).factors[0] == Factors(1e-3, 1.0, 1.0, 5.0)


def test_reads_without_writes_show_that_storing_costs_nothing() -> None:
    heap = session(growing(3, 1_000))
    for call in heap.calls:
        call.usage = Usage(uncached=1_000, cache_read=sum(call.tokens) - 1_000)

    found = course_of(studied(heap)).factors[0]

    assert [found.read, found.write] == pytest.approx([0.1, 1.0])


def test_savings_equal_two_ledgers_on_3000_random_sessions() -> None:
    dice = random.Random(17)
    freed_once = 0
    for _ in range(CASES):
        prompts = _random_prompts(dice)
        minutes = list(_minutes(dice, len(prompts)))
        found = studied(session(prompts, minutes=minutes))
        numbers = sorted({number for prompt in prompts for number, _ in prompt})
        chosen = [
            Candidate(number, dice.randrange(1, len(prompts) + 1), dice.choice([0, 30]))
            for number in numbers
            if dice.random() < 0.5
        ]

        freed = play(found, course_of(found), chosen)

        left = {each.number: each.left for each in chosen}
        sums = totals(freed, list(freed))
        spent = _billed(prompts, minutes, {}, left) - _billed(prompts, minutes, freed, left)
        assert sums.gross - sums.rebill == pytest.approx(spent, abs=1e-6)
        assert sums.gross_usd - sums.rebill_usd == pytest.approx(spent * RATES.uncached, abs=1e-9)
        freed_once += bool(freed)
    assert freed_once > CASES / 3


def _random_prompts(dice: random.Random) -> list[Prompt]:
    """Return prompts that grow, lose and regain parts, with sizes that drift from call to call."""
    ids: list[int] = [0]
    fresh = 1
    prompts: list[Prompt] = []
    base = [dice.randrange(20, 3_000) for _ in range(100)]
    for _ in range(dice.randrange(4, 16)):
        for _ in range(dice.randrange(1, 4)):
            ids.append(fresh)
            fresh += 1
        move = dice.random()
        if move < 0.1 and len(ids) > 2:
            del ids[dice.randrange(len(ids))]
        elif move < 0.15:
            ids.insert(dice.randrange(len(ids)), fresh)
            fresh += 1
        prompts.append([(number, base[number] + dice.randrange(3)) for number in ids])
    return prompts


def _minutes(dice: random.Random, calls: int) -> list[int]:
    now = 0
    found: list[int] = []
    for _ in range(calls):
        found.append(now)
        now += dice.choice([1, 1, 1, 1, 9])
    return found


def _billed(
    prompts: Sequence[Prompt], minutes: Sequence[int], freed: Mapping[int, Freed], left: Mapping[int, int]
) -> float:
    """Return the bill in token equivalents: each prompt is served from the one before it."""
    bill = 0.0
    before: tuple[list[str], list[int]] | None = None
    for place, prompt in enumerate(prompts):
        names: list[str] = []
        sizes: list[int] = []
        for number, size in prompt:
            is_gone = number in freed and freed[number].call <= place + 1
            names.append(f"{number} gone" if is_gone else str(number))
            sizes.append(min(size, left[number]) if is_gone else size)
        cache = PromptCache()
        if before is not None and minutes[place] - minutes[place - 1] <= 5:
            cache.send(*before)
        served = cache.send(names, sizes)
        bill += 0.1 * served.read + 1.25 * served.written
        before = (names, sizes)
    return bill
