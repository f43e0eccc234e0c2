from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.model import Part, Usage
from ctxheap_collector.transcripts.replay import About, Turn, replay
from transcripts.written import grows, texts


def said(text: str, *, usage: Usage | None = None, call_id: str = "") -> Turn:
    return Turn(
        [Part("assistant", "text", "agent_output", text)], is_output=True, usage=usage, call_id=call_id
    )


def asked(text: str) -> Turn:
    return Turn([Part("user", "text", "user_turn", text)])


ABOUT = About("s", model="m", provider="p", agent="a")


def test_every_answer_was_a_call_with_all_that_precedes_it() -> None:
    calls = list(replay([asked("u1"), said("a1"), asked("u2"), asked("u3"), said("a2"), asked("u4")], ABOUT))

    assert [(call.call_id, texts(call.prompt), texts(call.output)) for call in calls] == [
        ("s/1", ["u1"], ["a1"]),
        ("s/2", ["u1", "a1", "u2", "u3"], ["a2"]),
    ]
    assert [(call.session, call.model, call.provider, call.agent, call.implied) for call in calls] == [
        ("s", "m", "p", "a", True),
        ("s", "m", "p", "a", True),
    ]


def test_answers_without_input_between_them_are_one_output() -> None:
    calls = list(replay([asked("u"), said("a1"), said("a2"), asked("v"), said("a3")], ABOUT))

    assert [texts(call.output) for call in calls] == [["a1", "a2"], ["a3"]]


def test_an_answer_with_its_own_usage_was_a_call_of_its_own() -> None:
    one, two = Usage(uncached=5), Usage(uncached=9)

    calls = list(replay([asked("u"), said("a1", usage=one), said("a2", usage=two, call_id="r2")], ABOUT))

    assert [(call.call_id, call.usage, call.implied) for call in calls] == [
        ("s/1", one, False),
        ("r2", two, False),
    ]


def test_a_line_that_nothing_asked_for_opens_the_prompt() -> None:
    calls = list(replay([said("Welcome!"), asked("u"), said("a")], ABOUT))

    assert [texts(call.prompt) for call in calls] == [["Welcome!", "u"]]


def test_what_opens_every_prompt_stands_in_front() -> None:
    tool = Part("system", "tool_definition", "tool_definition:ls", "{}", "ls")

    calls = list(replay([asked("u"), said("a")], About("s", opening=[tool], incomplete=True)))

    assert [(texts(call.prompt), call.incomplete) for call in calls] == [(["{}", "u"], True)]


TURNS = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40)


@given(TURNS)
def test_prompts_only_grow_and_hold_every_answer_that_was_sent_back(marks: list[tuple[bool, bool]]) -> None:
    turns = [
        said(str(number), usage=Usage(uncached=1) if recorded else None) if output else asked(str(number))
        for number, (output, recorded) in enumerate(marks)
    ]

    calls = list(replay(turns, ABOUT))

    assert grows(calls)
    assert all(
        texts(new.prompt)[: len(old.prompt) + len(old.output)] == texts(old.prompt) + texts(old.output)
        for old, new in pairwise(calls)
    )
    assert sum(call.usage is not None for call in calls) == sum(
        output and recorded for output, recorded in marks
    )
    assert len({call.call_id for call in calls}) == len(calls)
