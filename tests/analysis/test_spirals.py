"""Check what counts as going in circles, and what is progress (SPEC 9)."""

from __future__ import annotations

from array import array
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.analysis.spirals import Spiral, ZeroWrite, spirals, zero_write
from ctxheap.analysis.study import Study, study
from ctxheap.heap.evidence import Use
from ctxheap.heap.facts import Echo, Step
from ctxheap.heap.facts.records import Ending
from ctxheap.heap.model import Kind
from ctxheap.heap.records import Call, Heap, HeapObject

# A step is written as key:content; "!" marks a change, "?" a failure named by its content, "~" a poll.


def steps_of(text: str) -> list[Step]:
    return [_step(place, word) for place, word in enumerate(text.split())]


def _step(place: int, word: str) -> Step:
    key, _, content = word.strip("!?~").partition(":")
    return Step(
        request=2 * place,
        result=2 * place + 1,
        call=place + 2,
        tool=key[0],
        key=key,
        writes=("w",) if "!" in word else (),
        content=content,
        is_error="?" in word,
        fault=content if "?" in word else "",
        is_poll="~" in word,
    )


def session(steps: list[Step], *, calls: int = 0, used: tuple[int, ...] = ()) -> Study:
    """Return a session in which every call bills ten tokens and `used` objects are quoted at the end."""
    heap = Heap("s", None, "")
    last = max([calls, 2, *(step.call for step in steps)])
    for step in steps:
        for number, kind in ((step.request, "tool_call"), (step.result, "tool_result")):
            assert number is not None
            heap.objects.append(_object(number, kind, step.call, last))  # type: ignore[arg-type]  # two kinds
    for number in range(1, last + 1):
        heap.calls.append(_call(number))
    heap.uses = [Use(number, last, "quote", 1.0, "used") for number in used]
    heap.facts.steps = steps
    return study(heap, lambda call: None)


def _object(number: int, kind: Kind, birth: int, last: int) -> HeapObject:
    return HeapObject(
        number, str(number), kind, f"{kind}:x", "", birth, last, 0, pinned=False, error=False,
        answers=number - 1 if kind == "tool_result" else None,
    )  # fmt: skip


def _call(number: int) -> Call:
    return Call(
        number=number, id=str(number), model="m", provider="", started_ns=None, usage=None,
        numbers=array("I"), tokens=array("q"), born=(), extends=True, exact=True, implied=False,
        incomplete=False, compaction=None, messages=0,
    )  # fmt: skip


def found(text: str, *, used: tuple[int, ...] = ()) -> list[tuple[str, int, int, int]]:
    return [(s.kind, s.first, s.last, s.times) for s in spirals(session(steps_of(text), used=used))]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("a:1 a:1 a:1", [("repeat", 2, 4, 3)]),
        ("a:1 b:2 a:1 c:3 a:1", [("repeat", 2, 6, 3)]),
        ("w:1! r:2 w:1! r:3 w:1!", [("repeat", 2, 6, 3)]),
        ("a:1 b:1 a:2 b:2 a:3 b:3", [("block", 2, 7, 3)]),
        ("a:1 b:1 c:1 d:1 " * 3, [("repeat", 2, 13, 3)]),
        ("a:1 b:1 c:1 b:2 a:2 c:2 b:3 c:3 a:3 c:4 b:4 a:4", [("few", 2, 13, 4)]),
        ("a:e? b:e? c:e? d:e?", [("failure", 2, 5, 4)]),
    ],
)
def test_repetition_that_brings_nothing_is_a_spiral(
    steps: str, expected: list[tuple[str, int, int, int]]
) -> None:
    assert found(steps) == expected


@pytest.mark.parametrize(
    "steps",
    [
        "a:1 a:1",
        "t:e? e1:1! t:e? e2:1! t:e? e3:1! t:e?",
        "a:1 e:2! a:1 f:2! a:1",
        "a:1~ a:1~ a:1~ a:1~",
        "a:e? b:e? c:e? w:1! d:e?",
        "a:e? b:f? c:e? d:f? e:e? g:f?",
        "a:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1 i:1 j:1 k:1 a:1 l:1 m:1 a:1",
    ],
)
def test_progress_waiting_and_rare_repetition_are_none(steps: str) -> None:
    assert found(steps) == []


def test_a_failed_change_does_not_end_a_spiral() -> None:
    assert found("a:1 w:x!? a:1 a:1") == [("repeat", 2, 5, 3)]


