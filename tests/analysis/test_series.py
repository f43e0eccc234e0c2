"""Check the series that leak tests look at."""

from __future__ import annotations

import math

import pytest

from analysis.sessions import Setting, Thing, session
from ctxheap.analysis.series import Death, dead_series, idle_bounds, live_series, segments
from ctxheap.analysis.study import study
from ctxheap.heap.facts import Step


def test_silence_to_the_end_counts_from_the_last_use_on() -> None:
    found = dead_series(session([Thing("tool_result:read", 100, 1, uses=(1, 2))], calls=8))

    assert found["tool_result:read"].tokens == [0, 0, 100, 100, 100, 100, 100, 100]
    assert found["tool_result:read"].deaths == [Death(0, 3, 8, 100, is_sure=False)]


def test_what_the_last_calls_did_not_touch_is_not_dead() -> None:
    assert dead_series(session([Thing("tool_result:read", 100, 1, uses=(1, 6))], calls=8)) == {}


def test_what_is_surely_dead_needs_no_silence() -> None:
    found = dead_series(session([Thing("tool_result:read", 100, 1, uses=(1, 6), superseded=8)], calls=8))

    assert found["tool_result:read"].tokens == [0, 0, 0, 0, 0, 0, 0, 100]


def test_a_fleet_with_longer_gaps_asks_for_longer_silence() -> None:
    found = session([Thing("tool_result:read", 100, 1, uses=(1, 2))], calls=8)

    assert dead_series(found, lambda tag: 7) == {}


def test_own_gaps_set_the_bound_where_they_are_many() -> None:
    # 20 results, each used every 6 calls: 260 known gaps.
    things = [Thing("tool_result:read", 10, 1, uses=tuple(range(1, 81, 6))) for _ in range(20)]

    assert idle_bounds(session(things, calls=80))("tool_result:read") == 6


def test_a_running_session_takes_nothing_for_dead_without_the_fleet() -> None:
    running = session(
        [Thing("tool_result:read", 100, 1, uses=(1,))], calls=8, setting=Setting(is_running=True)
    )

    assert idle_bounds(running)("tool_result:read") == math.inf
    assert dead_series(running) == {}


def test_roots_are_never_dead() -> None:
    assert dead_series(session([Thing("system_prompt", 900, 1, kind="text")], calls=9)) == {}


def test_what_leaves_is_freed() -> None:
    found = dead_series(session([Thing("tool_result:read", 100, 2, 6, uses=(2,))], calls=8))[
        "tool_result:read"
    ]

    assert found.tokens == [0, 0, 100, 100, 100, 100, 0, 0]
    assert (sum(found.allocated), sum(found.freed), found.additions) == (100, 100, 1)


def test_the_dead_tokens_of_all_calls_are_those_of_the_account() -> None:
    made = session([Thing("tool_result:a", 70, 1), Thing("tool_result:a", 30, 2, uses=(3,))], calls=9)

    dead = sum(totals.dead for totals in made.account.objects)

    assert sum(dead_series(made)["tool_result:a"].tokens) == pytest.approx(dead)


def test_compactions_cut_a_session() -> None:
    made = session([Thing("tool_result:a", 70, 1)], calls=9, setting=Setting(compactions=(4, 8)))

    assert segments(made) == [range(3), range(3, 7), range(7, 9)]


def test_live_series_hold_every_call() -> None:
    made = session([Thing("tool_result:a", 70, 2, 3)], calls=4)

    assert live_series(made) == {"tool_result:a": [0, 70, 70, 0]}


def test_an_exploring_sub_agent_uses_what_it_read_in_its_report() -> None:
    made = session(
        [Thing("tool_call:Read", 5, 1, kind="tool_call"), Thing("tool_result:Read", 100, 1)], calls=9
    )
    made.heap.facts.steps.append(Step(0, 1, 1, "Read", "key", reads=("file",)))

    alone = set(dead_series(made))
    made.heap.parent = "above"
    explorer = set(dead_series(made))
    made.heap.facts.steps.append(Step(0, 1, 1, "Edit", "other", writes=("file",)))

    assert (alone, explorer) == ({"tool_call:Read", "tool_result:Read"}, {"tool_call:Read"})
    assert set(dead_series(made)) == alone


def test_a_copy_that_is_gone_revives_what_it_made_dead() -> None:
    made = session([Thing("tool_result:read", 100, 1, uses=(1, 6), superseded=7)], calls=9)
    made.heap.revived.append((0, 8))
    revived = study(made.heap, lambda call: None)

    assert dead_series(revived, lambda tag: 5)["tool_result:read"].tokens == [0, 0, 0, 0, 0, 0, 100, 0, 0]
