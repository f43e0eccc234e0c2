"""Check what tool calls touch, across the tools of the harnesses that are read (SPEC 5.2)."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.access import LAST_LINE, Access, Range, contains, overlaps, path_of
from ctxheap.heap.resources import accesses

WINDOW = (1, 100)


def read(path: str, lines: Range | None = None, *, opens: bool = False) -> Access:
    return Access("read", path, lines, opens=opens)


def write(path: str, lines: Range | None = None, before: str = "", after: str = "") -> Access:
    return Access("write", path, lines, before=before, after=after)


def shell(command: str) -> tuple[Access, ...]:
    return accesses("Bash", json.dumps({"command": command}))


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("Read", {"file_path": "/a/b.py"}, [read("/a/b.py")]),
        ("Read", {"file_path": "/a/b.py", "offset": 10, "limit": 5}, [read("/a/b.py", (10, 14))]),
        ("Read", {"file_path": "/a/b.py", "limit": 5}, [read("/a/b.py", (1, 5))]),
        ("read_file", {"path": "a/../b.py", "start_line": 3, "end_line": 9}, [read("b.py", (3, 9))]),
        ("read_many_files", {"paths": ["a.py", "./b.py"]}, [read("a.py"), read("b.py")]),
        ("mcp__fs__read_text_file", {"path": "/a/b.py"}, [read("/a/b.py")]),
        (
            "Edit",
            {"file_path": "/a/b.py", "old_string": "x\nlonger = 1", "new_string": "y = 2"},
            [write("/a/b.py", before="longer = 1", after="y = 2")],
        ),
        (
            "MultiEdit",
            {"file_path": "/a", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c"}]},
            [write("/a", before="a", after="b"), write("/a", before="c")],
        ),
        ("Write", {"file_path": "/a/b.py", "content": "x"}, [write("/a/b.py")]),
        ("NotebookEdit", {"notebook_path": "/a/n.ipynb", "new_source": "x"}, [write("/a/n.ipynb")]),
        ("create_file", {"filename": "/a/b.py", "content": "x"}, [write("/a/b.py")]),
        ("str_replace_editor", {"command": "view", "path": "/a.py"}, [read("/a.py")]),
        (
            "str_replace_editor",
            {"command": "view", "path": "/a.py", "view_range": [10, 20]},
            [read("/a.py", (10, 20))],
        ),
        (
            "str_replace_editor",
            {"command": "view", "path": "/a.py", "view_range": [10, -1]},
            [read("/a.py", (10, LAST_LINE))],
        ),
        (
            "str_replace_editor",
            {"command": "str_replace", "path": "/a.py", "old_str": "o", "new_str": "n"},
            [write("/a.py", before="o", after="n")],
        ),
        (
            "str_replace_editor",
            {"command": "insert", "path": "/a.py", "insert_line": 4, "new_str": "n"},
            [write("/a.py", (4, 5), after="n")],
        ),
        ("str_replace_editor", {"command": "undo_edit", "path": "/a.py"}, [write("/a.py")]),
        ("str_replace_editor", {"command": "create", "path": "/a.py", "file_text": "x"}, [write("/a.py")]),
        ("open", {"path": "a.py", "line_number": 50}, [read("a.py", (34, 133), opens=True)]),
        ("goto", {"line_number": 50}, [read("", (34, 133))]),
        ("edit", {"search": "o", "replace": "n"}, [write("", before="o", after="n")]),
        ("TodoWrite", {"todos": []}, [write("plan")]),
        ("task_tracker", {"command": "view"}, [read("plan")]),
        ("BashOutput", {"bash_id": "1"}, []),
        ("scroll_down", {}, []),
        ("shell", {"command": ["bash", "-lc", "cat a.py"]}, [read("a.py")]),
        ("open", {"command": "open a.py 50"}, [read("a.py", (34, 133), opens=True)]),
        ("run", {"command": "cat a.py", "timeout": 5}, [read("a.py")]),
        ("get_user", {"b": 1, "a": 2}, [Access("read", "get_user", detail='{"a":2,"b":1}')]),
        ("search_flight", {"from": "JFK"}, [Access("read", "search_flight", detail='{"from":"JFK"}')]),
    ],
)
def test_tools_are_known_by_name_and_arguments(
    tool: str, arguments: dict[str, object], expected: list[Access]
) -> None:
    assert list(accesses(tool, json.dumps(arguments))) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.py", [read("a.py")]),
        ("cat -n 'a b.py' c.py", [read("a b.py"), read("c.py")]),
        ("cd /x && cat a.py", [read("/x/a.py")]),
        ("cd /x; cd y; cat ../a.py", [read("/x/a.py")]),
        ("head -n 20 a.py", [read("a.py", (1, 20))]),
        ("head a.py", [read("a.py", (1, 10))]),
        ("head -5 a.py", [read("a.py", (1, 5))]),
        ("tail -n 20 a.py", [read("a.py", (-20, -1))]),
        ("tail -n +20 a.py", [read("a.py", (20, LAST_LINE))]),
        ("sed -n '10,20p' a.py", [read("a.py", (10, 20))]),
        ("sed -n 10p a.py", [read("a.py", (10, 10))]),
        ("sed -n '10,$p' a.py", [read("a.py", (10, LAST_LINE))]),
        ("sed -n '1,2p;8,9p' a.py", [read("a.py", (1, 2)), read("a.py", (8, 9))]),
        ("awk 'NR>=3 && NR<=9' a.py", [read("a.py", (3, 9))]),
        ("nl -ba a.py | sed -n '5,9p'", [read("a.py", (5, 9))]),
        ("cat a.py | head -50", [read("a.py", (1, 50))]),
        ("sed -n '10,90p' a.py | head -5", [read("a.py", (10, 14))]),
        ("cat a.py 2>/dev/null || true", [read("a.py")]),
        ("FOO=1 timeout 60 cat a.py", [read("a.py")]),
        ("sudo bash -c 'cat /etc/hosts'", [read("/etc/hosts")]),
        ("grep -n foo a.py", [Access("search", "a.py", detail="grep -n foo")]),
        ("grep -rn -A 3 foo src/", [Access("search", "src", detail="grep -rn -A 3 foo")]),
        ("cat a.py | grep foo", [Access("search", "a.py", detail=" | grep foo")]),
        ("ls -la /x", [Access("list", "/x", detail="ls -la")]),
        ("find . -name '*.py'", [Access("list", ".", detail="find -name *.py")]),
        ("echo hi > n.md", [write("n.md")]),
        ("echo hi >> n.md", [write("n.md", (LAST_LINE, LAST_LINE))]),
        ("cat a.py > b.py", [write("b.py")]),
        ("(cd x; cat a.py); cat b.py", [read("x/a.py"), read("b.py")]),
        ("cd x && cat a.py & cat b.py", [read("x/a.py"), read("b.py")]),
        ("(cat a.py) | head -3", [read("a.py", (1, 3))]),
        ("{ cat a.py; cat b.py; } > c.py", [write("c.py")]),
        ("wc -l a.py", [Access("search", "a.py", detail="facts wc -l a.py")]),
        ("cat a.py | wc -l", [Access("search", "a.py", detail="facts  | wc -l")]),
        ("cat a.py | tee b.py", [read("a.py"), write("b.py")]),
        ("cat > a.py <<'EOF'\nprint(1) > 2; cat b.py\nEOF", [write("a.py")]),
        ("cat <<EOF > a.py\nx\nEOF\ncat a.py", [write("a.py"), read("a.py")]),
        ("sed -i s/x/y/ a.py", [write("a.py")]),
        ("sed -i '5,7d' a.py", [write("a.py", (5, 7))]),
        ("rm -rf build", [write("build")]),
        ("mv a.py b.py", [write("a.py"), write("b.py"), write("b.py/a.py")]),
        ("cp a.py b.py", [write("b.py"), write("b.py/a.py")]),
        ("pytest > log.txt 2>&1", [write("log.txt")]),
        ("apply_patch <<'X'\n*** Update File: a.py\n-old\n+new\nX", [write("a.py", None, "old", "new")]),
    ],
)
def test_shell_commands_show_and_change_files(command: str, expected: list[Access]) -> None:
    assert list(shell(command)) == expected


@pytest.mark.parametrize(
    ("command", "others"),
    [
        ("pytest -x", []),
        ("git diff a.py", []),
        ("python -c 'open(\"a\").read()'", []),
        ("for f in *.py; do cat $f; done", []),
        ("cat src/*.py", []),
        ("cat $(git ls-files)", []),
        ("cat a.py; make", [read("a.py")]),
        ("make > log; cat a.py && ./run", [write("log"), read("a.py")]),
        ("git checkout -- src/a.py", [write("src/a.py")]),
        ("git checkout HEAD~1 src/a.py", [write("src/a.py")]),
        ("git restore a.py", [write("a.py")]),
        ("git -C /x restore a.py", [write("/x/a.py")]),
        ("git stash", [write("*")]),
        ("git stash list", []),
        ("git stash && make; git stash pop", []),
        ("git reset --hard", [write("*")]),
        ("git checkout .", [write("*")]),
        ("git restore --staged a.py", []),
        ("find . -name x -delete", []),
        ("tail -f log", []),
        ("cat a.py | python x.py", []),
        ("cat a.py | while read l; do echo $l; done", []),
        ("cat a.py | (head -3)", []),
        ("for i in 1 2; do cat a.py; done | head -3", []),
        ("x=$(cat a.py); echo $x", []),
        ("diff <(cat a.py) <(cat b.py)", []),
        ("cat a.py || cat b.py", [read("a.py")]),
        ("case $x in a) cat a.py;; esac; cat b.py", [read("b.py")]),
        ("cd $DIR && cat a.py", []),
        ("cd -; cat a.py /b.py", [read("/b.py")]),
        ("if x; then cd y; fi; cat a.py", []),
    ],
)
def test_commands_that_show_more_than_files_also_stand_for_themselves(
    command: str, others: list[Access]
) -> None:
    assert list(shell(command)) == [Access("read", "Bash", detail=command), *others]


@pytest.mark.parametrize(
    ("tool", "text", "expected"),
    [
        ("bash", "cat a.py", [read("a.py")]),
        ("bash", '"cat a.py"', [read("a.py")]),
        ("open", "a.py", [read("a.py", WINDOW, opens=True)]),
        ("open", "open a.py 50", [read("a.py", (34, 133), opens=True)]),
        ("edit", "3:7\nabc\nend_of_edit", [write("", (3, 7), after="abc")]),
        ("edit", "edit 3:7\nabc\nend_of_edit", [write("", (3, 7), after="abc")]),
        ("create", "a.py", [Access("write", "a.py", opens=True)]),
        ("search_dir", "foo src", [Access("search", "src", detail="search foo")]),
        ("submit", "all done", [Access("read", "submit", detail="all done")]),
    ],
)
def test_plain_text_actions_are_read_like_commands(tool: str, text: str, expected: list[Access]) -> None:
    assert list(accesses(tool, text)) == expected


@pytest.mark.parametrize(("first", "second"), [('{"a":1,"b":[2]}', '{ "b": [2], "a": 1 }'), ("x ", "x")])
def test_equal_arguments_are_equal_in_any_spelling(first: str, second: str) -> None:
    assert accesses("get_user", first) == accesses("get_user", second)


def test_long_arguments_are_named_by_their_hash() -> None:
    (access,) = accesses("submit_report", json.dumps({"text": "x" * 5_000}))

    assert len(access.detail) == 64


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("./a//b/../c.py", "a/c.py"),
        ("//a/b", "/a/b"),
        ("file:///a/b", "/a/b"),
        (" /a/b/ ", "/a/b"),
        ("C:\\a\\b.py", "C:/a/b.py"),
        ("https://x.org/a/../b", "https://x.org/a/../b"),
    ],
)
def test_a_path_has_one_spelling(text: str, path: str) -> None:
    assert path_of(text) == path


@given(
    tool=st.sampled_from(["Bash", "Read", "edit", "open", "apply_patch", "x", "TodoWrite"]), text=st.text()
)
def test_no_text_makes_it_raise(tool: str, text: str) -> None:
    assert all(isinstance(access, Access) for access in accesses(tool, text))
    assert all(
        isinstance(access, Access) for access in accesses(tool, json.dumps({"command": text, "path": text}))
    )


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)
known_keys = st.sampled_from(
    [
        "command",
        "path",
        "file_path",
        "edits",
        "view_range",
        "offset",
        "limit",
        "insert_line",
        "old_str",
        "paths",
        "start_line",
        "end_line",
    ]
)


@given(
    tool=st.sampled_from(
        ["Bash", "Read", "Edit", "str_replace_editor", "goto", "read_files", "task_tracker"]
    ),
    arguments=st.dictionaries(known_keys, values, max_size=5) | values,
)
def test_no_arguments_make_it_raise(tool: str, arguments: object) -> None:
    assert all(isinstance(access, Access) for access in accesses(tool, json.dumps(arguments)))


words = st.sampled_from(
    [
        *("cat", "head", "-n", "sed", "grep", "a.py", "|", ">", ">>", "<<EOF", "\n", "EOF"),
        *("'", '"', "\\", "$(", ")", "&&", ";", "cd", "git", "-"),
    ]
)


@given(command=st.lists(words, max_size=25).map(" ".join))
def test_no_command_line_makes_it_raise(command: str) -> None:
    assert all(isinstance(access, Access) for access in shell(command))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "'" * 100_001, '"\\' * 50_000, "<<A\n" * 20_000]
)
def test_hostile_text_costs_no_more_than_its_length(text: str) -> None:
    start = time.process_time()
    accesses("Bash", text)
    accesses("get_user", text)

    assert time.process_time() - start < 2


@given(
    outer=st.tuples(st.integers(1, 30), st.integers(1, 30)).map(sorted),
    inner=st.tuples(st.integers(1, 30), st.integers(1, 30)).map(sorted),
)
def test_ranges_relate_as_sets_of_lines(outer: list[int], inner: list[int]) -> None:
    lines = [set(range(first, last + 1)) for first, last in (outer, inner)]

    assert contains((outer[0], outer[1]), (inner[0], inner[1])) == (lines[1] <= lines[0])
    assert overlaps((outer[0], outer[1]), (inner[0], inner[1])) == bool(lines[1] & lines[0])


def test_only_the_whole_surely_holds_the_whole_and_every_range() -> None:
    assert contains(None, None)
    assert contains(None, (5, 9))
    assert contains(None, (-5, -1))
    assert not contains((1, 9), None)
    assert contains((-9, -1), (-5, -1))
    assert not contains((1, 9), (-5, -1))


def test_an_append_touches_the_end_only() -> None:
    append = (LAST_LINE, LAST_LINE)

    assert overlaps(append, None)
    assert overlaps(append, (-5, -1))
    assert overlaps(append, (7, LAST_LINE))
    assert not overlaps(append, (7, 900))