def test_answers_that_differ_are_a_spiral_only_when_none_of_them_is_used() -> None:
    assert found("a:1 a:2 a:3") == [("block", 2, 4, 3)]
    assert found("a:1 a:2 a:3", used=(3,)) == []


def test_equal_calls_side_by_side_are_one_round() -> None:
    steps = [replace(step, call=2) for step in steps_of("a:1 a:1 a:1")]

    assert spirals(session(steps)) == []


def test_stretches_that_overlap_are_one_spiral_and_others_are_not() -> None:
    far = " ".join(f"x{n}:{n}!" for n in range(12))

    assert found(f"a:1 a:1 a:1 a:1 {far} b:1 b:1 b:1") == [("repeat", 2, 5, 4), ("repeat", 18, 20, 3)]


def test_a_spiral_names_its_objects_its_tools_and_what_its_later_rounds_were_billed() -> None:
    studied = session(steps_of("a:1 b:2 a:1 a:1"))
    for call in studied.heap.calls:
        call.tokens = array("q", [10])

    assert spirals(studied) == [Spiral("repeat", 2, 5, 3, ("a",), (0, 1, 4, 5, 6, 7), input_tokens=30)]


def echoes(*places: int) -> list[Echo]:
    return [Echo(call=place + 5, place=place, share=0.8) for place in places]


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ((2, 4, 5, 6), [("dialogue", 7, 11, 4)]),
        ((2, 4, 6), []),
        ((1, 5, 9, 13, 17), []),
    ],
)
def test_four_of_eight_outputs_that_say_the_same_again_are_a_spiral(
    places: tuple[int, ...], expected: list[tuple[str, int, int, int]]
) -> None:
    studied = session([], calls=30)
    studied.heap.facts.echoes = echoes(*places)

    assert [(s.kind, s.first, s.last, s.times) for s in spirals(studied)] == expected


def test_a_tool_call_between_ends_a_run_of_echoes() -> None:
    studied = session([], calls=30)
    studied.heap.facts.echoes = [*echoes(1, 2), *(replace(echo, call=echo.call + 9) for echo in echoes(1, 2))]

    assert spirals(studied) == []


def unfinished(ending: Ending = "question", *, steps: str = "r:1", calls: int = 9) -> Study:
    studied = session(steps_of(steps), calls=calls)
    studied.heap.facts.change_asked = 3
    studied.heap.facts.ending = ending
    return studied


@pytest.mark.parametrize("ending", ["question", "tool_call"])
def test_a_session_that_was_to_change_something_and_did_not_is_told(ending: Ending) -> None:
    assert zero_write(unfinished(ending)) == ZeroWrite(asked=3, last=9, ending=ending)


@pytest.mark.parametrize("ending", ["answer", "refusal", "hand_over", ""])
def test_an_answer_a_refusal_and_a_hand_over_are_ends(ending: Ending) -> None:
    assert zero_write(unfinished(ending)) is None


def test_a_change_that_was_made_counts_and_one_that_failed_does_not() -> None:
    assert zero_write(unfinished(steps="w:1!")) is None
    assert zero_write(unfinished(steps="w:x!?")) is not None


def test_short_and_running_sessions_sub_agents_and_other_tasks_are_left_alone() -> None:
    sub_agent, other, writing = unfinished(), unfinished(), unfinished()
    sub_agent.heap.parent = "parent"
    other.heap.facts.change_asked = 0
    writing.heap.facts.last_writes = ("a",)

    left_alone = [unfinished(calls=7), replace(unfinished(), is_running=True), sub_agent, other, writing]

    assert [zero_write(each) for each in left_alone] == [None] * 5


@given(st.lists(st.sampled_from(["a:1", "a:2", "b:1", "b:e?", "w:1!", "w:e!?", "p:1~"]), max_size=40))
def test_spirals_come_in_order_and_never_overlap(words: list[str]) -> None:
    spans = [(first, last) for _, first, last, _ in found(" ".join(words))]

    assert all(first < last for first, last in spans)
    assert all(left[1] < right[0] for left, right in pairwise(spans))


@given(st.integers(3, 30))
def test_steps_that_are_all_new_never_spiral(count: int) -> None:
    assert found(" ".join(f"k{n}:{n}" for n in range(count))) == []


def test_repetition_that_outlasts_the_window_is_counted_whole() -> None:
    text = " ".join(f"g:same x{k}:{k} y{k}:{k} z{k}:{k}" for k in range(9))

    assert found(text) == [("repeat", 2, 34, 9)]
