"""Check which objects the arguments of a tool call are known to come from (SPEC 5.2)."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from ctxheap.heap.evidence import Use
from ctxheap.heap.model import Kind
from ctxheap.heap.records import Call, Heap, HeapObject
from ctxheap.heap.retained import argument_sources, retained_sizes

Row = tuple[str, Kind, int]


def item(number: int, row: Row, last: int) -> HeapObject:
    tag, kind, birth = row
    return HeapObject(number, str(number), kind, tag, tag, birth, last, 0, pinned=False, error=False)


def heap(rows: Sequence[Row], uses: Sequence[Use], *, calls: int) -> Heap:
    """Return a heap of objects that stay to the last call."""
    found = Heap("s", None, "", uses=list(uses))
    found.objects = [item(number, row, calls) for number, row in enumerate(rows)]
    for k in range(1, calls + 1):
        born = tuple(number for number, row in enumerate(rows) if row[2] == k)
        numbers = array("I", [number for number, row in enumerate(rows) if row[2] <= k])
        found.calls.append(
            Call(
                number=k,
                id=str(k),
                model="m",
                provider="",
                started_ns=None,
                usage=None,
                numbers=numbers,
                tokens=array("q", [1] * len(numbers)),
                born=born,
                extends=True,
                exact=True,
                implied=False,
                incomplete=False,
                compaction=None,
                messages=0,
            )
        )
    return found


TASK: Row = ("user_turn", "text", 1)
LISTING: Row = ("tool_result:ls", "tool_result", 1)
READ: Row = ("tool_call:read", "tool_call", 3)
GREP: Row = ("tool_call:grep", "tool_call", 3)


def test_arguments_come_from_what_the_output_with_the_call_used() -> None:
    uses = [
        Use(1, 1, "quote", 1.0, "used"),
        Use(1, 2, "handle", 1.0, "used"),
        Use(0, 3, "quote", 1.0, "used"),
    ]

    assert argument_sources(heap([TASK, LISTING, READ], uses, calls=4)) == {2: {1}}


def test_every_rule_that_finds_text_counts_and_coming_next_does_not() -> None:
    uses = [
        Use(0, 2, "quote", 1.0, "used"),
        Use(1, 2, "handle", 1.0, "used"),
        Use(2, 2, "argument", 1.0, "used"),
        Use(3, 2, "answer", 1.0, "used"),
        Use(4, 2, "request", 1.0, "used"),
    ]

    assert argument_sources(heap([TASK] * 5 + [READ], uses, calls=3)) == {5: {0, 1, 2}}


def test_what_is_only_probable_is_no_source() -> None:
    uses = [Use(0, 2, "quote", 0.5, "probable"), Use(1, 2, "quote", 1.0, "used")]

    assert argument_sources(heap([TASK, LISTING, READ], uses, calls=3)) == {2: {1}}


def test_of_two_calls_in_one_output_neither_is_known_to_have_taken_it_up() -> None:
    uses = [Use(1, 2, "argument", 1.0, "used")]

    assert argument_sources(heap([TASK, LISTING, READ, GREP], uses, calls=3)) == {}


def test_call_that_derives_from_a_listing_leaves_with_it() -> None:
    uses = [Use(1, 2, "argument", 1.0, "used")]

    assert retained_sizes(heap([TASK, LISTING, READ], uses, calls=8), [20, 500, 10]) == [20, 500, 10]
    answered = heap([TASK, LISTING, READ, ("tool_result:read", "tool_result", 3)], uses, calls=8)
    answered.objects[3].answers = 2
    assert retained_sizes(answered, [20, 500, 10, 80]) == [20, 590, 90, 90]
