"""Check what puts an object out of date, and what does not (SPEC 5.2)."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.model import Part, Role
from ctxheap.heap.supersession import Ledger, Superseded

LINES = [f"line number {n} of the file" for n in range(1, 101)]


def listing(first: int, last: int) -> str:
    return "\n".join(f"{n:6}\t{LINES[n - 1]}" for n in range(first, last + 1))


WHOLE = listing(1, 100)
Numbered = tuple[int, str]


class Session:
    """Feed a ledger one call a step: object 2k is the tool call, 2k + 1 its result."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.steps = 0

    def do(
        self, tool: str, arguments: dict[str, object], text: str, *, error: bool = False
    ) -> list[Superseded]:
        self.steps += 1
        call, name = self.steps * 2, f"c{self.steps}"
        request = Part("assistant", "tool_call", f"tool_call:{tool}", json.dumps(arguments), tool, name)
        answer = Part("tool", "tool_result", f"tool_result:{tool}", text, tool, name, error=error)
        first = self.ledger.add(call, request, call=self.steps)
        second = self.ledger.add(call + 1, answer, request, call=self.steps, request_number=call)
        return first + second

    def bash(self, command: str, text: str = "") -> list[Superseded]:
        return self.do("Bash", {"command": command}, text)

    def read(self, path: str, text: str = WHOLE, **lines: object) -> list[Superseded]:
        return self.do("Read", {"file_path": path, **lines}, text)

    def edit(self, path: str, line: int, text: str = "The file was updated.") -> list[Superseded]:
        new = f"{LINES[line - 1]}, changed"
        return self.do("Edit", {"file_path": path, "old_string": LINES[line - 1], "new_string": new}, text)


def what(events: list[Superseded]) -> set[Numbered]:
    return {(event.number, event.reason) for event in events}


def pair(step: int, reason: str) -> set[Numbered]:
    return {(step * 2, reason), (step * 2 + 1, reason)}


def test_an_edit_invalidates_the_read_from_the_call_that_got_its_result() -> None:
    ledger = Ledger()
    read = Part("assistant", "tool_call", "tool_call:read", '{"path": "cfg.py"}', "read", "r")
    edit = Part("assistant", "tool_call", "tool_call:edit", '{"path": "cfg.py", "old_str": "a"}', "edit", "e")
    text = Part("tool", "tool_result", "tool_result:read", "a = 1\nb = 2", "read", "r")
    done = Part("tool", "tool_result", "tool_result:edit", "ok", "edit", "e")
    ledger.add(1, text, read, call=2)

    events = ledger.add(5, done, edit, call=5)

    assert events == [Superseded(1, by=5, reason="invalidated", call=5)]


def test_a_repeated_read_supersedes_the_earlier_one_and_its_call() -> None:
    session = Session()
    session.read("/a.py")

    assert what(session.read("/a.py")) == {(3, "duplicate"), (2, "superseded")}


def test_a_wider_read_supersedes_a_narrower_one() -> None:
    session = Session()
    session.read("/a.py", listing(10, 20), offset=10, limit=11)

    assert what(session.bash("cat /a.py", WHOLE)) == pair(1, "superseded")


def test_a_narrower_read_supersedes_nothing() -> None:
    session = Session()
    session.read("/a.py")

    assert session.read("/a.py", listing(10, 20), offset=10, limit=11) == []


def test_overlapping_reads_leave_each_other_alone() -> None:
    session = Session()
    session.bash("sed -n 1,20p a.py", listing(1, 20))

    assert session.bash("sed -n 10,30p a.py", listing(10, 30)) == []


def test_the_same_call_again_supersedes_whatever_it_shows() -> None:
    session = Session()
    session.bash("pytest -x", "1 failed")

    assert what(session.bash("pytest -x", "2 passed")) == pair(1, "superseded")


def test_a_whole_read_supersedes_what_was_grepped_from_the_file() -> None:
    session = Session()
    session.bash("grep -n 'number 7' a.py", "7:" + LINES[6])

    assert what(session.bash("cat a.py", WHOLE)) == pair(1, "superseded")


