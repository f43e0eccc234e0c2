"""Check from when on what a sub-agent changed is out of date for the session that started it (SPEC 5.2)."""

from __future__ import annotations

from ctxheap.heap.model import Exchange, Part
from ctxheap_collector.report.build import heaps_of


def said(text: str) -> Part:
    return Part("user", "text", "user_turn", text)


def tool(name: str, arguments: str, result: str, call_id: str) -> tuple[Part, Part]:
    return (
        Part("assistant", "tool_call", f"tool_call:{name}", arguments, name, call_id),
        Part("tool", "tool_result", f"tool_result:{name}", result, name, call_id),
    )


READ = tool("Read", '{"file_path": "/w/a.py"}', "1\timport os\n2\tprint(os.name)\n", "r")
REREAD = tool("Read", '{"file_path": "/w/a.py"}', "1\tpass\n", "r2")
LAUNCH = tool("Task", '{"prompt": "clean a.py up"}', "launched", "t")
WRITE = tool("Write", '{"file_path": "/w/a.py", "content": "pass"}', "File created", "w")
OTHER = tool("Bash", '{"command": "date"}', "today", "d")
TIDY, CLEAN = said("tidy up"), said("clean a.py up")


def of_parent(time: int, *prompt: Part) -> Exchange:
    return Exchange(f"a{time}", (TIDY, *prompt), (), session="a", started_ns=time)


def of_child(time: int, *prompt: Part) -> Exchange:
    return Exchange(f"b{time}", (CLEAN, *prompt), (), session="b", parent="a", started_ns=time)


def dead_of_parent(calls: list[Exchange]) -> set[tuple[str, str, int]]:
    """Return what is dead in the first session, with the name of what killed it and the call."""
    heap = next(heaps_of(calls))
    return {
        (heap.objects[event.number].name, heap.objects[event.by].name, event.call)
        for event in heap.superseded
    }


def test_a_file_read_after_a_sub_agent_changed_it_stays() -> None:
    calls = [of_parent(1), of_parent(2, *LAUNCH), of_child(3), of_child(4, *WRITE)]

    assert dead_of_parent([*calls, of_parent(5, *LAUNCH, *READ)]) == set()


def test_a_file_that_may_have_been_read_after_the_change_stays() -> None:
    calls = [of_parent(1), of_child(2), of_parent(3, *READ), of_child(4, *WRITE)]

    assert dead_of_parent([*calls, of_parent(5, *READ, *OTHER)]) == set()


def test_a_change_is_handed_over_once() -> None:
    first = [of_parent(1, *READ), of_child(2), of_child(3, *WRITE), of_parent(4, *READ, *LAUNCH)]
    again = [of_parent(5, *READ, *LAUNCH, *REREAD), of_child(6, *WRITE, said("well?"))]

    found = dead_of_parent([*first, *again, of_parent(7, *READ, *LAUNCH, *REREAD, *OTHER)])

    assert found == {("Read /w/a.py", 'Task {"prompt": "clean a.py up"}', 2)}


def test_what_a_sub_agent_changed_is_out_of_date_because_of_its_report() -> None:
    calls = [of_parent(1, *READ), of_child(2), of_child(3, *WRITE)]

    found = dead_of_parent([*calls, of_parent(4, *READ, *OTHER, *LAUNCH)])

    assert found == {("Read /w/a.py", 'Task {"prompt": "clean a.py up"}', 2)}


def test_a_change_without_a_report_is_handed_over_with_the_next_that_comes() -> None:
    calls = [of_parent(1, *READ), of_child(2), of_child(3, *WRITE), of_parent(4, *READ)]

    found = dead_of_parent([*calls, of_parent(5, *READ, said("the agent is done"))])

    assert found == {("Read /w/a.py", 'user_turn "the agent is done"', 3)}


def test_what_a_fork_shares_with_its_past_is_no_change() -> None:
    calls = [of_parent(1, *READ), of_child(2, *WRITE), of_child(3, *WRITE, *OTHER)]

    assert dead_of_parent([*calls, of_parent(4, *READ, *LAUNCH)]) == set()
