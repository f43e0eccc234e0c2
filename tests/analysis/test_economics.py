"""Check the economics of SPEC 7 by its worked examples and by playing both futures out."""

from __future__ import annotations

import math
import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.analysis.cache import PromptCache, Served
from ctxheap.analysis.economics import (
    Cut,
    Saving,
    best_cut,
    break_even_calls,
    cold_saving,
    collection_cost,
    compaction,
    is_due,
    is_worth_regret,
    least_batch,
    refetch_cost,
    warm_saving,
)
from ctxheap.analysis.factors import UNKNOWN_OUTPUT, Factors, factors_of, writes_for_an_hour
from ctxheap.heap.model import Usage
from ctxheap.prices import Rates, rates

SONNET = Factors(3e-6, 0.1, 1.25, 5.0)
CASES = 3_000


@pytest.mark.parametrize(
    ("after", "break_even", "net_usd"),
    [(2_000, 1.15, 0.2331), (30_000, 17.25, 0.1365), (120_000, 69.0, -0.174)],
)
def test_warm_example_of_the_spec(after: int, break_even: float, net_usd: float) -> None:
    saving = warm_saving(SONNET, tokens=20_000, after=after, calls=40)
    calls = break_even_calls(SONNET, tokens=20_000, after=after)

    assert [_usd(saving.net), calls] == pytest.approx([net_usd, break_even])


def test_cold_example_of_the_spec() -> None:
    saving = cold_saving(SONNET, tokens=20_000, calls=40)

    assert [_usd(saving.net), saving.rebill] == pytest.approx([0.309, 0.0])


@pytest.mark.parametrize(
    ("calls", "cut"),
    [
        (2, None),
        (5, Cut(1, 32_000, 10_000, Saving(16_000.0, 11_500.0))),
        (40, Cut(1, 32_000, 10_000, Saving(128_000.0, 11_500.0))),
    ],
)
def test_cut_example_of_the_spec(calls: int, cut: Cut | None) -> None:
    sizes = [10_000, 8_000, 3_000, 15_000, 2_000, 9_000, 4_000, 1_000]
    dead = [False, True, False, True, False, True, False, False]

    found = best_cut(SONNET, sizes, dead, calls=calls)

    assert (found, None if found is None else found.saving.net) == (
        cut,
        {2: None, 5: 4_500, 40: 116_500}[calls],
    )


def test_break_even_is_never_reached_when_nothing_shrinks() -> None:
    assert break_even_calls(SONNET, tokens=50, after=1_000, placeholder=50) == math.inf


def test_least_batch_is_where_the_cut_breaks_even() -> None:
    least = least_batch(SONNET, after=30_000, calls=40)

    net = warm_saving(SONNET, tokens=least, after=30_000, calls=40).net
    assert [least, net] == pytest.approx([8_625, 0], abs=1e-6)


def test_least_batch_is_infinite_when_reads_are_free() -> None:
    assert least_batch(Factors(None, 0.0, 1.0), after=10, calls=5) == math.inf


def test_compaction_adds_its_own_request_to_what_it_bills_anew() -> None:
    plan = compaction(SONNET, context=100_000, prefix=10_000, tail=20_000, summary=2_000)

    found = [plan.cost, plan.saving_per_call, plan.break_even_calls, plan.net(10)]
    assert found == pytest.approx([10_000 + 10_000 + 1.15 * 22_000, 6_800, 45_300 / 6_800, 22_700])


def test_compaction_without_a_shared_prefix_reads_the_context_in_full() -> None:
    plan = compaction(SONNET, context=100_000, prefix=10_000, tail=20_000, summary=2_000, shares_prefix=False)

    assert plan.cost == pytest.approx(100_000 + 10_000 + 25_300)


def test_compaction_that_saves_nothing_never_pays() -> None:
    plan = compaction(SONNET, context=30_000, prefix=10_000, tail=20_000, summary=2_000)

    assert (plan.break_even_calls, plan.net(100) < 0) == (math.inf, True)


def test_refetching_costs_a_call_its_arguments_and_the_result_again() -> None:
    cost = refetch_cost(SONNET, context=50_000, arguments=40, tokens=20_000, calls=10)

    assert cost == pytest.approx(5_000 + 200 + 25_000 + 20_000)


@pytest.mark.parametrize(("probability", "worth"), [(0.0, True), (0.09, True), (0.11, False)])
def test_eviction_is_worth_it_below_the_ratio_of_saving_and_refetch(probability: float, worth: bool) -> None:
    assert is_worth_regret(probability, net=5_020, refetch=50_200) is worth


def test_what_saves_nothing_is_not_worth_a_riskless_eviction() -> None:
    assert is_worth_regret(0.0, net=0.0, refetch=10.0) is False


def test_collection_is_due_when_the_next_rent_reaches_its_cost() -> None:
    cost = collection_cost(SONNET, after=10_000, own=500)

    found = [is_due(paid, 1_000, cost=cost) for paid in (0, 10_999, 11_000)]

    assert [cost, *found] == pytest.approx([12_000, False, False, True])


def test_collection_is_due_at_once_when_the_cache_is_cold_and_something_is_dead() -> None:
    found = [is_due(0, coming, cost=1e9, is_cold=True) for coming in (0, 1)]

    assert found == [False, True]


@given(
    rents=st.lists(st.floats(0.01, 50), min_size=1, max_size=40),
    cost=st.floats(0.1, 200),
)
def test_trigger_never_costs_more_than_twice_the_best_with_hindsight(rents: list[float], cost: float) -> None:
    # One object that stays dead: the best plan collects before the first call or never.
    paid = 0.0
    for rent in rents:
        if is_due(paid, rent, cost=cost):
            paid += cost
            break
        paid += rent

    assert paid <= 2 * min(cost, sum(rents)) + 1e-9


