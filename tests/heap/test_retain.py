"""Check retain edges, roots, reachability and retained sizes (SPEC 5.2, 5.3)."""

from __future__ import annotations

import time
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.dominators import retained_sizes, strong_groups
from ctxheap.heap.retain import (
    Edge,
    derivation_edges,
    edges_of,
    forced_sizes,
    pair_edges,
    reachable,
    retained_at,
    retained_at_last,
    roots_at,
    turn_edges,
)

P, X, D1, D2, N = range(5)
EXAMPLE_SIZES = [40, 500, 800, 600, 30]
EXAMPLE_EDGES = [(P, X), (X, D1), (X, D2), (N, D2)]

Graph = tuple[list[int], list[tuple[int, int]], set[int]]


@dataclass(slots=True)
class Thing:
    tag: str
    birth: int = 1
    last: int = 9
    pinned: bool = False
    answers: int | None = None


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    sizes = draw(st.lists(st.integers(1, 100), min_size=1, max_size=9))
    node = st.integers(0, len(sizes) - 1)
    return sizes, draw(st.lists(st.tuples(node, node), max_size=18)), draw(st.sets(node, max_size=3))


def test_the_example_of_the_specification_holds() -> None:
    retained = retained_sizes(EXAMPLE_SIZES, EXAMPLE_EDGES, {P, N})

    assert retained == [1340, 1300, 800, 600, 30]
    assert retained[P] + retained[N] + retained[D2] == sum(EXAMPLE_SIZES) == 1970


def together(node: int, edges: list[tuple[int, int]], count: int) -> set[int]:
    return {
        other
        for other in range(count)
        if other in reachable(edges, {node}) and node in reachable(edges, {other})
    }


@given(graph=graphs())
def test_a_reachable_node_retains_what_its_removal_makes_unreachable(graph: Graph) -> None:
    sizes, edges, roots = graph
    retained = retained_sizes(sizes, edges, roots)
    before = reachable(edges, roots)

    for node in before:
        gone = together(node, edges, len(sizes))
        kept = [(x, y) for x, y in edges if x not in gone and y not in gone]
        lost = before - reachable(kept, roots - gone)
        assert retained[node] == sum(sizes[each] for each in lost)


@given(graph=graphs())
def test_unreachable_nodes_retain_among_themselves_only(graph: Graph) -> None:
    sizes, edges, roots = graph
    outside = set(range(len(sizes))) - reachable(edges, roots)
    inner = [(x, y) for x, y in edges if x in outside and y in outside]
    reach = {node: reachable(inner, {node}) for node in outside}
    sources = {
        node for node in outside if all(other in reach[node] for other in outside if node in reach[other])
    }

    retained = retained_sizes(sizes, edges, roots)

    alone = retained_sizes(sizes, inner, sources)
    assert [retained[node] for node in sorted(outside)] == [alone[node] for node in sorted(outside)]
    assert all(sizes[node] <= retained[node] <= sum(sizes[each] for each in outside) for node in outside)


@given(graph=graphs())
def test_nodes_that_hold_each_other_retain_the_same(graph: Graph) -> None:
    sizes, edges, roots = graph

    retained = retained_sizes(sizes, edges, roots)

    assert all(
        len({retained[each] for each in together(node, edges, len(sizes))}) == 1 for node in range(len(sizes))
    )


@given(graph=graphs())
def test_groups_are_the_strongly_connected_nodes_and_edges_lead_downwards(graph: Graph) -> None:
    sizes, edges, _ = graph
    following: list[list[int]] = [[y for x, y in edges if x == node] for node in range(len(sizes))]

    groups = strong_groups(following)

    for node in range(len(sizes)):
        same = {other for other in range(len(sizes)) if groups[other] == groups[node]}
        assert same == together(node, edges, len(sizes))
    assert all(groups[x] >= groups[y] for x, y in edges)


def test_nothing_is_retained_of_nothing() -> None:
    assert retained_sizes([], [], ()) == []


def test_a_chain_longer_than_the_stack_is_no_trouble() -> None:
    size = 5_000

    retained = retained_sizes([1] * size, [(n, n + 1) for n in range(size - 1)], {0})

    assert retained == list(range(size, 0, -1))


def test_long_ladders_are_not_quadratic() -> None:
    size = 5_000
    edges = [(n, n + step) for n in range(size - 2) for step in (1, 2)]

    start = time.process_time()
    retained = retained_sizes([1] * size, edges, {0})

    assert time.process_time() - start < 1
    assert retained[:3] == [size, 1, 1]


def test_a_call_and_its_result_hold_each_other() -> None:
    things = [Thing("tool_call:read"), Thing("tool_result:read", answers=0)]

    assert pair_edges(things) == [Edge(0, 1, "pair"), Edge(1, 0, "pair")]


def test_a_turn_holds_its_thinking_and_not_that_of_the_next() -> None:
    things = [
        Thing("user_turn"),
        Thing("agent_reasoning"),
        Thing("agent_output"),
        Thing("tool_call:read"),
        Thing("tool_result:read", answers=3),
        Thing("agent_reasoning"),
        Thing("tool_call:read"),
    ]

    assert turn_edges(things) == [Edge(2, 1, "turn"), Edge(3, 1, "turn"), Edge(6, 5, "turn")]


def test_what_was_spoken_holds_the_thinking_behind_it_in_its_turn() -> None:
    things = [Thing("user_turn"), Thing("agent_output"), Thing("agent_reasoning"), Thing("tool_call:read")]

    assert turn_edges(things) == [Edge(1, 2, "turn"), Edge(3, 2, "turn")]


