"""Check when a rule may be recommended for a fleet (SPEC 9)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.analysis.recommendation import elongation, lower_bound, recommendation

SAVINGS = {f"s{n}": saving for n, saving in enumerate((1.0, 2.0, 3.0, 2.0, 2.0))}


def test_a_rule_that_saves_on_other_sessions_is_recommended() -> None:
    found = recommendation(SAVINGS, derived_from=(), thrash=0.1)

    assert (found.is_recommended, found.reason, found.sessions, found.mean) == (True, "", 5, 2.0)


def test_sessions_that_the_rule_was_made_from_prove_nothing() -> None:
    found = recommendation(SAVINGS, derived_from={"s1"}, thrash=0.1)

    assert not found.is_recommended
    assert found.reason == "only 4 finished sessions that the rule was not made from; 5 needed"


def test_a_rule_whose_saving_may_be_none_is_not_recommended() -> None:
    found = recommendation({**SAVINGS, "s5": -30.0}, derived_from=(), thrash=0.1)

    assert not found.is_recommended
    assert found.reason.startswith("the lower 95 % bound of the net saving per task is -")


def test_a_rule_that_thrashes_is_not_recommended() -> None:
    found = recommendation(SAVINGS, derived_from=(), thrash=0.3)

    assert (found.is_recommended, found.reason) == (False, "the thrash index is 0.30, the limit 0.3")


@pytest.mark.parametrize(("sessions", "t"), [(5, 2.1318), (10, 1.8331), (30, 1.6991)])
def test_the_bound_is_that_of_students_t(sessions: int, t: float) -> None:
    values = [float(n % 2) for n in range(sessions)]
    mean = sum(values) / sessions
    spread = (sum((value - mean) ** 2 for value in values) / (sessions - 1) / sessions) ** 0.5

    assert lower_bound(values) == pytest.approx(mean - t * spread, abs=1e-3)


@given(st.lists(st.floats(-1e6, 1e6), min_size=5, max_size=30), st.floats(-1e3, 1e3))
def test_the_bound_moves_with_the_savings_and_stays_below_their_mean(
    values: list[float], shift: float
) -> None:
    low = lower_bound(values)

    assert low <= sum(values) / len(values) + 1e-6
    assert lower_bound([value + shift for value in values]) == pytest.approx(low + shift, abs=1e-3)


def test_elongation_is_calls_per_task_under_the_policy_by_those_before() -> None:
    assert elongation([10, 20], [18, 18]) == 1.2
    assert elongation([], [1]) is None