def test_a_read_of_some_lines_supersedes_no_search() -> None:
    session = Session()
    session.bash("grep -n 'number 7' a.py", "7:" + LINES[6])

    assert session.bash("head -20 a.py", listing(1, 20)) == []


def test_a_grep_supersedes_only_the_same_grep() -> None:
    session = Session()
    session.bash("cat a.py", WHOLE)
    session.bash("grep -n x a.py", "1:x")

    assert session.bash("grep -n y a.py", "2:y") == []
    assert what(session.bash("grep -n x a.py", "1:x")) == pair(2, "superseded")


def test_a_result_of_two_files_lives_until_both_were_shown_again() -> None:
    session = Session()
    session.bash("cat a.py b.py", "aaa\nbbb")

    assert session.bash("cat a.py", "aaa") == []
    assert what(session.bash("cat b.py", "bbb")) == pair(1, "superseded")


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("head -20 b.py", "cat a.py b.py | head -20"),
        ("tail -20 a.py", "cat a.py b.py | tail -20"),
        ("head -20 b.py", "(cat a.py; cat b.py) | head -20"),
        ("cat a.py c.py | head -20", "cat c.py a.py | head -20"),
        ("sed -n 5,24p b.py", "sed -n 5,24p a.py b.py"),
        ("awk 'NR>=5 && NR<=24' b.py", "awk 'NR>=5 && NR<=24' a.py b.py"),
        ("sed -n 12,14p a.py", "sed -n '1,5p;10,20p' a.py | head -5"),
        ("cat a/b.py", "(cd a; ls); cat b.py"),
        ("cat a/b.py", "cd a && make & cat b.py"),
        ("cat b.py", "cat a.py || cat b.py"),
        ("cat b.py", "x=$(cat b.py); echo $x"),
        ("cat b.py", "cat b.py | python count.py"),
    ],
)
def test_lines_that_may_be_of_another_file_supersede_nothing(first: str, later: str) -> None:
    session = Session()
    session.bash(first, listing(1, 20))

    assert session.bash(later, listing(31, 60)) == []


@pytest.mark.parametrize(
    "command", ["md5sum a.py", "stat a.py", "wc -l a.py", "cat a.py | wc -l", "grep -c x a.py", "jq .x a.py"]
)
def test_what_the_text_of_a_file_does_not_say_outlives_a_read_of_it(command: str) -> None:
    session = Session()
    session.bash(command, "100 a.py")

    assert session.bash("cat a.py", WHOLE) == []


def test_a_checksum_is_not_repeated_by_another_fact() -> None:
    session = Session()
    session.bash("md5sum a.py", "0123 a.py")

    assert session.bash("stat a.py", "Size: 100") == []
    assert what(session.bash("md5sum a.py", "4567 a.py")) == pair(1, "superseded")


def test_output_beside_the_file_keeps_a_result_alive() -> None:
    session = Session()
    session.bash("cat a.py; make", "aaa\nmake: done")

    assert session.bash("cat a.py", "aaa\nbbb\nccc") == []


@pytest.mark.parametrize(
    "answer",
    [
        "Error: file is locked",
        "File unchanged since last read; see the earlier result.",
        "short",
        WHOLE + "\n[output truncated]",
        "[Old tool result content cleared]",
        "<tool_use_error>InputValidationError</tool_use_error>",
        "cat: /a.py: No such file or directory",
        "OBSERVATION:\nbash: cat: command not found\n",
        "<returncode>1</returncode>\n<output>\n" + WHOLE,
    ],
)
def test_an_answer_that_does_not_show_the_text_supersedes_nothing(answer: str) -> None:
    session = Session()
    session.bash("cat /a.py | head -90", listing(1, 90))

    assert session.bash("cat /a.py", answer) == []


