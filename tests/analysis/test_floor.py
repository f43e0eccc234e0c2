"""Check that growth is told from warm-up, windows, sawteeth and spikes."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.analysis.floor import (
    Floor,
    floor_lite,
    growth_share,
    has_lasting_steps,
    moves,
    run_floors,
    stayed_share,
    word_of,
)


def words(series: list[float], *, others: float = 5_000) -> str:
    return floor_lite(series, [tokens + others for tokens in series]).word


def test_seven_calls_are_too_few() -> None:
    assert floor_lite([1, 2, 3, 4, 5, 6, 7], [9] * 7) == Floor("insufficient", 7, level=1)


def test_an_empty_series_is_too_short() -> None:
    assert floor_lite([], []) == Floor("insufficient", 0)


def test_a_line_leaks_with_its_own_slope() -> None:
    series = [100.0 * call for call in range(40)]

    found = floor_lite(series, [10_000.0] * 40)

    assert (found.word, found.slope, found.unfreed, found.level) == ("leak", 100, 1, 3_800)
    # b·n(n−1)/2 over all input: 100·780 / 400,000.
    assert found.share == pytest.approx(0.195)


def test_a_rising_sawtooth_leaks_by_its_floors() -> None:
    assert words([300.0 * (call // 6) + 900 * (call % 6) for call in range(60)]) == "leak"


def test_a_flat_sawtooth_is_stable() -> None:
    assert words([500.0 + 900 * (call % 6) for call in range(60)]) == "stable"


def test_growth_that_ended_in_the_warm_up_is_stable() -> None:
    assert words([min(call, 8) * 1_000.0 for call in range(40)]) == "stable"


def test_a_spike_is_stable() -> None:
    assert words([90_000.0 if call == 30 else 800.0 for call in range(50)]) == "stable"


def test_a_listing_that_stays_is_stable() -> None:
    assert words([0.0 if call < 20 else 9_000.0 for call in range(60)]) != "leak"


def test_growth_beside_a_large_bill_is_immaterial() -> None:
    assert words([100.0 * call for call in range(40)], others=1_000_000) == "immaterial"


def test_few_steps_that_stay_leak() -> None:
    series = [2_000.0 + 3_000 * sum(call >= step for step in (30, 95)) for call in range(100)]

    found = floor_lite(series, [tokens + 1_000 for tokens in series])

    assert (found.word, found.by) == ("leak", "steps")


def test_troughs_show_what_floors_of_runs_miss() -> None:
    # Reclaims are so far apart that runs rarely hold one.
    series = [200.0 * (call // 25) + (400 * (call % 25)) for call in range(400)]

    assert words(series) == "leak"


def test_a_ledger_beats_what_the_series_shows() -> None:
    series = [100.0 * call for call in range(40)]

    found = floor_lite(series, [10_000.0] * 40, usage=(900, 1_000))

    assert found.unfreed == pytest.approx(0.1)


def test_other_tags_can_take_a_verdict_back() -> None:
    found = floor_lite([100.0 * call for call in range(40)], [10_000.0] * 40)

    assert (word_of(found, score=0.04), word_of(found, score=0.06)) == ("leak", "stable")


def test_runs_are_near_equal_and_keep_their_minima() -> None:
    centres, floors = run_floors([5, 3, 8, 1])

    assert (centres, floors) == ([0, 1, 2, 3], [5, 3, 8, 1])
    assert len(run_floors(range(100))[1]) == 24


def test_small_moves_are_noise() -> None:
    assert moves([1_000, 1_063, 1_000, 1_200, 1_100]) == (100, 200)


def test_what_was_freed_again_did_not_stay() -> None:
    assert stayed_share([0, 10, 0, 5, 5], total=100) == pytest.approx(0.10)


def test_a_falling_series_has_no_growth() -> None:
    assert growth_share([5, 4, 3], slope=-1, total=12) == 0


def test_one_step_or_a_burst_is_not_lasting_growth() -> None:
    one = [0.0] * 50 + [5_000.0] * 50
    burst = [float(min(5, max(0, call - 60)) * 1_000) for call in range(100)]

    assert not has_lasting_steps(one)
    assert not has_lasting_steps(burst)


@given(st.lists(st.integers(min_value=0, max_value=50_000), min_size=8, max_size=60))
def test_a_constant_beside_it_never_changes_the_slope(series: list[int]) -> None:
    plain = floor_lite(series, [100_000] * len(series))
    raised = floor_lite([tokens + 500 for tokens in series], [100_000] * len(series))

    assert raised.slope == pytest.approx(plain.slope)


@given(st.lists(st.integers(min_value=0, max_value=50_000), min_size=8, max_size=60))
def test_a_series_that_never_rises_never_leaks(series: list[int]) -> None:
    falling = sorted(series, reverse=True)

    assert floor_lite(falling, [100_000] * len(series)).word == "stable"


def test_four_hundred_calls_take_about_a_millisecond() -> None:
    series = [100.0 * call - (call % 7) * 650 for call in range(400)]
    began = time.perf_counter()
    for _ in range(20):
        floor_lite(series, series)

    assert (time.perf_counter() - began) / 20 < 0.02  # twenty times the budget: other tests run beside it


@given(
    st.lists(st.floats(0, 1e9), max_size=60),
    st.floats(0, 1e9),
    st.floats(0, 1),
    st.none() | st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)),
)
def test_the_test_never_raises_and_gives_shares_from_0_on(
    series: list[float], others: float, warm: float, usage: tuple[float, float] | None
) -> None:
    found = floor_lite(series, [others] * len(series), usage=usage, warm=0.9 * warm)

    assert found.word in ("insufficient", "stable", "immaterial", "leak")
    assert found.share >= 0 or found.slope <= 0
    assert stayed_share(series, total=sum(series)) >= 0


@pytest.mark.parametrize("level", [0.1, 187.6, 333.3333333333, 700.7])
@pytest.mark.parametrize("calls", range(8, 80, 3))
def test_what_rose_and_fell_back_to_its_start_has_no_share_that_stayed(level: float, calls: int) -> None:
    rise = [level + 1_000 + 50 * call for call in range(calls - calls // 4 - 1)]
    series = [*[level] * (calls // 4), *rise, level]

    assert stayed_share(series, total=5_000.0 * calls) == 0
    assert floor_lite(series, [5_000.0] * calls).by == "runs"
