"""Check that objects carry names a person would give them."""

from __future__ import annotations

import pytest

from ctxheap.heap.model import Part
from ctxheap.heap.names import MAX_CHARS, name_of


def asked(tool: str, arguments: str) -> Part:
    return Part("assistant", "tool_call", f"tool_call:{tool}", arguments, tool, "c1")


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        (
            asked("read_file", '{"path": "src/a.py", "start_line": 1, "end_line": 80}'),
            "read_file src/a.py#1-80",
        ),
        (asked("Read", '{"file_path": "a.py", "offset": 10, "limit": 5}'), "Read a.py#10-14"),
        (asked("search_orders", '{"since": "2026-01-02"}'), 'search_orders {"since": "2026-01-02"}'),
        (asked("Bash", '{"command": "sed -n 3,9p b.py"}'), "Bash b.py#3-9"),
        (asked("Read", '{"file_path": "a.py", "offset": 290}'), "Read a.py#290-end"),
        (asked("Bash", '{"command": "tail -20 log.txt"}'), "Bash log.txt#last 20"),
        (asked("Bash", '{"command": "echo x >> n.md"}'), "Bash n.md#end"),
        (asked("insert", '{"path": "a.py", "insert_line": 0}'), "insert a.py#start"),
        (asked("insert", '{"path": "a.py", "insert_line": 5}'), "insert a.py#5-6"),
    ],
)
def test_result_is_named_by_what_was_asked_for(request_: Part, name: str) -> None:
    result = Part("tool", "tool_result", f"tool_result:{request_.tool}", "…", request_.tool, "c1")

    assert name_of(result, request_) == name
    assert name_of(request_) == name


def test_text_is_named_by_its_opening_and_never_long() -> None:
    name = name_of(Part("user", "text", "user_turn", "please\nfind  the bug " + "x" * 500))

    assert name.startswith('user_turn "please find the bug xxx')
    assert len(name) <= MAX_CHARS + len('user_turn ""')


def test_hidden_content_says_that_it_is_hidden() -> None:
    assert name_of(Part("system", "hidden", "system_prompt")) == "hidden system prompt and tools"
