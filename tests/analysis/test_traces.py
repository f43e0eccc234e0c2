"""Check what a leak trace says: path, verdicts, suspect edges, forced retention, signatures."""

from __future__ import annotations

from array import array
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.analysis.study import Study, study
from ctxheap.analysis.trace_groups import WEEK_NS
from ctxheap.analysis.trace_records import Forced, Verdict
from ctxheap.analysis.traces import Tracer, group, signature, suspect_edges, trace, unforced
from ctxheap.heap.evidence import Use
from ctxheap.heap.facts.records import Repeat
from ctxheap.heap.model import Kind, Usage
from ctxheap.heap.records import Call, Heap, HeapObject
from ctxheap.heap.supersession import Superseded
from ctxheap.prices import Rates

RATES = Rates(1e-3, 1e-4, 1.25e-3, 2e-3, 5e-3, "test", "2026-12-01")
KINDS: dict[str, Kind] = {
    "tool_call": "tool_call",
    "tool_result": "tool_result",
    "agent_reasoning": "reasoning",
}
CALLS = 12
TASK, THOUGHT, SEARCH, HITS, FETCH, PAGE = range(6)


def chain() -> Heap:
    """Return a task, a search asked for with its words, and a page fetched by an id of the hits."""
    found = Heap("s", None, "agent")
    for number, (tag, birth, answers) in enumerate(
        [
            ("user_turn", 1, None),
            ("agent_reasoning", 2, None),
            ("tool_call:search", 2, None),
            ("tool_result:search", 2, SEARCH),
            ("tool_call:fetch", 3, None),
            ("tool_result:fetch", 3, FETCH),
        ]
    ):
        kind = KINDS.get(tag.partition(":")[0], "text")
        found.objects.append(
            HeapObject(
                number,
                str(number),
                kind,
                tag,
                tag,
                birth,
                CALLS,
                0,
                pinned=False,
                error=False,
                answers=answers,
            )
        )
    for k in range(1, CALLS + 1):
        contents = {item.number: 100 for item in found.objects if item.birth <= k}
        found.calls.append(
            Call(
                number=k,
                id=str(k),
                model="m",
                provider="",
                started_ns=k * 10**9,
                usage=Usage(uncached=sum(contents.values())),
                numbers=array("I", contents),
                tokens=array("q", contents.values()),
                born=tuple(n for n in contents if found.objects[n].birth == k),
                extends=True,
                exact=True,
                implied=False,
                incomplete=False,
                compaction=None,
                messages=0,
            )
        )
    found.uses = [Use(TASK, 1, "argument", 1.0, "used"), Use(HITS, 2, "argument", 1.0, "used")]
    return found


def studied(found: Heap, rates: Rates | None = RATES) -> Study:
    return study(found, lambda _call: rates)


def walked(found: Heap, number: int, call: int | None = None) -> list[tuple[int, str, str, bool]]:
    nodes = trace(studied(found), number, call=call).nodes
    return [(node.number, node.hold, node.verdict, node.is_suspect) for node in nodes]


def test_a_page_is_traced_over_the_search_that_found_it_to_the_task() -> None:
    found = chain()
    found.uses += [Use(HITS, 12, "handle", 1.0, "used"), Use(PAGE, 3, "quote", 1.0, "used")]

    assert walked(found, PAGE) == [
        (TASK, "root", "Expected", False),
        (SEARCH, "derivation", "Expected", False),
        (HITS, "pair", "Expected", False),
        (FETCH, "derivation", "Stuck", True),
        (PAGE, "pair", "Stuck", False),
    ]


def test_without_a_source_of_its_arguments_the_message_list_holds_a_call() -> None:
    found = chain()
    found.uses = []

    assert walked(found, HITS) == [(SEARCH, "history", "Stuck", True), (HITS, "pair", "Stuck", False)]


def test_what_was_not_idle_for_long_is_unknown_and_what_the_api_does_not_force_is_suspect() -> None:
    found = chain()
    found.uses += [Use(HITS, 8, "handle", 1.0, "used")]

    assert walked(found, HITS) == [
        (TASK, "root", "Expected", False),
        (SEARCH, "derivation", "Unknown", True),
        (HITS, "pair", "Unknown", False),
    ]


def test_an_idle_time_of_the_fleet_decides_where_it_is_known() -> None:
    found = chain()
    found.uses += [Use(HITS, 8, "handle", 1.0, "used")]
    tracer = Tracer(studied(found), theta={"tool_result:search": 4, "tool_call:search": 5})

    assert [node.verdict for node in tracer.trace(HITS).nodes] == ["Expected", "Unknown", "Stuck"]


def test_the_newest_calls_are_roots() -> None:
    assert walked(chain(), PAGE, call=4) == [(PAGE, "root", "Unknown", False)]


def test_what_leaves_together_because_the_api_asks_for_it_is_listed_apart() -> None:
    found = trace(studied(chain()), HITS)

    assert found.forced == (
        Forced(THOUGHT, "agent_reasoning", "turn", 100),
        Forced(SEARCH, "tool_call:search", "pair", 100),
    )
    assert [node.is_forced for node in found.nodes] == [False, False, True]


