"""Check rank statistics against brute force, published tables and worked figures."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.analysis.statistics import (
    Shift,
    benjamini_hochberg,
    binomial_tail,
    hamed_rao,
    hodges_lehmann,
    kendall_exact,
    kendall_p,
    kendall_sum,
    kendall_variance,
    rank_sum_p,
    ranks,
    theil_sen,
    wilson,
)

numbers = st.integers(min_value=-1_000, max_value=1_000)


def test_the_slope_ignores_a_single_outlier() -> None:
    assert theil_sen([0, 1, 2, 3, 4], [1, 3, 5, 700, 9]) == 2


def test_the_slope_of_one_point_is_flat() -> None:
    assert theil_sen([0], [7]) == 0


@pytest.mark.parametrize("count", [2, 3, 5, 6])
def test_exact_tails_equal_counting_all_orders(count: int) -> None:
    sums = [kendall_sum(order) for order in permutations(range(count))]

    found = {total: kendall_exact(count, total) for total in set(sums)}

    assert found == {total: sum(other >= total for other in sums) / len(sums) for total in set(sums)}


def test_ties_shrink_the_variance() -> None:
    # 5 values with a pair of ties: (5·4·15 − 2·1·9) / 18.
    assert kendall_variance([1, 2, 2, 3, 4]) == pytest.approx(282 / 18)


def test_a_level_series_has_no_trend() -> None:
    assert kendall_p([4, 4, 4, 4]) == 1


def test_dependence_weakens_a_trend() -> None:
    rising = list(range(12))

    assert kendall_p(rising, inflation=4) > kendall_p(rising)


@given(st.lists(numbers, min_size=2, max_size=14, unique=True))
def test_a_trend_and_its_mirror_cannot_both_be_significant(values: list[int]) -> None:
    assert kendall_p(values) + kendall_p(values[::-1]) >= 1 - 1e-9


@given(st.lists(numbers, min_size=1, max_size=20))
def test_ranks_add_up(values: list[int]) -> None:
    assert sum(ranks(values)) == pytest.approx(len(values) * (len(values) + 1) / 2)


def test_equal_values_share_a_rank() -> None:
    assert ranks([10, 20, 20, 5]) == [2, 3.5, 3.5, 1]


def test_slow_waves_inflate_and_alternation_does_not() -> None:
    wave = [abs(place % 20 - 10) for place in range(60)]
    zigzag = [place % 2 for place in range(60)]

    assert hamed_rao(wave, slope=0) > 2
    assert hamed_rao(zigzag, slope=0) == 1


def test_a_straight_line_is_no_dependence() -> None:
    assert hamed_rao([3 * place for place in range(40)], slope=3) == 1


def test_false_discovery_rates_of_the_original_paper() -> None:
    # Benjamini and Hochberg 1995, section 4.1: the first four of fifteen are found at 0.05.
    ps = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
        0.6528, 0.7590, 1.0,
    ]  # fmt: skip

    assert sum(q <= 0.05 for q in benjamini_hochberg(ps)) == 4


@given(st.lists(st.floats(min_value=0, max_value=1), max_size=12))
def test_corrected_scores_are_never_smaller_and_keep_the_order(ps: list[float]) -> None:
    qs = benjamini_hochberg(ps)

    assert all(p <= q <= 1 for p, q in zip(ps, qs, strict=True))
    assert [q for _, q in sorted(zip(ps, qs, strict=True))] == sorted(qs)


def test_tail_of_a_binomial() -> None:
    assert binomial_tail(2, 5, chance=0.1) == pytest.approx(0.08146)
    assert binomial_tail(0, 5, chance=0.1) == 1


def test_interval_of_a_share() -> None:
    assert wilson(2, 10) == pytest.approx((0.0567, 0.5098), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


def test_equal_samples_do_not_differ() -> None:
    assert rank_sum_p([1, 2, 3, 4], [1, 2, 3, 4]) == 1
    assert rank_sum_p([], [1]) == 1


def test_samples_apart_differ() -> None:
    assert rank_sum_p(range(10), range(10, 20)) == pytest.approx(0.000183, abs=1e-6)


def test_a_shift_is_found_with_its_interval() -> None:
    assert hodges_lehmann([1, 2, 3, 4, 5], [11, 12, 13, 14, 15]) == Shift(10, 7, 13)


def test_a_shift_needs_two_samples() -> None:
    with pytest.raises(ValueError, match="empty"):
        hodges_lehmann([], [1])
