"""Check which tags leak, which carry ballast and which merely grow."""

from __future__ import annotations

import pytest

from analysis.sessions import Setting, Thing, session
from ctxheap.analysis.verdicts import Leak, projected_tokens, severity_of, verdicts

TOOL = "tool_result:search"


def stale(calls: int, *, tokens: int = 500, tag: str = TOOL) -> list[Thing]:
    """Return one result a call that is used once and stays."""
    return [Thing(tag, tokens, birth, uses=(birth,)) for birth in range(1, calls + 1)]


def by_tag(leaks: list[Leak]) -> dict[str, Leak]:
    return {leak.tag: leak for leak in leaks}


def test_results_used_once_and_kept_leak() -> None:
    found = verdicts(session(stale(40), calls=40))[0]

    assert (found.tag, found.verdict, found.severity, found.tested) == (TOOL, "leak", "critical", "dead")
    assert found.slope == pytest.approx(500, rel=0.1)
    assert found.objects[:2] == (0, 1)
    assert found.score_usd is None


def test_results_that_stay_in_use_only_grow() -> None:
    things = [Thing(TOOL, 500, birth, uses=tuple(range(birth, 41, 4))) for birth in range(1, 41)]

    assert verdicts(session(things, calls=40))[0].verdict == "growing"


def test_while_a_session_runs_the_word_is_growing_so_far() -> None:
    running = session(stale(40), calls=40, setting=Setting(is_running=True))

    assert verdicts(running)[0].verdict == "growing so far"


def test_a_running_session_is_judged_by_its_dead_tokens_where_the_fleet_knows_the_gaps() -> None:
    running = session(stale(40), calls=40, setting=Setting(is_running=True))

    found = verdicts(running, theta=lambda tag: 5)[0]

    assert (found.verdict, found.severity, found.tested) == ("growing so far", "critical", "dead")


def test_one_early_listing_carried_to_the_end_is_ballast() -> None:
    things = [Thing("user_turn", 9_000, 1, kind="text"), Thing(TOOL, 5_000, 2, uses=(2,))]

    found = by_tag(verdicts(session(things, calls=20)))

    assert (found[TOOL].verdict, found[TOOL].severity) == ("ballast", "critical")
    assert (found["user_turn"].verdict, found["user_turn"].severity) == ("stable", None)


def test_less_than_a_thousand_dead_tokens_are_not_raised() -> None:
    assert {leak.verdict for leak in verdicts(session(stale(20, tokens=40), calls=20))} == {"growing"}


def test_dead_tokens_added_twice_do_not_leak() -> None:
    things = [Thing(TOOL, 900, 3, uses=(3,)), Thing(TOOL, 900, 15, uses=(15,)), Thing("user_turn", 9_000, 1)]

    assert by_tag(verdicts(session(things, calls=30)))[TOOL].verdict != "leak"