def test_thinking_is_held_by_the_turn_that_it_belongs_to() -> None:
    assert [(number, hold) for number, hold, _, _ in walked(chain(), THOUGHT)] == [
        (TASK, "root"),
        (SEARCH, "derivation"),
        (THOUGHT, "turn"),
    ]


def test_the_rule_says_why_it_is_dead() -> None:
    found = chain()
    found.superseded = [Superseded(PAGE, HITS, "invalidated", 6)]
    found.facts.repeats = [Repeat(PAGE, SEARCH, "contains", 0.5, 5)]
    tracer = Tracer(studied(found))

    rules = [tracer.trace(number).rule for number in (TASK, SEARCH, HITS, PAGE)]
    assert rules == ["", "contained", "drag", "invalidated"]
    assert Tracer(studied(chain())).trace(PAGE).rule == "void"


def test_money_paid_dead_and_still_to_come_is_gross_and_unknown_without_a_price() -> None:
    found = trace(studied(chain()), PAGE, remaining=20)
    unknown = trace(studied(chain(), None), PAGE, remaining=20)

    assert found.rent_usd == pytest.approx(10 * 0.1)
    assert found.dead_usd == pytest.approx(10 * 0.1)
    assert found.to_come_usd == pytest.approx(20 * 0.1)
    assert (unknown.rent_usd, unknown.dead_usd, unknown.to_come_usd) == (None, None, None)


def test_an_object_that_is_not_in_the_prompt_has_no_trace() -> None:
    with pytest.raises(KeyError):
        trace(studied(chain()), PAGE, call=2)


def test_a_signature_is_equal_for_equal_causes_and_differs_in_each_field() -> None:
    same = signature("a", "void", "tool_result:t", edges=["history>tool_call"], arguments="path:str")

    assert same == signature("a", "void", "tool_result:t", edges=["history>tool_call"], arguments="path:str")
    others = {
        signature("b", "void", "tool_result:t", edges=["history>tool_call"], arguments="path:str"),
        signature("a", "drag", "tool_result:t", edges=["history>tool_call"], arguments="path:str"),
        signature("a", "void", "tool_result:u", edges=["history>tool_call"], arguments="path:str"),
        signature("a", "void", "tool_result:t", edges=["pair>tool_result"], arguments="path:str"),
        signature("a", "void", "tool_result:t", edges=["history>tool_call"], arguments="path:int"),
    }
    assert same not in others
    assert len(others) == 5
    assert len(same) == 40


def test_a_signature_does_not_depend_on_the_values_of_arguments() -> None:
    one, other, third = chain(), chain(), chain()
    one.facts.shapes = other.facts.shapes = {FETCH: "id:str"}
    third.facts.shapes = {FETCH: "id:str limit:int"}

    signatures = [trace(studied(each), PAGE).signature for each in (one, other, third)]

    assert signatures[0] == signatures[1] != signatures[2]


def test_equal_signatures_are_one_leak_with_money_per_week() -> None:
    first = replace(trace(studied(chain()), PAGE), started_ns=(0, 1))
    second = replace(first, session="t", dead_usd=3.0, started_ns=(2 * WEEK_NS - 1, 2 * WEEK_NS))
    other = replace(first, signature="other", dead_usd=None)

    leaks = group([first, other, second])

    assert [(each.count, each.sessions, each.tokens) for each in leaks] == [(2, 2, 200), (1, 1, 100)]
    assert leaks[0].dead_usd == pytest.approx(4.0)
    assert leaks[0].usd_per_week == pytest.approx(2.0)
    assert leaks[0].example is second
    assert (leaks[1].dead_usd, leaks[1].usd_per_week) == (None, None)


def test_a_result_that_leaves_its_call_in_need_makes_the_edge_suspect_that_holds_both() -> None:
    found = chain()
    found.superseded = [Superseded(HITS, PAGE, "invalidated", 6)]
    found.uses = [Use(TASK, 1, "argument", 1.0, "used"), Use(SEARCH, 12, "argument", 1.0, "used")]

    nodes = trace(studied(found), HITS).nodes

    assert [node.number for node in nodes if node.is_suspect] == [SEARCH]


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_no_forced_edge_is_suspect_and_some_edge_is_where_one_was(steps: list[tuple[bool, bool]]) -> None:
    is_forced = [False, *(forced for _, forced in steps)]
    suspects = {place for place, (suspect, _) in enumerate(steps, start=1) if suspect}

    found = unforced(suspects, is_forced)

    assert not any(is_forced[place] for place in found)
    assert found or all(is_forced[1 : min(suspects, default=0) + 1])


VERDICTS: list[Verdict] = ["Expected", "Stuck", "Unknown"]


@given(st.lists(st.sampled_from(VERDICTS), min_size=1), st.booleans())
def test_suspect_edges_lie_behind_the_last_needed_node_and_end_at_the_first_stuck_one(
    verdicts: list[Verdict], starts_in_history: bool
) -> None:
    found = sorted(suspect_edges(verdicts, starts_in_history=starts_in_history))

    assert "Expected" not in [verdicts[place] for place in found]
    assert "Stuck" not in [verdicts[place] for place in found[:-1]]
    assert found == list(range(found[0], found[-1] + 1)) if found else True
    if verdicts[-1] != "Expected" and ("Expected" in verdicts or starts_in_history):
        assert found
