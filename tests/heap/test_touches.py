"""Check that what a session touches has one name each (SPEC 5.2)."""

from __future__ import annotations

import json

import pytest

from ctxheap.heap.access import LAST_LINE, Access, Range
from ctxheap.heap.model import Part
from ctxheap.heap.touches import Touches


def pair(tool: str, arguments: object, text: str = "") -> tuple[Part, Part]:
    sent = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return (
        Part("assistant", "tool_call", f"tool_call:{tool}", sent, tool, "c"),
        Part("tool", "tool_result", f"tool_result:{tool}", text, tool, "c"),
    )


def test_a_file_keeps_the_name_under_which_it_was_seen_first() -> None:
    touches = Touches()

    first = touches.of(*pair("Read", {"file_path": "/r/src/a.py"}))
    second = touches.of(*pair("bash", {"command": "cat src/a.py"}))

    assert first == second == (Access("read", "/r/src/a.py"),)


def test_a_call_without_a_path_works_on_the_file_that_is_open() -> None:
    touches = Touches()

    before = touches.of(*pair("goto", {"line_number": 50}))
    touches.of(*pair("open", {"path": "a.py"}))
    after = touches.of(*pair("goto", {"line_number": 50}))

    assert before == ()
    assert [access.resource for access in after] == ["a.py"]


def test_a_long_file_ends_where_the_reading_tool_stops() -> None:
    found = Touches().of(*pair("Read", {"file_path": "/a.py"}, "x\n" * 2_000))

    assert found == (Access("read", "/a.py", (1, 2_000)),)


def test_a_file_read_from_a_line_on_ends_where_the_reading_tool_stops() -> None:
    touches = Touches()

    long = touches.of(*pair("Read", {"file_path": "/a.py", "offset": 100}, "x\n" * 2_000))
    short = touches.of(*pair("Read", {"file_path": "/a.py", "offset": 100}, "x\n" * 500))

    assert long == (Access("read", "/a.py", (100, 2_099)),)
    assert short == (Access("read", "/a.py", (100, LAST_LINE)),)


@pytest.mark.parametrize(("lines", "shown"), [(1_999, None), (2_000, (1, 2_000))])
def test_an_answer_of_as_many_lines_as_the_tool_reads_may_lack_the_rest(
    lines: int, shown: Range | None
) -> None:
    text = "\n".join(["x"] * lines)

    assert Touches().of(*pair("Read", {"file_path": "/a.py"}, text)) == (Access("read", "/a.py", shown),)


def test_asking_twice_for_one_answer_gives_the_same() -> None:
    touches = Touches()
    asked, answer = pair("Read", {"file_path": "/a.py"})

    assert touches.of(asked, answer) is touches.of(asked, answer)