def test_a_tool_that_fills_every_segment_anew_leaks() -> None:
    things = [Thing(TOOL, 800, birth, 20 * ((birth - 1) // 20 + 1), uses=(birth,)) for birth in range(1, 61)]

    found = verdicts(session(things, calls=60, setting=Setting(compactions=(21, 41))))[0]

    assert found.verdict == "leak"
    assert found.calls in {(1, 20), (21, 40), (41, 60)}


def test_what_the_capture_cannot_show_is_left_out_of_shares() -> None:
    hidden = Thing("system_prompt", 1_000_000, 1, kind="hidden")

    found = by_tag(verdicts(session([hidden, *stale(40)], calls=40)))

    assert found[TOOL].share == pytest.approx(by_tag(verdicts(session(stale(40), calls=40)))[TOOL].share)


def test_dead_money_is_the_whole_rent_paid_while_dead() -> None:
    hidden = Thing("system_prompt", 50_000, 1, kind="hidden")
    words = [Thing("agent_output", 400, birth, uses=(birth,)) for birth in range(1, 41)]
    made = session([hidden, *words], calls=40, setting=Setting(is_priced=True))
    sums = made.account.by_tag(made.heap.objects)["agent_output"][1]

    found = by_tag(verdicts(made))["agent_output"]

    assert sums.dead_usd > 0
    assert (found.dead_low_usd, found.dead_usd) == (sums.dead_low_usd, sums.dead_usd)


def test_dead_money_is_unknown_where_a_price_is() -> None:
    found = verdicts(session(stale(40), calls=40))[0]

    assert (found.dead_low_usd, found.dead_usd) == (None, None)


def test_the_share_is_of_money_where_all_prices_are_known() -> None:
    found = verdicts(session(stale(40), calls=40, setting=Setting(is_priced=True)))[0]

    assert found.score_usd == pytest.approx(found.score_tokens * 3e-6)


@pytest.mark.parametrize(("slope", "level", "usd"), [(300, 12_000, 0.218), (40, 60_000, 0.730)])
def test_big_flat_garbage_outranks_small_fast_growth(slope: float, level: float, usd: float) -> None:
    # The example of SPEC 6, step 9: R 40, $0.3 a million tokens.
    assert projected_tokens(level, slope=slope, remaining=40) * 0.3e-6 == pytest.approx(usd, abs=5e-4)


def test_a_plan_echoed_ever_longer_is_named_first() -> None:
    plan = [
        Thing(
            "tool_result:plan",
            300 * step,
            4 * step,
            uses=(4 * step,),
            contains=(step - 2 if step > 1 else None),
        )
        for step in range(1, 11)
    ]

    found = verdicts(session([*plan, *stale(40, tokens=2_000)], calls=40))

    assert [(leak.tag, leak.verdict, leak.is_echo) for leak in found[:2]] == [
        ("tool_result:plan", "leak", True),
        (TOOL, "leak", False),
    ]


def test_unusual_means_above_the_agents_own_history() -> None:
    made = session(stale(40), calls=40)

    modest = verdicts(made, history={TOOL: [0.1 * place for place in range(8)] + [0.2, 0.3]})[0]
    heavy = verdicts(made, history={TOOL: [0.99] * 12})[0]
    young = verdicts(made, history={TOOL: [0.0] * 9})[0]

    assert (modest.is_unusual, heavy.is_unusual, young.is_unusual) == (True, False, False)


@pytest.mark.parametrize(
    ("share", "severity"), [(0.09, "minor"), (0.10, "major"), (0.25, "major"), (0.26, "critical")]
)
def test_severity_follows_the_share_of_the_rent(share: float, severity: str) -> None:
    assert severity_of("leak", share) == severity
    assert severity_of("stable", share) is None


def test_an_empty_session_has_no_verdicts() -> None:
    assert verdicts(session([], calls=0)) == []


def ballast_beside_growth() -> list[Thing]:
    """Return one dead listing and results under its tag that stay in use, so that live tokens grow."""
    used = [Thing(TOOL, 200, birth, uses=tuple(range(birth, 41))) for birth in range(3, 41)]
    return [Thing(TOOL, 12_000, 2, uses=(2,)), *used]


def test_ballast_whose_tag_grows_alive_is_scored_by_what_is_dead() -> None:
    found = verdicts(session(ballast_beside_growth(), calls=40, setting=Setting(is_priced=True)))[0]

    assert (found.verdict, found.tested, found.slope, found.level) == ("ballast", "dead", 0, 12_000)
    assert found.score_tokens == 12_000 * 40
    assert found.score_usd == pytest.approx(12_000 * 40 * 3e-6)


@pytest.mark.parametrize("calls", [5, 8, 20, 60])
def test_ballast_costs_its_last_floor_a_call(calls: int) -> None:
    things = [Thing("user_turn", 3_000, 1, kind="text"), Thing(TOOL, 5_000, 2, uses=(2,))]

    found = by_tag(verdicts(session(things, calls=calls), remaining=10))[TOOL]

    assert (found.verdict, found.tested, found.score_tokens) == ("ballast", "dead", 50_000)


def test_ballast_that_left_before_the_end_has_no_level() -> None:
    things = [Thing("user_turn", 3_000, 1, kind="text"), Thing(TOOL, 9_000, 2, 28, uses=(2,))]

    found = by_tag(verdicts(session(things, calls=40)))[TOOL]

    assert (found.verdict, found.level, found.score_tokens) == ("ballast", 0, 0)


def test_big_flat_ballast_comes_before_small() -> None:
    small = [Thing("tool_result:small", 6_000, 2, uses=(2,))]

    found = verdicts(session([*small, *ballast_beside_growth()], calls=40))

    assert [leak.tag for leak in found if leak.verdict == "ballast"] == [TOOL, "tool_result:small"]


def test_what_grows_in_use_is_scored_by_its_own_floor() -> None:
    things = [Thing(TOOL, 500, birth, uses=tuple(range(birth, 41, 4))) for birth in range(1, 41)]

    found = verdicts(session(things, calls=40), remaining=1)[0]

    assert (found.verdict, found.tested) == ("growing", "live")
    assert found.score_tokens == pytest.approx(found.level + found.slope)
    assert found.level > 19_000
