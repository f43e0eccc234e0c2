"""Check how suggestions for single sessions become one rule: as careful as the most careful, or none."""

from __future__ import annotations

from dataclasses import replace

from ctxheap.analysis.fleet_advice import fleet_suggestions, thetas
from ctxheap.analysis.study import Study, study
from ctxheap.analysis.suggestion_records import Suggestion
from ctxheap.heap.records import Heap
from ctxheap.reclaim.policy import Match, Rule, When

TAG = "tool_result:grep"


def empty() -> Study:
    return study(Heap("s", None, ""), lambda call: None)


def idle(calls: int, **changes: object) -> Suggestion:
    made = Suggestion(
        action="evict",
        tag=TAG,
        rule=Rule("evict", Match(tags=(TAG,)), When(idle_calls=calls, min_tokens=calls * 10)),
        gross_tokens=100.0,
        accepted=True,
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # the fields are checked when built


def joined(*members: Suggestion) -> list[Suggestion]:
    return fleet_suggestions([empty()] * len(members), [[each] for each in members])


def test_rule_for_all_is_as_careful_as_the_most_careful() -> None:
    (one,) = joined(idle(6), idle(9))

    assert one.rule == Rule("evict", Match(tags=(TAG,)), When(idle_calls=9, min_tokens=90))


def test_rule_that_one_session_refuses_is_refused_for_all() -> None:
    refused = idle(6, accepted=False, is_refused=True, used_later=(3, 5), gross_tokens=9_000.0)

    (one,) = joined(idle(6), refused)

    assert not one.accepted
    assert one.reason == "refused in 1 of 2 sessions: would free 2 objects before a later use"


def test_rule_that_pays_nowhere_when_all_run_is_dropped() -> None:
    (one,) = joined(idle(6), idle(6))

    assert (one.accepted, one.reason) == (False, "net ≤ 0 over all sessions")


def test_single_session_keeps_its_suggestions() -> None:
    assert joined(idle(6)) == [idle(6)]


def test_fleet_without_enough_gaps_has_no_theta() -> None:
    assert thetas([empty(), empty()]) == {"": {}}