def test_best_cut_equals_the_best_of_all_subsets_on_random_prompts() -> None:
    dice = random.Random(11)
    for _ in range(CASES):
        sizes = [dice.randrange(1, 3_000) for _ in range(dice.randrange(1, 8))]
        dead = [dice.random() < 0.5 for _ in sizes]
        calls = dice.randrange(1, 60)

        found = best_cut(SONNET, sizes, dead, calls=calls)

        best = max(_played_out(sizes, freed, calls=calls) for freed in _subsets(dead))
        assert (found.saving.net if found else 0.0) == pytest.approx(best, abs=1e-6)


def test_savings_equal_the_ledger_on_3000_random_sessions() -> None:
    dice = random.Random(13)
    for _ in range(CASES):
        before, tokens, placeholder = dice.randrange(5_000), dice.randrange(1, 9_000), dice.randrange(60)
        after, calls, is_cold = dice.randrange(1, 9_000), dice.randrange(1, 30), dice.random() < 0.5
        growth = [dice.randrange(500) for _ in range(calls)]
        parts = [("before", before), ("object", tokens), ("after", after)]
        freed = [("before", before), *([("stub", placeholder)] if placeholder else []), ("after", after)]

        kept, gone = (_bill(parts, future, growth=growth, is_cold=is_cold) for future in (parts, freed))

        saving = (
            cold_saving(SONNET, tokens=tokens, calls=calls, placeholder=placeholder)
            if is_cold
            else warm_saving(SONNET, tokens=tokens, after=after, calls=calls, placeholder=placeholder)
        )
        assert saving.net == pytest.approx(kept - gone, abs=1e-6)


def test_factors_are_ratios_to_the_uncached_price() -> None:
    prices = Rates(3e-6, 3e-7, 3.75e-6, 6e-6, 1.5e-5, "list", "2026-01-01")

    found = [factors_of(prices, "claude-sonnet-4-5", hour=hour) for hour in (False, True)]

    ratios = [ratio for each in found for ratio in (each.read, each.write, each.output)]
    assert ([each.price for each in found], ratios == pytest.approx([0.1, 1.25, 5, 0.1, 2.0, 5])) == (
        [3e-6, 3e-6],
        True,
    )


@pytest.mark.parametrize(
    ("model", "factors"),
    [
        ("claude-sonnet-4-5", Factors(None, 0.10, 1.25)),
        ("gpt-5.6", Factors(None, 0.10, 1.25)),
        ("gemini-2.5-pro", Factors(None, 0.10, 1.0)),
        ("nobody-knows-7b", Factors(None, 1.0, 1.0)),
    ],
)
def test_factors_of_unpriced_models_are_the_dated_ones(model: str, factors: Factors) -> None:
    assert factors_of(None, model) == factors


@pytest.mark.parametrize(
    ("model", "provider", "read", "write"),
    [
        ("claude-sonnet-4-5", "anthropic", 0.10, 1.25),
        ("gpt-4o", "openai", 0.5, 1.0),
        ("gpt-4.1", "openai", 0.25, 1.0),
        ("gpt-5", "openai", 0.10, 1.0),
        ("gemini-2.5-pro", "google", 0.10, 1.0),
    ],
)
def test_factors_of_priced_models_are_those_of_the_spec(
    model: str, provider: str, read: float, write: float
) -> None:
    found = factors_of(rates(model, provider, Usage(uncached=1_000), None), model)

    assert [found.read, found.write] == pytest.approx([read, write], abs=0.005)


def test_money_is_unknown_without_a_price() -> None:
    found = [Factors(None, 0.1, 1.0).usd(10), Factors(2.0, 0.1, 1.0).usd(10)]

    assert (found, Factors(None, 0.1, 1.0).output) == ([None, 20.0], UNKNOWN_OUTPUT)


def test_a_session_stores_for_an_hour_when_most_of_its_writes_do() -> None:
    found = [
        writes_for_an_hour(usages)
        for usages in (
            [None, Usage(cache_write_5m=5, cache_write_1h=6)],
            [Usage(cache_write_5m=5)],
            [],
        )
    ]

    assert found == [True, False, False]


def _usd(token_equivalents: float) -> float:
    return SONNET.usd(token_equivalents) or 0.0


def _subsets(dead: list[bool]) -> list[tuple[bool, ...]]:
    return list(product(*[(False, True) if is_dead else (False,) for is_dead in dead]))


def _played_out(sizes: list[int], freed: tuple[bool, ...], *, calls: int) -> float:
    """Return what a subset saves, with everything after the first freed part billed anew once."""
    gross = SONNET.read * calls * sum(size for size, gone in zip(sizes, freed, strict=True) if gone)
    if not any(freed):
        return 0.0
    first = freed.index(True)
    after = sum(size for size, gone in zip(sizes[first:], freed[first:], strict=True) if not gone)
    return gross - (SONNET.write - SONNET.read) * after


def _bill(
    sent: list[tuple[str, int]], future: list[tuple[str, int]], *, growth: list[int], is_cold: bool
) -> float:
    """Return what the calls to come cost, in token equivalents, after `sent` was sent once.

    What is new at each call is billed alike in both futures, so it takes part in neither bill.
    """
    cache = PromptCache()
    if not is_cold:
        cache.send([name for name, _ in sent], [size for _, size in sent])
    served: list[Served] = []
    parts = list(future)
    for place, size in enumerate(growth):
        parts = [*parts, (f"new {place}", size)]
        served.append(cache.send([name for name, _ in parts], [size for _, size in parts]))
    return sum(SONNET.read * each.read + SONNET.write * each.written for each in served)
