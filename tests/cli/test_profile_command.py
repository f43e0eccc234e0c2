"""Check what `ctxheap profile` prints, where, and with which exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cli.worlds import ClosedPipe, FakeProfiler, Terminal, run
from ctxheap_collector.report.contract import FileReport, Options, ProfileError, SkippedRow
from report.samples import profile, session, troubled_session
from report.schema import faults

UNREAD = FileReport(path="notes.md", format="", sessions=0, skipped=(SkippedRow(0, "no transcript"),))
MISSING = FileReport(path="no.md", format="", sessions=0, skipped=(SkippedRow(0, "no.md: not there"),))
NO_EXTRA = 'ctxheap: rich, genai-prices and pyyaml missing; run: pip install "ctxheap[profile]"\n'


def test_report_goes_to_standard_output_and_nothing_else_does(tmp_path: Path) -> None:
    outcome = run("profile", "a.jsonl", profiler=FakeProfiler(profile()), home=tmp_path)

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("session 7f3a9c12")


def test_json_is_one_document_that_keeps_the_contract(tmp_path: Path) -> None:
    outcome = run("profile", "a.jsonl", "--json", profiler=FakeProfiler(profile()), home=tmp_path)

    assert faults(json.loads(outcome.out)) == []
    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.parametrize(
    ("argv", "options"),
    [
        (["--json"], Options(top=10, timeline=False)),
        (["--json", "--timeline"], Options(top=10, timeline=True)),
        ([], Options(top=10, timeline=True)),
        (["--top", "0", "--json"], Options(top=0)),
        (["--session", "7f3a", "--json"], Options(session="7f3a")),
        (["--prices", "mine.json", "--json"], Options(prices="mine.json")),
    ],
)
def test_options_reach_the_profiler(argv: list[str], options: Options, tmp_path: Path) -> None:
    profiler = FakeProfiler(profile())

    run("profile", "a.jsonl", "runs", *argv, profiler=profiler, home=tmp_path)

    assert profiler.asked == [(("a.jsonl", "runs"), options)]


def test_timeline_lists_every_call(tmp_path: Path) -> None:
    plain = run("profile", "a", profiler=FakeProfiler(profile()), home=tmp_path)
    listed = run("profile", "a", "--timeline", profiler=FakeProfiler(profile()), home=tmp_path)

    assert ["\ncalls ─" in outcome.out for outcome in (plain, listed)] == [False, True]


def test_session_shows_that_one_and_what_is_below_it(tmp_path: Path) -> None:
    made = profile(session(), troubled_session(), session(id="other"))

    outcome = run("profile", "a", "--json", "--session", "7f", profiler=FakeProfiler(made), home=tmp_path)

    assert [row["id"] for row in json.loads(outcome.out)["sessions"]] == [made.sessions[0].id, "agent-a17c"]


def test_unknown_session_is_wrong_use(tmp_path: Path) -> None:
    outcome = run("profile", "a", "--session", "zz", profiler=FakeProfiler(profile()), home=tmp_path)

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("ctxheap: there is no session 'zz'; the largest are 7f3a9c12")


def test_missing_extra_says_what_to_install(tmp_path: Path) -> None:
    profiler = FakeProfiler(profile())

    outcome = run("profile", "a", profiler=profiler, home=tmp_path, is_installed=lambda _: False)

    assert (outcome.code, outcome.out, outcome.err) == (2, "", NO_EXTRA)


def test_no_path_suggests_the_sessions_that_are_there(tmp_path: Path) -> None:
    (tmp_path / ".claude" / "projects").mkdir(parents=True)

    outcome = run("profile", profiler=FakeProfiler(profile()), home=tmp_path)

    assert outcome.code == 2
    assert outcome.err.endswith("your sessions with Claude Code: ctxheap profile ~/.claude/projects\n")


def test_no_path_and_no_sessions_suggests_the_demo(tmp_path: Path) -> None:
    outcome = run("profile", profiler=FakeProfiler(profile()), home=tmp_path)

    assert outcome.err.endswith("to see one first: ctxheap demo\n")


def test_named_file_that_cannot_be_read_fails_after_the_report(tmp_path: Path) -> None:
    made = profile()
    made = replace(made, files=(*made.files, UNREAD))

    outcome = run("profile", "session.jsonl", "notes.md", profiler=FakeProfiler(made), home=tmp_path)

    assert (outcome.code, outcome.err) == (2, "ctxheap: notes.md: no transcript\n")
    assert "notes.md was not read: no transcript" in outcome.out


def test_path_is_named_once(tmp_path: Path) -> None:
    made = replace(profile(), sessions=(), files=(MISSING,))

    outcome = run("profile", "no.md", profiler=FakeProfiler(made), home=tmp_path)

    assert outcome.err == "ctxheap: no.md: not there\n"


def test_unreadable_file_in_a_folder_is_listed_and_stops_nothing(tmp_path: Path) -> None:
    made = profile()
    made = replace(made, files=(*made.files, replace(UNREAD, path="runs/notes.md")))

    outcome = run("profile", "runs", profiler=FakeProfiler(made), home=tmp_path)

    assert (outcome.code, outcome.err) == (0, "")
    assert "runs/notes.md was not read: no transcript" in outcome.out


def test_nothing_readable_names_every_input(tmp_path: Path) -> None:
    made = replace(profile(), sessions=(), files=(UNREAD, replace(UNREAD, path="b.md")))

    outcome = run("profile", "runs", profiler=FakeProfiler(made), home=tmp_path)

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "ctxheap: notes.md: no transcript\nctxheap: b.md: no transcript\n"


def test_nothing_readable_is_still_a_document_in_json(tmp_path: Path) -> None:
    made = replace(profile(), sessions=(), files=(UNREAD,))

    outcome = run("profile", "notes.md", "--json", profiler=FakeProfiler(made), home=tmp_path)

    assert (outcome.code, json.loads(outcome.out)["sessions"]) == (2, [])


def test_empty_folder_is_not_a_silent_success(tmp_path: Path) -> None:
    made = replace(profile(), sessions=(), files=())

    outcome = run("profile", "runs", profiler=FakeProfiler(made), home=tmp_path)

    assert (outcome.code, outcome.err) == (2, "ctxheap: no transcript in runs\n")


def test_price_file_that_cannot_be_used_is_wrong_use(tmp_path: Path) -> None:
    profiler = FakeProfiler(profile(), error=ProfileError("mine.json: no price in it"))

    outcome = run("profile", "a", "--prices", "mine.json", profiler=profiler, home=tmp_path)

    assert (outcome.code, outcome.err) == (2, "ctxheap: mine.json: no price in it\n")


def test_colours_are_for_terminals(tmp_path: Path) -> None:
    env = {"TERM": "xterm-256color"}
    out = Terminal()

    piped = run("profile", "a", profiler=FakeProfiler(profile()), home=tmp_path, env=env)
    shown = run("profile", "a", profiler=FakeProfiler(profile()), home=tmp_path, env=env, out=out)

    assert ["\x1b[" in outcome.out for outcome in (piped, shown)] == [False, True]


def test_no_color_is_respected(tmp_path: Path) -> None:
    env = {"TERM": "xterm-256color", "NO_COLOR": "1"}

    outcome = run("profile", "a", profiler=FakeProfiler(profile()), home=tmp_path, env=env, out=Terminal())

    assert "\x1b[38" not in outcome.out
    assert "TTTT" in outcome.out


def test_width_follows_columns(tmp_path: Path) -> None:
    outcome = run("profile", "a", profiler=FakeProfiler(profile()), home=tmp_path, env={"COLUMNS": "120"})

    assert max(map(len, outcome.out.splitlines())) == 120


def test_output_writes_the_file_and_prints_nothing(tmp_path: Path) -> None:
    file = tmp_path / "profile.json"

    outcome = run(
        "profile", "a", "--json", "--output", str(file), profiler=FakeProfiler(profile()), home=tmp_path
    )

    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert faults(json.loads(file.read_text("utf-8"))) == []
    assert [path.name for path in tmp_path.iterdir()] == ["profile.json"]


def test_output_of_a_report_is_plain_text(tmp_path: Path) -> None:
    file = tmp_path / "report.txt"

    run(
        "profile", "a", "--output", str(file), profiler=FakeProfiler(profile()), home=tmp_path, out=Terminal()
    )

    assert file.read_text("utf-8").startswith("session 7f3a9c12")


def test_output_in_a_folder_that_is_not_there_is_wrong_use(tmp_path: Path) -> None:
    file = tmp_path / "no" / "report.txt"

    outcome = run("profile", "a", "--output", str(file), profiler=FakeProfiler(profile()), home=tmp_path)

    assert outcome.code == 2
    assert outcome.err == f"ctxheap: {file}: there is no folder {file.parent}\n"


def test_long_input_shows_a_bar_on_a_terminal(tmp_path: Path) -> None:
    long = tmp_path / "long.jsonl"
    long.write_bytes(bytes(5_000_000))
    profiler = FakeProfiler(profile(), bytes_told=5_000_000)
    env = {"TERM": "xterm"}

    shown = run("profile", str(tmp_path), profiler=profiler, home=tmp_path, env=env, err=Terminal())
    piped = run("profile", str(tmp_path), profiler=profiler, home=tmp_path, env=env)

    assert ["5.0/5.0 MB" in outcome.err for outcome in (shown, piped)] == [True, False]


def test_short_input_shows_no_bar(tmp_path: Path) -> None:
    outcome = run("profile", str(tmp_path), profiler=FakeProfiler(profile()), home=tmp_path, err=Terminal())

    assert outcome.err == ""


def test_interrupt_ends_with_one_line(tmp_path: Path) -> None:
    profiler = FakeProfiler(profile(), error=KeyboardInterrupt())

    outcome = run("profile", "a", profiler=profiler, home=tmp_path)

    assert (outcome.code, outcome.out, outcome.err) == (130, "", "ctxheap: interrupted\n")


@pytest.mark.parametrize("form", ["--json", "--timeline"])
def test_reader_that_leaves_early_is_no_error(form: str, tmp_path: Path) -> None:
    out = ClosedPipe()

    outcome = run("profile", "a", form, profiler=FakeProfiler(profile()), home=tmp_path, out=out)

    assert (outcome.code, outcome.err) == (0, "")


def test_unexpected_error_is_one_line(tmp_path: Path) -> None:
    profiler = FakeProfiler(profile(), error=ZeroDivisionError("division by zero"))

    outcome = run("profile", "a", profiler=profiler, home=tmp_path)

    assert outcome.code == 2
    assert outcome.err.startswith("ctxheap: unexpected ZeroDivisionError: division by zero")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("argv", "env"),
    [
        (["profile", "a", "--debug"], {}),
        (["--debug", "profile", "a"], {}),
        (["profile", "a"], {"CTXHEAP_DEBUG": "1"}),
    ],
)
def test_debug_shows_the_traceback(argv: list[str], env: dict[str, str], tmp_path: Path) -> None:
    profiler = FakeProfiler(profile(), error=ZeroDivisionError())

    with pytest.raises(ZeroDivisionError):
        run(*argv, profiler=profiler, home=tmp_path, env=env)


def test_output_keeps_the_rights_of_the_file_it_replaces(tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    file.write_text("old")
    file.chmod(0o640)

    run("profile", "a", "--json", "--output", str(file), profiler=FakeProfiler(profile()), home=tmp_path)

    assert (file.stat().st_mode & 0o777, file.read_text("utf-8")[:1]) == (0o640, "{")