@pytest.mark.parametrize("tag", ["receipt", "tool_result:edit"])
def test_an_answer_written_anew_is_not_a_second_call(tag: str) -> None:
    ledger = Ledger()
    edit = Part("assistant", "tool_call", "tool_call:edit", '{"path": "a.py", "old_str": "x"}', "edit", "e")
    read = Part("assistant", "tool_call", "tool_call:read", '{"path": "a.py"}', "read", "r")
    ledger.add(
        1,
        Part("tool", "tool_result", "tool_result:edit", "edited", "edit", "e"),
        edit,
        call=2,
        request_number=0,
    )
    ledger.add(
        3,
        Part("tool", "tool_result", "tool_result:read", "text", "read", "r"),
        read,
        call=3,
        request_number=2,
    )

    stub = Part("tool", "tool_result", tag, "(cut)", "edit", "e")

    assert ledger.add(4, stub, edit, call=9, request_number=0) == []


@pytest.mark.parametrize("command", ["cat a.py", "pytest"])
def test_an_answer_that_only_points_back_supersedes_nothing_however_short_that_was(command: str) -> None:
    session = Session()
    session.bash(command, "x = 1")

    assert session.bash(command, "unchanged since the last time") == []


def test_a_stub_seen_first_puts_nothing_out_of_date() -> None:
    ledger = Ledger()
    read = Part("assistant", "tool_call", "tool_call:read", '{"path": "a.py"}', "read", "r")
    edit = Part("assistant", "tool_call", "tool_call:edit", '{"path": "a.py", "old_str": "x"}', "edit", "e")
    text = Part("tool", "tool_result", "tool_result:read", "x = 1", "read", "r")
    ledger.add(1, text, read, call=2, request_number=0)

    assert ledger.add(3, Part("tool", "tool_result", "receipt", "(cut)", "edit", "e"), edit, call=3) == []


def test_a_failed_read_is_superseded_by_the_one_that_works() -> None:
    session = Session()
    session.do("Read", {"file_path": "/a.py"}, "locked", error=True)

    assert what(session.read("/a.py")) == pair(1, "superseded")


def test_a_failed_edit_invalidates_nothing() -> None:
    session = Session()
    session.read("/a.py")

    assert session.edit("/a.py", 7, "Error: string to replace not found") == []


def test_a_write_invalidates_only_the_lines_that_it_touches() -> None:
    session = Session()
    session.bash("sed -n 1,20p a.py", listing(1, 20))
    session.bash("sed -n 40,60p a.py", listing(40, 60))

    assert what(session.edit("a.py", 50)) == pair(2, "invalidated")
    assert what(session.bash("sed -i '5,7d' a.py")) >= pair(1, "invalidated")


@pytest.mark.parametrize(
    "command", ["git checkout -- a.py", "echo x > a.py", "rm a.py", "sed -i s/a/b/ a.py"]
)
def test_a_restore_or_unranged_write_invalidates_all(command: str) -> None:
    session = Session()
    session.bash("sed -n 1,20p a.py", listing(1, 20))
    session.bash("cat a.py", WHOLE)

    assert what(session.bash(command)) == pair(2, "invalidated")


def test_a_stash_invalidates_what_the_session_changed_and_nothing_else() -> None:
    session = Session()
    session.edit("/a.py", 3)
    session.read("/a.py", "a" + WHOLE)
    session.read("/b.py", "b" + WHOLE)

    assert what(session.bash("git stash", "Saved")) == {*pair(2, "invalidated"), (3, "echo_done")}


def test_removing_a_folder_invalidates_the_reads_of_its_files() -> None:
    session = Session()
    session.read("/x/a.py", "a" + WHOLE)
    session.read("/xy/b.py", "b" + WHOLE)

    assert what(session.bash("rm -r /x")) == pair(1, "invalidated")


def test_an_append_leaves_the_beginning_alone() -> None:
    session = Session()
    session.bash("head -20 a.py", listing(1, 20))
    session.bash("tail -20 a.py", listing(81, 100))

    assert what(session.bash("echo more >> a.py")) == pair(2, "invalidated")