def test_a_call_derives_from_its_only_source() -> None:
    assert derivation_edges({4: {1}, 6: {1, 2}, 8: set(), 9: [3, 9]}) == [
        Edge(1, 4, "derivation"),
        Edge(3, 9, "derivation"),
    ]


def test_roots_are_what_stays_for_its_own_sake() -> None:
    things = [
        Thing("system_prompt"),
        Thing("tool_definition:read"),
        Thing("user_turn"),
        Thing("user_turn", birth=3),
        Thing("user_turn", birth=5),
        Thing("tool_result:read", birth=2, pinned=True),
        Thing("tool_call:read", birth=3),
        Thing("tool_call:read", birth=4),
        Thing("tool_result:read", birth=4, answers=7),
        Thing("tool_result:old", birth=7),
        Thing("tool_result:young", birth=8),
        Thing("user_turn", birth=1, last=6),
        Thing("tool_result:later", birth=11, last=12),
    ]
    later = [Thing(thing.tag, thing.birth, thing.last + 1, thing.pinned, thing.answers) for thing in things]

    assert roots_at(later, 10) == {0, 1, 2, 4, 5, 6, 10}


def test_a_call_whose_result_left_is_unanswered_again() -> None:
    things = [Thing("tool_call:read"), Thing("tool_result:read", last=5, answers=0)]

    assert roots_at(things, 5) == set()
    assert roots_at(things, 6) == {0}


def test_a_call_is_answered_while_any_version_of_its_result_is_there() -> None:
    things = [
        Thing("tool_call:read", last=12),
        Thing("tool_result:read", last=5, answers=0),
        Thing("receipt", birth=6, last=9, answers=0),
    ]

    assert [0 in roots_at(things, call) for call in (5, 9, 10)] == [False, False, True]


def test_what_a_call_derives_from_holds_it_before_and_after_its_result_is_cleared() -> None:
    things = [
        Thing("user_turn", last=12),
        Thing("tool_call:ls", birth=2, last=8),
        Thing("tool_result:ls", birth=2, last=8, answers=1),
        Thing("tool_call:read", birth=3, last=12),
        Thing("tool_result:read", birth=3, last=9, answers=3),
        Thing("receipt", birth=10, last=12, answers=3),
    ]

    assert retained_at_last(things, [20, 10, 500, 10, 800, 8], edges_of(things, {3: {2}})) == [
        20,
        *(1320, 1320),
        18,
        810,
        18,
    ]


def test_only_what_is_resident_holds_and_is_held() -> None:
    things = [
        Thing("system_prompt"),
        Thing("retrieval:a", last=4),
        Thing("retrieval:b"),
        Thing("retrieval:c"),
    ]
    edges = [Edge(0, 1, "derivation"), Edge(1, 2, "derivation"), Edge(2, 3, "derivation")]
    sizes = [1, 10, 100, 1000]

    assert retained_at(things, sizes, edges, call=4) == {0: 1111, 1: 1110, 2: 1100, 3: 1000}
    assert retained_at(things, sizes, edges, call=9) == {0: 1, 2: 1100, 3: 1000}
    assert retained_at_last(things, sizes, edges) == [1, 1110, 1100, 1000]


@st.composite
def sessions(draw: st.DrawFn) -> tuple[list[Thing], list[int], list[Edge]]:
    things: list[Thing] = []
    for _ in range(draw(st.integers(1, 8))):
        birth = draw(st.integers(1, 9))
        tag = draw(st.sampled_from(["user_turn", "agent_reasoning", "agent_output", "retrieval:a"]))
        things.append(Thing(tag, birth, draw(st.integers(birth, 12)), draw(st.booleans())))
        if draw(st.booleans()):
            things.append(Thing("tool_call:run", birth, draw(st.integers(birth, 12))))
            request = len(things) - 1
            for tag in draw(st.sampled_from([["tool_result:run"], ["tool_result:run", "receipt"], []])):
                things.append(Thing(tag, birth, draw(st.integers(birth, 12)), answers=request))
                birth = draw(st.integers(birth, 12))
    place = st.integers(0, len(things) - 1)
    sources = draw(st.dictionaries(place, st.sets(place, max_size=2), max_size=5))
    sizes = draw(st.lists(st.integers(1, 99), min_size=len(things), max_size=len(things)))
    return things, sizes, edges_of(things, sources)


@given(session=sessions())
def test_the_size_at_the_last_call_is_the_one_of_the_whole_graph_there(
    session: tuple[list[Thing], list[int], list[Edge]],
) -> None:
    things, sizes, edges = session

    retained = retained_at_last(things, sizes, edges)

    assert retained == [
        retained_at(things, sizes, edges, call=thing.last)[place] for place, thing in enumerate(things)
    ]


def test_what_the_api_forces_is_told_apart_from_what_derives() -> None:
    things = [
        Thing("agent_reasoning"),
        Thing("tool_call:search"),
        Thing("tool_result:search", answers=1),
        Thing("tool_call:fetch"),
        Thing("tool_result:fetch", answers=3),
    ]
    sizes = [7, 10, 500, 20, 800]
    edges = edges_of(things, {3: {2}})

    assert retained_sizes(sizes, [(edge.source, edge.target) for edge in edges], {1}) == [
        7,
        1337,
        1337,
        820,
        820,
    ]
    assert forced_sizes(sizes, edges) == [0, 507, 17, 800, 20]
