from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.marks import Marks
from ctxheap.heap.model import Part

CHUNK = "Refunds are paid within 14 days."
OTHER = "Shipping is free above 50 euros."


def tagged(parts: list[Part]) -> list[tuple[str, str]]:
    return [(part.tag, part.text) for part in parts]


def user(text: str) -> Part:
    return Part("user", "text", "user_turn", text)


def test_marked_chunk_inside_a_message_is_counted_under_its_source() -> None:
    marks = Marks()
    marks.add([CHUNK, OTHER], "retrieval:handbook")

    parts = marks.split(user(f"Context:\n{CHUNK}\n{OTHER}\nWhen do I get my money?"))

    assert tagged(parts) == [
        ("user_turn", "Context:\n"),
        ("retrieval:handbook", CHUNK),
        ("user_turn", "\n"),
        ("retrieval:handbook", OTHER),
        ("user_turn", "\nWhen do I get my money?"),
    ]


def test_part_that_is_a_mark_is_retagged_whole() -> None:
    marks = Marks()
    marks.add("short", "memory:facts")

    assert tagged(marks.split(user(" short\n"))) == [("memory:facts", " short\n")]
    assert tagged(marks.split(user("a short text"))) == [("user_turn", "a short text")]


def test_part_without_marks_is_the_same_object() -> None:
    marks = Marks()
    marks.add(CHUNK, "retrieval:handbook")
    part = user("Nothing of that here, but it is long enough.")

    assert marks.split(part) == [part]
    assert marks.split(part)[0] is part


def test_longer_mark_wins_and_the_newest_tag_counts() -> None:
    marks = Marks()
    marks.add(CHUNK, "retrieval:old")
    marks.add(CHUNK, "retrieval:new")
    marks.add(f"{CHUNK} {OTHER}", "retrieval:page")

    assert len(marks) == 2
    assert tagged(marks.split(user(f"> {CHUNK} {OTHER}"))) == [
        ("user_turn", "> "),
        ("retrieval:page", f"{CHUNK} {OTHER}"),
    ]
    assert tagged(marks.split(user(f"> {CHUNK}")))[1] == ("retrieval:new", CHUNK)


def test_mark_is_found_escaped_inside_json() -> None:
    text = "Größe: 4\nFarbe: „rot“"
    marks = Marks()
    marks.add(text, "retrieval:shop")
    result = Part("tool", "tool_result", "tool_result:search", json.dumps({"hit": text}), "search", "t1")

    parts = marks.split(result)

    assert [part.tag for part in parts] == ["tool_result:search", "retrieval:shop", "tool_result:search"]
    assert {part.call_id for part in parts} == {"t1"}


def test_tool_calls_are_never_cut() -> None:
    marks = Marks()
    marks.add(CHUNK, "retrieval:handbook")
    call = Part("assistant", "tool_call", "tool_call:say", json.dumps({"text": CHUNK}), "say", "t1")

    assert marks.split(call) == [call]


@given(
    st.lists(st.text(alphabet="ab ", min_size=12, max_size=20), max_size=4),
    st.text(alphabet="ab ", max_size=90),
)
def test_cutting_loses_nothing(texts: list[str], message: str) -> None:
    marks = Marks()
    marks.add(texts, "retrieval:x")

    assert "".join(part.text for part in marks.split(user(message))) == message