def test_a_relative_path_with_a_folder_means_the_file_read_by_its_full_path() -> None:
    session = Session()
    session.read("/repo/src/a.py")

    assert what(session.bash("sed -i s/a/b/ src/a.py")) == pair(1, "invalidated")


def test_a_bare_file_name_could_mean_any_file() -> None:
    session = Session()
    session.read("/repo/src/a.py")

    assert session.bash("sed -i s/a/b/ a.py") == []


def test_the_arguments_of_an_edit_are_done_when_the_place_is_read_again() -> None:
    session = Session()
    session.edit("/a.py", 50)

    assert session.read("/a.py", listing(1, 20), offset=1, limit=20) == []
    assert what(session.read("/a.py", WHOLE.replace(LINES[49], LINES[49] + ", changed"))) == {
        (2, "edit_done"),
        *pair(2, "superseded"),
    }


def test_arguments_and_echo_of_an_edit_are_done_when_the_place_is_edited_again() -> None:
    session = Session()
    session.edit("/a.py", 50, "Updated, now:\n" + listing(48, 52))

    assert session.edit("/a.py", 10, "Updated, now:\n" + listing(8, 12)) == []
    assert what(session.edit("/a.py", 50)) == {(2, "edit_done"), (3, "echo_done")}


def test_an_echo_that_only_confirms_is_done_at_the_next_edit_of_the_file() -> None:
    session = Session()
    session.edit("/a.py", 50)

    assert what(session.edit("/a.py", 10)) == {(3, "echo_done")}


def test_a_small_edit_leaves_the_text_of_a_new_file_alone() -> None:
    session = Session()
    session.do("Write", {"file_path": "/a.py", "content": "\n".join(LINES)}, "File created")

    assert what(session.edit("/a.py", 10)) == {(3, "echo_done")}
    assert (2, "edit_done") in what(session.read("/a.py"))


def test_an_edit_leaves_lines_alone_that_only_look_like_its_own() -> None:
    session = Session()
    session.read("/a.py", "     1\tif not a:\n     2\t    return None", offset=1, limit=2)
    session.read("/a.py", "   500\tx = 1\n   501\treturn None", offset=500, limit=2)
    old = {"old_string": "x = 1\nreturn None", "new_string": "x = 2\nreturn x"}

    events = session.do("Edit", {"file_path": "/a.py", **old}, "   500\tx = 2\n   501\treturn x")

    assert what(events) == pair(2, "invalidated")


def test_an_edit_outlives_a_read_of_lines_that_only_look_like_its_own() -> None:
    session = Session()
    new = {"old_string": "x = 1", "new_string": "x = 2\nreturn the_same_thing_as_always"}
    session.do("Edit", {"file_path": "/a.py", **new}, "   500\tx = 2\n   501\treturn the_same_thing")

    here = session.read("/a.py", "     1\tx = 2\n     2\treturn the_same_thing_as_always", offset=1, limit=2)

    assert here == []


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"command": "npm run dev", "run_in_background": True}, "Command running in background with ID: b1"),
        ({"command": "npm run dev", "run_in_background": True}, "ok"),
        ({"command": "npm run dev &"}, "ok"),
        ({"command": "npm run dev"}, "Serving on http://localhost:3000"),
        ({"command": "tmux new -d 'make'"}, "[1] 4711"),
        ({"command": "make start"}, '{"session_id": 7}'),
    ],
)
def test_what_was_started_goes_on_when_it_is_started_again(arguments: dict[str, object], answer: str) -> None:
    session = Session()
    session.do("Bash", arguments, answer)

    assert session.do("Bash", arguments, f"{answer}, again") == []


def test_a_shell_that_went_elsewhere_shows_other_files() -> None:
    session = Session()
    session.bash("cat setup.cfg", listing(1, 50))
    session.bash("make", "made")
    session.bash("cd packages/sub")

    assert session.bash("cat setup.cfg", listing(51, 100)) == []
    assert session.bash("make", "made again") == []
    assert what(session.bash("cat setup.cfg", listing(51, 99))) == pair(4, "superseded")
    assert what(session.bash("sed -i s/a/b/ setup.cfg")) == pair(6, "invalidated")


