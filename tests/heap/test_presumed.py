"""Check presumed death against the censored reuse gaps of SPEC 5.5."""

from __future__ import annotations

from itertools import pairwise
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.presumed import Gaps, ReuseGaps, gaps_of, idle_bound, least_idle, presumed_grade
from ctxheap.heap.survival import kaplan_meier, remaining_calls

times = st.lists(st.integers(1, 40), max_size=40)


def test_the_product_limit_estimate_is_the_textbooks() -> None:
    survival = kaplan_meier([2, 3, 3, 7], [4, 9])

    assert survival.times == (2, 3, 7)
    assert [round(survival.at(time), 12) for time in (1, 2, 3, 6, 7, 50)] == [
        *(1.0, round(5 / 6, 12), 0.5),
        *(0.5, 0.25, 0.25),
    ]


@given(ended=times, unfinished=times)
def test_survival_only_falls(ended: list[int], unfinished: list[int]) -> None:
    survival = kaplan_meier(ended, unfinished)

    assert all(0 <= later <= earlier <= 1 for earlier, later in pairwise([1.0, *survival.values]))


@given(ended=st.lists(st.integers(1, 40), min_size=1, max_size=40), time=st.integers(0, 50))
def test_without_open_gaps_it_is_the_share_that_lasted_longer(ended: list[int], time: int) -> None:
    survival = kaplan_meier(ended, [])

    assert isclose(survival.at(time), sum(each > time for each in ended) / len(ended), abs_tol=1e-9)


@pytest.mark.parametrize(
    ("uses", "expected"),
    [
        ([], Gaps((), 8)),
        ([2], Gaps((), 8)),
        ([4, 4, 9], Gaps((2, 5), 1)),
        ([10, 2, 6], Gaps((4, 4), 0)),
        ([1, 11], Gaps((), 8)),
    ],
)
def test_gaps_are_the_idle_times_between_uses(uses: list[int], expected: Gaps) -> None:
    assert gaps_of(2, 10, uses) == expected


def test_theta_is_the_least_idle_time_after_which_a_use_is_improbable() -> None:
    survival = kaplan_meier([1] * 60 + [3] * 20 + [10] * 1, [50] * 19)

    assert least_idle(survival, horizon=5) == 3
    assert least_idle(survival, horizon=1) == 1


def test_theta_waits_for_a_late_use_that_is_probable() -> None:
    survival = kaplan_meier([1] * 50 + [30] * 50, [60] * 10)

    assert least_idle(survival, horizon=100) == 30
    assert least_idle(survival, horizon=10) == 1


@given(ended=st.lists(st.integers(1, 40), min_size=1), unfinished=times, horizon=st.integers(1, 60))
def test_theta_keeps_its_promise_and_is_the_least(
    ended: list[int], unfinished: list[int], horizon: int
) -> None:
    survival = kaplan_meier(ended, unfinished)

    theta = least_idle(survival, horizon=horizon)

    assert all(
        survival.at(idle + horizon) < 0.9 * survival.at(idle)
        for idle in range(1, min(theta, survival.longest))
    )
    assert theta == survival.longest or survival.at(theta + horizon) >= 0.9 * survival.at(theta)


def test_fewer_than_two_hundred_known_gaps_give_no_theta() -> None:
    gaps = ReuseGaps()
    for _ in range(199):
        gaps.add("tool_result:read", Gaps((1,), 30))

    assert gaps.theta("tool_result:read", horizon=10) is None
    gaps.add("tool_result:read", Gaps((1,), 30))
    assert gaps.theta("tool_result:read", horizon=10) == 1
    assert gaps.theta("tool_result:other", horizon=10) is None


def test_open_gaps_are_not_taken_for_ended_ones() -> None:
    gaps = ReuseGaps()
    for _ in range(300):
        gaps.add("tool_result:read", Gaps((5,), 2))

    assert gaps.theta("tool_result:read", horizon=20) == 5


@pytest.mark.parametrize(
    ("call", "last_use", "sure", "theta", "grade"),
    [
        (9, None, True, None, "A"),
        (9, None, False, None, None),
        (9, None, False, 7, "B"),
        (8, None, False, 7, None),
        (9, 5, False, 7, None),
        (12, 5, False, 7, "B"),
        (12, 5, True, 7, "A"),
    ],
)
def test_grade_b_needs_theta_and_idleness(
    call: int, last_use: int | None, sure: bool, theta: int | None, grade: str | None
) -> None:
    assert presumed_grade(call, birth=2, last_use=last_use, is_surely_dead=sure, theta=theta) == grade


@pytest.mark.parametrize(("theta", "calls", "bound"), [(7, 100, 7), (None, 100, 50), (None, 1, 1)])
def test_leak_tests_wait_for_theta_or_half_the_session(theta: int | None, calls: int, bound: int) -> None:
    assert idle_bound(theta, calls=calls) == bound


@pytest.mark.parametrize(
    ("finished", "running", "call", "expected"),
    [
        ([10, 20, 30], [], 1, 19.0),
        ([10, 20, 30], [], 10, 10.0),
        ([10, 20, 30], [], 15, 10.0),
        ([10, 20, 30], [], 40, 40.0),
        ([], [], 12, 12.0),
        ([], [50], 12, 12.0),
        ([10], [30], 5, 15.0),
        ([10] * 5, [], 9, 1.0),
        ([10] * 5, [], 10, 0.0),
        ([10] * 5, [], 11, 11.0),
        ([10], [30], 30, 0.0),
    ],
)
def test_remaining_calls_are_the_mean_residual_life(
    finished: list[int], running: list[int], call: int, expected: float
) -> None:
    assert isclose(remaining_calls(finished, running, call=call), expected)


@given(finished=st.lists(st.integers(1, 60), min_size=1, max_size=30), call=st.integers(1, 60))
def test_remaining_calls_without_running_sessions_are_the_plain_mean(finished: list[int], call: int) -> None:
    longer = [length - call for length in finished if length >= call]
    expected = sum(longer) / len(longer) if max(finished) >= call else call

    assert isclose(remaining_calls(finished, [], call=call), expected, rel_tol=1e-6)


@given(
    finished=st.lists(st.integers(1, 40), min_size=1, max_size=20),
    running=st.lists(st.integers(1, 40), max_size=20),
)
def test_no_more_calls_are_expected_than_up_to_the_longest_session_seen(
    finished: list[int], running: list[int]
) -> None:
    longest = max(finished + running)

    for call in range(1, max(finished) + 1):
        assert 0 <= remaining_calls(finished, running, call=call) <= longest - call + 1e-9


def test_theta_looks_whole_calls_ahead_and_never_at_no_idle_time() -> None:
    survival = kaplan_meier([1] * 50 + [3] * 50, [60] * 10)

    assert [least_idle(survival, horizon=horizon) for horizon in (0.5, 1, 1.5, 2)] == [1, 1, 3, 3]
    assert least_idle(kaplan_meier([30] * 50, [60] * 10), horizon=10) == 1
    assert least_idle(kaplan_meier([], []), horizon=10) == 1


def test_every_open_gap_counts_for_theta() -> None:
    gaps = ReuseGaps()
    for known in ((1,), (3,)) * 100:
        gaps.add("tool_result:read", Gaps(known, 1))
    alone = gaps.theta("tool_result:read", horizon=5)

    for _ in range(2_000):
        gaps.add("tool_result:read", Gaps((), 50))

    assert (alone, gaps.theta("tool_result:read", horizon=5)) == (3, 1)
