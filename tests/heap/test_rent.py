"""Check the rent of SPEC 3.4: the prefix is read, then written, then uncached, and it adds up to the bill."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isclose

from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.model import Usage
from ctxheap.heap.rent import input_bill, rent


@dataclass(frozen=True, slots=True)
class Prices:
    uncached: float = 3e-6
    cache_read: float = 0.3e-6
    cache_write_5m: float = 3.75e-6
    cache_write_1h: float = 6e-6


SONNET = Prices()
classes = st.integers(0, 200_000)
usages = st.builds(
    Usage, uncached=classes, cache_read=classes, cache_write_5m=classes, cache_write_1h=classes
)
prices = st.floats(1e-9, 1e-3)
tables = st.builds(Prices, prices, prices, prices, prices)


@st.composite
def prompts(draw: st.DrawFn) -> tuple[list[int], Usage]:
    usage = draw(usages)
    cuts = sorted(draw(st.lists(st.integers(0, usage.input), max_size=30)))
    excess = draw(st.integers(0, 500))
    ends = [0, *cuts, usage.input + excess, usage.input]
    return [right - left for left, right in pairwise(ends)], usage


def near(paid: list[float], expected: list[float]) -> bool:
    return all(isclose(*pair, rel_tol=1e-12) for pair in zip(paid, expected, strict=True))


@given(prompt=prompts(), table=tables)
def test_rent_of_all_objects_is_the_input_bill(prompt: tuple[list[int], Usage], table: Prices) -> None:
    tokens, usage = prompt

    paid = rent(tokens, usage, table)

    assert len(paid) == len(tokens)
    assert isclose(sum(paid), input_bill(usage, table), rel_tol=1e-9, abs_tol=1e-15)


@given(prompt=prompts(), table=tables)
def test_only_a_negative_rest_is_given_money_back(prompt: tuple[list[int], Usage], table: Prices) -> None:
    tokens, usage = prompt

    paid = rent(tokens, usage, table)

    assert all(money >= -1e-12 for money in paid[:-1])
    assert paid[-1] <= 1e-12


def test_reads_come_before_writes_and_writes_before_the_rest() -> None:
    usage = Usage(uncached=100, cache_read=1_000, cache_write_5m=200)

    paid = rent([1_000, 200, 100], usage, SONNET)

    assert near(paid, [1_000 * 0.3e-6, 200 * 3.75e-6, 100 * 3e-6])


def test_an_object_across_a_border_is_split_in_proportion() -> None:
    usage = Usage(uncached=100, cache_read=1_000, cache_write_5m=200)

    paid = rent([900, 400], usage, SONNET)

    assert near(paid, [900 * 0.3e-6, 100 * 0.3e-6 + 200 * 3.75e-6 + 100 * 3e-6])


def test_writes_of_both_lifetimes_cost_their_mean() -> None:
    usage = Usage(cache_write_5m=300, cache_write_1h=100)

    paid = rent([200, 200], usage, SONNET)

    assert near(paid, [200 * 4.3125e-6, 200 * 4.3125e-6])


def test_a_negative_rest_takes_back_what_the_last_class_was_charged_too_much() -> None:
    usage = Usage(uncached=50, cache_read=100)

    paid = rent([100, 60, -10], usage, SONNET)

    assert near(paid, [100 * 0.3e-6, 60 * 3e-6, -10 * 3e-6])


def test_a_prompt_without_tokens_costs_nothing() -> None:
    assert rent([], Usage(), SONNET) == []
    assert rent([0, 0], Usage(), SONNET) == [0, 0]