@pytest.mark.parametrize("command", ["cd /repo && pytest", "cd /repo && cat a.py"])
def test_a_command_that_says_where_it_runs_is_repeated_wherever_the_shell_is(command: str) -> None:
    session = Session()
    session.bash(command, "1 failed")

    assert what(session.bash(command, "2 passed")) == pair(1, "superseded")


@pytest.mark.parametrize("answer", ["bash: cd: sub: No such file or directory", "Shell cwd was reset to /w"])
def test_a_shell_that_stayed_where_it_was_shows_the_same_files(answer: str) -> None:
    session = Session()
    session.bash("cat setup.cfg", listing(1, 50))
    session.bash("cd sub", answer)

    assert what(session.bash("cat setup.cfg", listing(1, 51))) == pair(1, "superseded")


def test_a_shell_that_is_nobody_knows_where_shows_nothing_known() -> None:
    session = Session()
    session.bash("cd $A")
    session.bash("cat setup.cfg", listing(1, 50))
    session.bash("cd $A")

    assert session.bash("cat setup.cfg", listing(1, 51)) == []


def test_a_file_is_the_same_wherever_the_shell_is_if_its_path_fits_both_places() -> None:
    session = Session()
    session.read("/repo/src/a.py")
    session.bash("cd /repo")

    assert what(session.bash("sed -i s/a/b/ src/a.py")) == pair(1, "invalidated")


def test_a_plan_is_replaced_by_the_next_one() -> None:
    session = Session()
    session.do("TodoWrite", {"todos": [1]}, "ok")
    session.do("Read", {"file_path": "/a.py"}, WHOLE)

    assert what(session.do("TodoWrite", {"todos": [2]}, "ok")) == pair(1, "plan_replaced")


def test_scrolling_and_polling_supersede_nothing() -> None:
    session = Session()
    session.do("scroll_down", {}, "lines")
    session.do("BashOutput", {"bash_id": "1"}, "lines")

    assert session.do("scroll_down", {}, "lines") == []
    assert session.do("BashOutput", {"bash_id": "1"}, "lines") == []


def test_an_edit_without_a_path_works_on_the_file_that_is_open() -> None:
    session = Session()
    session.do("open", {"path": "a.py"}, listing(1, 100))
    session.do("open", {"path": "b.py"}, listing(1, 99))

    assert what(session.do("edit", {"search": LINES[4], "replace": "x"}, "done")) == pair(2, "invalidated")


def test_what_a_sub_agent_changed_is_out_of_date_when_it_reports() -> None:
    parent, child = Session(), Session()
    parent.read("/a.py")
    parent.read("/b.py", "b" + WHOLE)
    child.edit("/a.py", 3)

    parent.read("/a.py", "later " + WHOLE, offset=1, limit=9)
    changed = dict.fromkeys(child.ledger.take_written(), 6)
    events = parent.ledger.handed_over(changed, by=9, call=5)

    assert set(events) == {Superseded(n, by=9, reason="handed_over", call=5) for n in (2, 3)}
    assert child.ledger.take_written() == frozenset()


def test_equal_texts_of_different_tools_are_duplicates() -> None:
    session = Session()
    session.do("search", {"query": "x"}, "the very same words, longer than forty characters")

    events = session.do("fetch", {"id": 1}, "the very same words, longer than forty characters")

    assert what(events) == {(3, "duplicate")}


def test_short_texts_are_no_duplicates() -> None:
    session = Session()
    session.do("search", {"query": "x"}, "x" * 40)

    assert session.do("fetch", {"id": 1}, "x" * 40) == []


def test_the_shortest_duplicate_is_one() -> None:
    session = Session()
    session.do("search", {"query": "x"}, "x" * 41)

    assert what(session.do("fetch", {"id": 1}, "x" * 41)) == {(3, "duplicate")}


