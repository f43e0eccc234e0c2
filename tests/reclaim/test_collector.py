"""Check what is freed when, and what never is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.analysis import economics
from ctxheap.analysis.factors import Factors
from ctxheap.heap.model import Part, Role
from ctxheap.reclaim.collector import Change, Collector, Cut, Moment, best_cut
from ctxheap.reclaim.invariants import Resident, broken
from ctxheap.reclaim.policy import CacheAssumptions, Match, Policy, Rule, Trigger, When

RESULTS = Match(("tool_result:*",))
EVICT_IDLE = Rule("evict", RESULTS, When(idle_calls=4))


def count(text: str) -> int:
    return len(text.split())


def result(
    number: int, tokens: int, *, birth: int, last_use: int | None = None, superseded: str = ""
) -> Resident:
    part = Part("tool", "tool_result", "tool_result:read", f"{number} " * tokens, "read", f"t{number}")
    return Resident(number, part, tokens, birth, last_use, superseded)


def text(number: int, tag: str, tokens: int, *, birth: int = 1, pinned: bool = False) -> Resident:
    role: Role = "user" if tag == "user_turn" else "assistant"
    return Resident(number, Part(role, "text", tag, f"w{number} " * tokens, pinned=pinned), tokens, birth)


def freed(
    policy: Policy, residents: list[Resident], *, call: int = 20, cached: int = 99, paid: float = 0
) -> list[int]:
    moment = Moment(call, residents, min(cached, len(residents)), paid=paid)
    return [change.number for change in Collector(policy, count=count).collect(moment).changes]


def test_on_demand_stops_as_soon_as_the_prompt_is_below_the_budget_and_frees_from_the_tail() -> None:
    residents = [result(n, 500, birth=1) for n in range(4)]

    assert freed(Policy((EVICT_IDLE,), budget_tokens=2_000), residents) == []
    assert freed(Policy((EVICT_IDLE,), budget_tokens=1_600), residents) == [3]
    assert freed(Policy((EVICT_IDLE,), budget_tokens=1_100), residents) == [2, 3]


def test_earlier_rules_go_first() -> None:
    residents = [result(0, 500, birth=1, superseded="duplicate"), result(1, 500, birth=1)]
    policy = Policy((Rule("dedupe", RESULTS, When(superseded=True)), EVICT_IDLE), budget_tokens=900)

    assert freed(policy, residents) == [0]


def test_economic_frees_at_once_what_the_cache_does_not_hold() -> None:
    residents = [result(0, 500, birth=1), text(1, "agent_output", 9_000, birth=19)]
    policy = Policy((EVICT_IDLE,), trigger="economic", budget_tokens=99_999)

    assert freed(policy, residents) == []
    assert freed(policy, residents, cached=0) == [0]


def test_economic_waits_until_the_dead_rent_has_paid_for_the_cut() -> None:
    residents = [result(0, 5_000, birth=1), text(1, "agent_output", 1_000, birth=19)]
    policy = Policy((EVICT_IDLE,), trigger="economic", budget_tokens=99_999)
    # K = (w − r)·S = 1.15 · (1,000 + a receipt of 24 tokens); the coming call pays 0.1 · 4,976.
    cost, coming = 1.15 * 1_024, 0.1 * 4_976

    assert freed(policy, residents, paid=cost - coming - 20) == []
    assert freed(policy, residents, paid=cost - coming + 20) == [0]


def test_economic_adds_up_the_dead_rent() -> None:
    residents = [result(0, 5_000, birth=1), text(1, "agent_output", 9_000, birth=19)]
    policy = Policy((EVICT_IDLE,), trigger="economic", budget_tokens=99_999)

    made = Collector(policy, count=count).collect(Moment(20, residents, 2, paid=100.0))

    assert made.changes == ()
    assert made.paid == pytest.approx(100 + 0.1 * 4_976, abs=1)


def test_eager_keeps_the_last_three_results_whole_up_to_6000_tokens() -> None:
    residents = [result(n, 500, birth=n + 1) for n in range(5)]
    residents.append(result(5, 7_000, birth=6))
    made = Collector(Policy(trigger="eager"), count=count).collect(Moment(20, residents, 6))

    assert [(change.number, change.action) for change in made.changes] == [
        (0, "evict"),
        (1, "evict"),
        (2, "evict"),
        (5, "truncate"),
    ]
    assert made.changes[-1].tokens <= 6_000


@pytest.mark.parametrize("trigger", ["on_demand", "economic", "eager"])
def test_roots_pins_and_the_newest_calls_stay_whatever_the_policy(trigger: Trigger) -> None:
    stays = [
        text(0, "system_prompt", 500),
        text(1, "user_turn", 500),
        text(2, "agent_output", 500, pinned=True),
        Resident(3, Part("assistant", "reasoning", "agent_reasoning", "w " * 500), 500, 1),
        replace(result(4, 500, birth=1), part=replace(result(4, 500, birth=1).part, pinned=True)),
        replace(result(5, 500, birth=1), part=replace(result(5, 500, birth=1).part, text="secret " * 500)),
        *(result(n, 500, birth=18) for n in range(6, 12)),
    ]
    policy = Policy((Rule("evict"),), (Match(contains="secret"),), trigger, budget_tokens=1)

    assert freed(policy, stays, cached=0) == []


def test_a_pin_rule_keeps_what_later_rules_would_free() -> None:
    residents = [result(0, 500, birth=1), result(1, 500, birth=1)]
    policy = Policy((Rule("pin", Match(contains="0 0")), EVICT_IDLE), budget_tokens=1)

    assert freed(policy, residents) == [1]


@pytest.mark.parametrize(
    ("when", "numbers"),
    [
        (When(older_calls=10), [0, 1, 2]),
        (When(idle_calls=10), [0, 1]),
        (When(generation="young"), [0, 3]),
        (When(generation="old"), [2]),
        (When(superseded=True), [1]),
    ],
)
def test_grades_of_reachability(when: When, numbers: list[int]) -> None:
    residents = [
        result(0, 500, birth=2),
        result(1, 500, birth=2, last_use=2, superseded="superseded"),
        result(2, 500, birth=2, last_use=15),
        result(3, 500, birth=14),
    ]
    if when.generation == "young":
        residents[1] = replace(residents[1], last_use=3)
    if when.generation == "old":
        residents[1] = replace(residents[1], last_use=None)

    assert freed(Policy((Rule("evict", RESULTS, when),), budget_tokens=1), residents) == numbers


def test_dedupe_needs_equal_content_or_a_tool_that_only_reads() -> None:
    residents = [
        result(0, 500, birth=1, superseded="superseded"),
        result(1, 500, birth=1, superseded="duplicate"),
    ]
    policy = Policy((Rule("dedupe", RESULTS, When(superseded=True)),), budget_tokens=1)

    assert freed(policy, residents) == [1]
    assert freed(replace(policy, idempotent_tools=("read",)), residents) == [0, 1]


def test_compaction_takes_whole_old_turns_and_is_bounded() -> None:
    residents = [text(0, "user_turn", 100)]
    for n in range(1, 60, 2):
        call = Part("assistant", "tool_call", "tool_call:read", f'{{"n": {n}}}', "read", f"t{n + 1}")
        residents += [Resident(n, call, 20, n), result(n + 1, 1_000, birth=n)]
    policy = Policy((Rule("compact"),), budget_tokens=1_000, max_compactions=2)

    made = Collector(policy, count=count).collect(Moment(80, residents, 61))

    gone = {change.number for change in made.changes}
    assert made.record is not None
    assert len(gone) % 2 == 0
    assert sum(item.tokens for item in residents if item.number not in gone) >= 20_000
    after = [item.part for item in residents if item.number not in gone]
    assert broken([item.part for item in residents], [*after, made.record]) == []
    assert Collector(policy, count=count).collect(Moment(80, residents, 61, compactions=2)).changes == ()


@given(
    st.lists(st.tuples(st.integers(1, 900), st.booleans()), max_size=12),
    st.integers(1, 60),
    st.sampled_from(((0.1, 1.25), (0.5, 1.0), (0.1, 2.0))),
)
def test_the_best_cut_is_the_one_of_the_economics(
    parts: list[tuple[int, bool]], calls: int, prices: tuple[float, float]
) -> None:
    residents = [result(n, tokens, birth=1) for n, (tokens, _) in enumerate(parts)]
    held = [Change(n, "evict", None, 0, size, 0, "", n) for n, (size, is_dead) in enumerate(parts) if is_dead]
    factors = Factors(None, prices[0], prices[1])

    ours = best_cut(Moment(9, residents, len(parts), prices[0], prices[1]), held, calls=calls)
    known = economics.best_cut(factors, [size for size, _ in parts], [dead for _, dead in parts], calls=calls)

    assert ours == (None if known is None else Cut(known.start, known.freed, known.after))


def test_expected_calls_decide_whether_a_cut_can_pay() -> None:
    residents = [result(0, 5_000, birth=1), text(1, "agent_output", 9_000, birth=19)]
    policy = Policy((EVICT_IDLE,), trigger="economic", budget_tokens=99_999)

    assert freed(policy, residents, paid=1e9) == [0]
    assert freed(replace(policy, cache=CacheAssumptions(expected_calls=2)), residents, paid=1e9) == []
