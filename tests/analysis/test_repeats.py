"""Check what repeated state costs, each token once."""

from __future__ import annotations

from array import array

import pytest

from ctxheap.analysis.repeats import RepeatedState, by_kind_and_tag, repeated_state
from ctxheap.analysis.study import Study, study
from ctxheap.heap.evidence import Use
from ctxheap.heap.facts.records import Repeat
from ctxheap.heap.model import Usage
from ctxheap.heap.records import Call, Heap, HeapObject
from ctxheap.heap.supersession import Superseded
from ctxheap.prices import Rates

RATES = Rates(1e-3, 1e-4, 1.25e-3, 2e-3, 5e-3, "test", "2026-12-01")


def heap(objects: list[tuple[str, int, int, int]], calls: int) -> Heap:
    """Return a heap of (tag, tokens, birth, last) objects."""
    found = Heap("s", None, "")
    for number, (tag, _, birth, last) in enumerate(objects):
        found.objects.append(
            HeapObject(number, str(number), "text", tag, "", birth, last, 0, pinned=False, error=False)
        )
    for k in range(1, calls + 1):
        contents = {n: size for n, (_, size, birth, last) in enumerate(objects) if birth <= k <= last}
        found.calls.append(
            Call(
                number=k,
                id=str(k),
                model="m",
                provider="",
                started_ns=None,
                usage=Usage(uncached=sum(contents.values())),
                numbers=array("I", contents),
                tokens=array("q", contents.values()),
                born=tuple(n for n in contents if objects[n][2] == k),
                extends=True,
                exact=True,
                implied=False,
                incomplete=False,
                compaction=None,
                messages=0,
            )
        )
    return found


def studied(found: Heap, rates: Rates | None = RATES) -> Study:
    return study(found, lambda _call: rates)


def spans(found: Heap) -> dict[int, tuple[str, int, int, int]]:
    states = repeated_state(studied(found))
    return {each.number: (each.kind, each.since, each.until, each.token_calls) for each in states}


def test_every_plan_but_the_last_counts_from_the_birth_of_the_next() -> None:
    found = heap([("tool_result:plan", size, birth, 8) for size, birth in ((10, 1), (20, 3), (30, 6))], 8)
    found.facts.repeats = [Repeat(1, 0, "contains", 0.5, 3), Repeat(2, 1, "contains", 0.66, 6)]

    assert spans(found) == {0: ("contained", 3, 8, 60), 1: ("contained", 6, 8, 60)}


def test_a_container_of_the_container_goes_on_when_the_container_leaves() -> None:
    found = heap(
        [("tool_result:plan", 10, 1, 8), ("tool_result:plan", 20, 3, 5), ("tool_result:plan", 30, 5, 8)], 8
    )
    found.facts.repeats = [Repeat(1, 0, "contains", 0.5, 3), Repeat(2, 1, "contains", 0.66, 5)]

    assert spans(found)[0] == ("contained", 3, 8, 60)


def test_a_contained_object_is_not_redundant_once_its_container_left() -> None:
    found = heap([("tool_result:plan", 10, 1, 8), ("tool_result:plan", 20, 3, 5)], 8)
    found.facts.repeats = [Repeat(1, 0, "contains", 0.5, 3)]

    assert spans(found) == {0: ("contained", 3, 5, 30)}


def test_a_duplicate_counts_until_the_later_copy_is_gone() -> None:
    found = heap([("tool_result:ls", 10, 1, 8), ("tool_result:ls", 10, 3, 5)], 8)
    found.superseded = [Superseded(0, 1, "duplicate", 3)]
    found.revived = [(0, 6)]

    assert spans(found) == {0: ("duplicate", 3, 5, 30)}


def test_repeated_lines_count_by_their_share_until_the_whole_is_redundant() -> None:
    found = heap([("tool_result:a", 100, 1, 8), ("tool_result:b", 40, 2, 8), ("tool_result:a", 100, 6, 8)], 8)
    found.facts.repeats = [Repeat(1, 0, "lines", 0.5, 2)]
    found.superseded = [Superseded(0, 2, "superseded", 6)]

    assert spans(found) == {0: ("superseded", 6, 8, 300), 1: ("lines", 2, 5, 80)}


def test_writes_and_prompts_are_no_repetition() -> None:
    found = heap([("tool_result:a", 100, 1, 4), ("user_turn", 40, 1, 4)], 4)
    found.superseded = [Superseded(0, 1, "invalidated", 2), Superseded(1, 0, "duplicate", 2)]

    assert spans(found) == {}


def test_rent_is_what_the_tokens_cost_and_unknown_without_a_price() -> None:
    found = heap([("tool_result:ls", 10, 1, 4), ("tool_result:ls", 10, 3, 4)], 4)
    found.superseded = [Superseded(0, 1, "duplicate", 3)]
    found.uses = [Use(0, 3, "quote", 1.0, "used")]

    (state,) = repeated_state(studied(found))

    assert state.rent_usd == pytest.approx(0.02)
    assert [state] == [
        RepeatedState(
            number=0,
            by=1,
            kind="duplicate",
            tag="tool_result:ls",
            share=1.0,
            since=3,
            until=4,
            tokens=10,
            token_calls=20,
            rent_usd=state.rent_usd,
            is_used_later=True,
        )
    ]
    assert [each.rent_usd for each in repeated_state(studied(found, None))] == [None]


def test_sums_hold_every_object_of_their_kind_and_tag() -> None:
    found = heap(
        [("tool_result:ls", 10, 1, 4), ("tool_result:ls", 10, 2, 4), ("tool_result:ls", 10, 4, 4)], 4
    )
    found.superseded = [Superseded(0, 1, "duplicate", 2), Superseded(1, 2, "duplicate", 4)]

    (sums,) = by_kind_and_tag(repeated_state(studied(found)))

    assert (sums.kind, sums.tag, sums.objects, sums.tokens, sums.token_calls) == (
        "duplicate",
        "tool_result:ls",
        2,
        20,
        40,
    )
    assert sums.rent_usd == pytest.approx(0.04)