@pytest.mark.parametrize(
    ("role", "tag"), [("user", "user_turn"), ("system", "system_prompt"), ("assistant", "agent_output")]
)
def test_what_people_and_the_model_said_twice_is_no_duplicate(role: Role, tag: str) -> None:
    ledger = Ledger()
    ledger.add(1, Part(role, "text", tag, "x" * 50), call=1)

    assert ledger.add(2, Part(role, "text", tag, "x" * 50), call=2) == []


def test_an_object_that_left_is_not_superseded_any_more() -> None:
    session = Session()
    session.read("/a.py")
    session.ledger.dropped(2)
    session.ledger.dropped(3)

    assert session.read("/a.py") == []


def test_a_duplicate_is_the_one_copy_again_when_the_later_one_leaves() -> None:
    session = Session()
    session.do("search", {"query": "x"}, "y" * 50)
    session.do("fetch", {"id": 1}, "y" * 50)

    assert session.ledger.dropped(5) == (3,)
    assert what(session.do("fetch", {"id": 2}, "y" * 50)) == {(3, "duplicate")}


def test_of_three_copies_the_newest_that_is_left_counts() -> None:
    session = Session()
    for step in range(3):
        session.do("fetch", {"id": step}, "y" * 50)

    assert session.ledger.dropped(5) == ()
    assert session.ledger.dropped(7) == (3,)


def test_of_the_copies_around_one_that_left_the_newest_counts() -> None:
    session = Session()
    for step in range(4):
        session.do("fetch", {"id": step}, "y" * 50)

    assert session.ledger.dropped(5) == ()
    assert session.ledger.dropped(9) == (7,)


def test_a_duplicate_that_was_superseded_stays_dead_when_its_copy_leaves() -> None:
    session = Session()
    session.bash("cat a.py", WHOLE)
    session.do("fetch", {"id": 1}, WHOLE)
    session.bash("cat a.py", WHOLE + "\nmore")

    assert session.ledger.dropped(5) == ()


def test_the_oldest_copy_comes_last() -> None:
    session = Session()
    for step in range(3):
        session.do("fetch", {"id": step}, "y" * 50)

    assert session.ledger.dropped(7) == (5,)
    assert session.ledger.dropped(5) == (3,)
    assert session.ledger.dropped(3) == ()


def test_a_superseded_object_stays_so_when_the_later_one_leaves() -> None:
    session = Session()
    session.bash("pytest", "1 failed")
    session.bash("pytest", "2 passed")

    assert session.ledger.dropped(5) == ()


TEXTS = {"whole": WHOLE, "part": listing(1, 9), "error": "Error: no", "same": "x" * 60, "none": ""}
COMMANDS = (
    *("cat a.py", "cat b.py", "cat a.py b.py", "sed -n 1,9p a.py"),
    *("sed -i 3d a.py", "rm b.py", "git stash", "ls"),
)
steps = st.tuples(st.sampled_from(COMMANDS), st.sampled_from(list(TEXTS)), st.integers(0, 40))


@given(script=st.lists(steps, max_size=30))
def test_an_object_dies_at_most_once_and_only_by_a_later_one(script: list[tuple[str, str, int]]) -> None:
    session = Session()

    events: list[Superseded] = []
    gone: set[int] = set()
    for command, text, leaving in script:
        found = session.bash(command, TEXTS[text])
        assert not gone & {event.number for event in found}
        events.extend(found)
        gone.add(leaving % (2 * session.steps + 2))
        revived = session.ledger.dropped(leaving % (2 * session.steps + 2))
        events = [event for event in events if event.number not in revived]

    numbers = [event.number for event in events]
    assert len(numbers) == len(set(numbers))
    assert all(event.number < event.by for event in events)


def test_a_long_session_costs_the_same_a_step() -> None:
    session = Session()

    start = time.process_time()
    for step in range(500):
        session.bash(f"sed -n {step},{step + 5}p a.py", f"text of step {step}")
        session.edit("b.py", step % 100 + 1)

    assert time.process_time() - start < 3
