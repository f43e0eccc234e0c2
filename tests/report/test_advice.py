"""Check how suggestions for single sessions become one rule for all of them."""

from __future__ import annotations

from dataclasses import replace

from ctxheap.analysis.suggestion_records import Suggestion
from ctxheap.reclaim.policy import Match, Rule, When
from ctxheap_collector.report.advice import joined

TAG = "tool_result:grep"


def idle(calls: int, *, gross: float, objects: tuple[int, ...] = (1, 2), accepted: bool = True) -> Suggestion:
    return Suggestion(
        action="evict",
        tag=TAG,
        rule=Rule("evict", Match(tags=(TAG,)), When(idle_calls=calls, min_tokens=calls * 10)),
        objects=objects,
        tokens=100,
        gross_tokens=gross,
        rebill_tokens=10.0,
        gross_usd=gross / 1e6,
        rebill_usd=1e-5,
        regret_usd=0.0,
        accepted=accepted,
    )


def test_rule_for_all_is_as_careful_as_the_most_careful() -> None:
    (one,) = joined([[idle(6, gross=100.0)], [idle(9, gross=50.0)]], advice=())

    assert one.rule == Rule("evict", Match(tags=(TAG,)), When(idle_calls=9, min_tokens=90))
    assert (one.accepted, one.tokens, one.gross_tokens, len(one.objects)) == (True, 200, 150.0, 4)


def test_rule_must_pay_over_all_sessions_and_not_in_the_best_one_only() -> None:
    (one,) = joined([[idle(6, gross=100.0)], [idle(6, gross=-200.0, accepted=False)]], advice=())

    assert (one.accepted, one.reason) == (False, "pays in 1 of 2 sessions, and not in all")


def test_rule_that_harms_one_session_is_rejected_for_all() -> None:
    harmed = replace(idle(6, gross=5.0, accepted=False), used_later=(7,))

    (one,) = joined([[idle(6, gross=100.0)], [harmed]], advice=())

    assert not one.accepted
    assert "would free what was used later in 1" in one.reason


def test_money_of_a_rule_is_unknown_as_soon_as_one_session_has_no_price() -> None:
    (one,) = joined([[idle(6, gross=100.0)], [replace(idle(6, gross=9.0), gross_usd=None)]], advice=())

    assert one.net_usd is None
    assert one.accepted


def test_rules_of_different_kinds_stay_apart() -> None:
    sure = replace(idle(0, gross=100.0), rule=Rule("evict", Match(tags=(TAG,)), When(superseded=True)))

    assert len(joined([[idle(6, gross=100.0), sure]], advice=())) == 2
