"""Check the conservation law of SPEC 3.3: every billed token has exactly one owner."""

from __future__ import annotations

import time
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.attribution import Attribution, apportion, attribute

counts = st.lists(st.integers(0, 100_000), max_size=60)
totals = st.integers(0, 2_000_000)


@st.composite
def calls(draw: st.DrawFn) -> tuple[int, list[int], list[bool]]:
    raw = draw(counts)
    soft = draw(st.lists(st.booleans(), min_size=len(raw), max_size=len(raw)))
    near = st.integers(0, sum(raw) * 2 + 40)
    return draw(st.one_of(totals, near)), raw, soft


def owned(split: Attribution) -> int:
    return sum(split.tokens) + split.framing + split.unattributed


@given(call=calls(), exact=st.booleans(), overhead=st.integers(0, 900))
def test_every_billed_token_has_one_owner(
    call: tuple[int, list[int], list[bool]], exact: bool, overhead: int
) -> None:
    total, raw, soft = call

    split = attribute(total, raw, exact=exact, soft=soft, overhead=overhead)

    assert owned(split) == total
    assert len(split.tokens) == len(raw)


@given(call=calls(), exact=st.booleans())
def test_no_part_owns_less_than_nothing(call: tuple[int, list[int], list[bool]], exact: bool) -> None:
    total, raw, soft = call

    split = attribute(total, raw, exact=exact, soft=soft)

    assert min(split.tokens, default=0) >= 0
    assert split.framing >= 0


@given(total=totals, raw=counts)
def test_a_larger_count_never_owns_less(total: int, raw: list[int]) -> None:
    split = attribute(total, raw, exact=False)

    by_size = sorted(zip(raw, split.tokens, strict=True))
    assert all(small <= large for (a, small), (b, large) in pairwise(by_size) if a < b)


@given(total=totals, raw=counts.filter(lambda raw: sum(raw) > 0))
def test_scaling_moves_a_part_by_less_than_one_token(total: int, raw: list[int]) -> None:
    split = attribute(total, raw, exact=False)

    whole = sum(raw)
    assert all(abs(q * whole - e * total) < whole for q, e in zip(split.tokens, raw, strict=True))


@given(
    total=totals, raw=st.lists(st.integers(0, 100_000), max_size=40), seed=st.randoms(use_true_random=False)
)
def test_order_matters_only_between_equal_remainders(total: int, raw: list[int], seed: Random) -> None:
    shuffled = list(raw)
    seed.shuffle(shuffled)

    here, there = attribute(total, raw, exact=False), attribute(total, shuffled, exact=False)

    assert sorted(zip(raw, here.tokens, strict=True)) == sorted(zip(shuffled, there.tokens, strict=True))


def test_ties_between_remainders_go_to_the_earlier_part() -> None:
    assert apportion(5, [1, 1, 1]) == [2, 2, 1]
    assert apportion(2, [1, 1, 1, 1]) == [1, 1, 0, 0]


def test_largest_remainders_get_what_rounding_left() -> None:
    assert apportion(10, [6, 6, 5]) == [4, 3, 3]
    assert apportion(100, [333, 333, 334]) == [33, 33, 34]


@pytest.mark.parametrize(
    ("rest", "framing", "unattributed"), [(0, 0, 0), (9, 9, 0), (20, 9, 11), (-16, 0, -16)]
)
def test_exact_counts_stay_while_the_rest_is_small(rest: int, framing: int, unattributed: int) -> None:
    split = attribute(500 + rest, [200, 300], exact=True, overhead=9)

    assert split == Attribution([200, 300], framing, unattributed, "exact", 1.0)


@pytest.mark.parametrize(("rest", "method"), [(20, "exact"), (21, "scaled"), (-19, "exact"), (-20, "scaled")])
def test_two_percent_of_the_bill_is_the_bound_of_long_prompts(rest: int, method: str) -> None:
    assert attribute(1000 + rest, [400, 600], exact=True).method == method


def test_known_overhead_is_not_taken_for_a_wrong_count() -> None:
    split = attribute(300 + 903, [300], exact=True, overhead=903)

    assert split == Attribution([300], 903, 0, "exact", 1.0)


def test_uncertain_parts_carry_a_larger_difference_first() -> None:
    split = attribute(1_000, [100, 300, 400], exact=True, soft=[True, False, True], overhead=100)

    assert split == Attribution([120, 300, 480], 100, 0, "soft", 1.2)


def test_uncertain_parts_may_be_nothing_but_the_certain_ones_stay() -> None:
    split = attribute(1_000, [900, 500, 100], exact=True, soft=[False, True, False])

    assert (split.tokens, split.method) == ([900, 0, 100], "soft")


def test_all_parts_are_scaled_when_the_bill_is_below_the_certain_ones() -> None:
    split = attribute(200, [100, 300], exact=True, soft=[True, False])

    assert split == Attribution([50, 150], 0, 0, "scaled", 0.5)


def test_all_parts_are_scaled_when_the_uncertain_ones_are_empty() -> None:
    split = attribute(600, [0, 300], exact=True, soft=[True, False])

    assert split == Attribution([0, 600], 0, 0, "scaled", 2.0)


def test_estimates_are_scaled_however_near_they_are() -> None:
    split = attribute(1_010, [400, 600], exact=False)

    assert split == Attribution([404, 606], 0, 0, "estimated", 1.01)


@pytest.mark.parametrize("raw", [[], [0, 0]])
def test_a_bill_without_counts_is_unattributed(raw: list[int]) -> None:
    assert attribute(77, raw, exact=True, overhead=6) == Attribution(raw, 0, 77, "empty", 1.0)


def test_without_a_bill_counts_are_shown_as_estimates() -> None:
    split = attribute(None, [4, 5], exact=True, overhead=6)

    assert split == Attribution([4, 5], 6, 0, "raw", 1.0)
    assert split.is_estimated


@pytest.mark.parametrize(("total", "plausible"), [(700, True), (699, False), (1500, True), (1501, False)])
def test_a_factor_far_from_one_is_told(total: int, plausible: bool) -> None:
    assert attribute(total, [1_000], exact=False).is_plausible is plausible


def test_no_token_is_lost_beyond_the_precision_of_floats() -> None:
    split = attribute(2**60 + 7, [2**55 + 1, 2**54 + 3, 1], exact=False)

    assert owned(split) == 2**60 + 7


def test_a_long_session_is_split_in_a_fraction_of_a_second() -> None:
    raw = [100 + 37 * i % 900 for i in range(150)]

    start = time.process_time()
    for call in range(100):
        attribute(50_000 + call, raw, exact=False)

    assert time.process_time() - start < 0.5
