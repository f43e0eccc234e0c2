"""Check the phases and the dead interval of SPEC 5.4 and 5.5, the table of 5.4 number by number."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.phases import Life, Phases, dead_series, effective_uses, life, phases, token_phases
from ctxheap.heap.subject import is_inherent

CALLS = 8
TABLE = {
    "S": (100, life(1, 8, [], inherent=True)),
    "U1": (20, life(1, 8, [], inherent=True)),
    "T1": (200, life(2, 8, [2], sure=[(5, 99)])),
    "T2": (300, life(3, 8, [])),
    "T3": (150, life(4, 8, [4, 6])),
    "T5": (210, life(6, 8, [6])),
}


def sizes_of(name: str) -> list[int]:
    tokens, item = TABLE[name]
    return [tokens] * (item.last - item.birth + 1)


@pytest.mark.parametrize(
    ("name", "calls", "expected"),
    [
        ("S", 8, Phases(use=800)),
        ("U1", 8, Phases(use=160)),
        ("T1", 7, Phases(use=200, drag=1200)),
        ("T2", 6, Phases(void=1800)),
        ("T3", 5, Phases(use=450, drag=300)),
        ("T5", 3, Phases(use=210, drag=420)),
    ],
)
def test_the_table_of_the_specification_holds(name: str, calls: int, expected: Phases) -> None:
    sizes = sizes_of(name)

    assert len(sizes) == calls
    assert token_phases(TABLE[name][1], sizes) == expected


def test_the_dead_series_of_the_specification_hold() -> None:
    lives = [(item, sizes_of(name)) for name, (_, item) in TABLE.items()]

    low, high = dead_series(lives, calls=CALLS)

    assert high == [0, 0, 500, 500, 500, 500, 860, 860]
    assert sum(high) == 3720
    assert low == [0, 0, 0, 0, 200, 200, 200, 200]
    assert sum(low) == 800


numbers = st.integers(1, 40)


@st.composite
def lives(draw: st.DrawFn) -> tuple[Life, list[int]]:
    birth, last = sorted((draw(numbers), draw(numbers)))
    item = life(
        birth,
        last,
        draw(st.lists(st.integers(0, 45), max_size=5)),
        inherent=draw(st.booleans()),
        sure=draw(st.lists(st.tuples(st.integers(1, 45), st.integers(1, 45)), max_size=3)),
    )
    sizes = draw(st.lists(st.integers(0, 500), min_size=last - birth + 1, max_size=last - birth + 1))
    return item, sizes


@given(item=lives())
def test_the_four_phases_are_the_whole_life(item: tuple[Life, list[int]]) -> None:
    found = token_phases(*item)

    assert found.lag + found.use + found.drag + found.void == sum(item[1])
    assert min(found.lag, found.use, found.drag, found.void) >= 0


@given(birth=numbers, length=numbers, uses=st.lists(st.integers(0, 90)), inherent=st.booleans())
def test_phases_in_calls_add_up_to_the_residency(
    birth: int, length: int, uses: list[int], inherent: bool
) -> None:
    found = phases(birth, birth + length - 1, uses, inherent=inherent)

    assert found.lag + found.use + found.drag + found.void == length


@given(item=lives())
def test_phases_by_call_agree_with_the_sums(item: tuple[Life, list[int]]) -> None:
    subject, sizes = item

    by_call = {"lag": 0, "use": 0, "drag": 0, "void": 0}
    for call, tokens in enumerate(sizes, subject.birth):
        by_call[subject.phase_at(call)] += tokens

    assert token_phases(subject, sizes) == Phases(**by_call)


@given(items=st.lists(lives(), max_size=8))
def test_the_lower_dead_end_never_passes_the_upper(items: list[tuple[Life, list[int]]]) -> None:
    low, high = dead_series(items, calls=45)

    assert all(sure <= possible for sure, possible in zip(low, high, strict=True))
    assert sum(high) == sum(f.drag + f.void for f in (token_phases(*item) for item in items))


@pytest.mark.parametrize(
    ("item", "high", "low"),
    [
        (life(2, 8, [2, 6], sure=[(5, 99)]), 7, 7),
        (life(2, 8, [2], sure=[(5, 99)]), 3, 5),
        (life(2, 8, [], sure=[(5, 99)]), 2, 5),
        (life(2, 8, [8], sure=[(5, 99)]), None, None),
        (life(2, 8, [2], sure=[(9, 99)]), 3, None),
        (life(2, 8, [2]), 3, None),
        (life(2, 8, [2], sure=[(5, 99)], inherent=True), None, None),
        (life(2, 8, [2], sure=[(5, 4)]), 3, None),
        (life(2, 8, [4], sure=[(2, 3), (6, 7)]), 5, 6),
    ],
)
def test_death_starts_after_the_last_use(item: Life, high: int | None, low: int | None) -> None:
    assert (item.high, item.low) == (high, low)


def test_a_duplicate_whose_copy_left_is_no_longer_surely_dead() -> None:
    item = life(2, 8, [2], sure=[(5, 6)])

    assert [item.is_surely_dead_at(call) for call in range(2, 9)] == [
        *(False, False, False),
        *(True, True),
        *(False, False),
    ]
    assert all(item.is_dead_at(call) for call in range(3, 9))


@dataclass(slots=True)
class Thing:
    tag: str
    birth: int = 2
    last: int = 9
    pinned: bool = False
    answers: int | None = None


def test_a_tool_call_shares_the_uses_of_its_result() -> None:
    things = [Thing("tool_call:read"), Thing("tool_result:read", answers=0)]

    assert effective_uses(things, [[], [3, 7]]) == [[3, 7], [3, 7]]


@given(uses=st.lists(st.sets(numbers), max_size=4))
def test_a_tool_call_keeps_the_uses_of_its_result_however_often_that_is_rewritten(
    uses: list[set[int]],
) -> None:
    versions = [Thing("tool_result:read", answers=0) for _ in uses]

    shared = effective_uses([Thing("tool_call:read"), *versions], [[], *map(sorted, uses)])

    assert shared[0] == (sorted({call for version in uses for call in version}) if uses else [2])


def test_a_tool_call_keeps_its_own_uses_beside_those_of_its_result() -> None:
    things = [Thing("tool_call:read"), Thing("tool_result:read", answers=0)]

    assert effective_uses(things, [[5], [3, 7]]) == [[3, 5, 7], [3, 7]]


def test_a_tool_call_whose_result_was_ignored_is_void_too() -> None:
    things = [Thing("tool_call:read"), Thing("tool_result:read", answers=0)]

    assert effective_uses(things, [[], []]) == [[], []]


def test_the_models_own_text_is_used_when_it_comes_back() -> None:
    things = [Thing("agent_output"), Thing("agent_reasoning", birth=4), Thing("tool_call:finish", birth=5)]

    assert effective_uses(things, [[6], [], []]) == [[2, 6], [4], [5]]


def test_other_objects_keep_the_evidence_and_nothing_else() -> None:
    things = [Thing("tool_result:read"), Thing("retrieval:docs"), Thing("user_turn")]

    assert effective_uses(things, [[4, 4], [], [3]]) == [[4], [], [3]]


@pytest.mark.parametrize(
    "tag",
    ["system_prompt", "tool_definition:read", "user_turn", "summary", "receipt", "framing", "unattributed"],
)
def test_what_cannot_be_spared_is_inherent(tag: str) -> None:
    assert is_inherent(tag)


def test_pins_are_inherent_and_results_are_not() -> None:
    assert is_inherent("tool_result:read", pinned=True)
    assert not is_inherent("tool_result:read")
