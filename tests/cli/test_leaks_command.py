"""Check `ctxheap leaks`: what it prints, what it compares, how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.worlds import FakeProfiler, run
from report.samples import profile, session, troubled_session


def test_leaks_are_shown_with_their_traces(tmp_path: Path) -> None:
    outcome = run("leaks", "a.jsonl", profiler=FakeProfiler(profile()), home=tmp_path)

    assert (outcome.code, outcome.err) == (0, "")
    assert "critical leak · tool_result:read_file" in outcome.out
    assert "◀ suspect" in outcome.out


def test_many_sessions_begin_with_what_they_share(tmp_path: Path) -> None:
    made = profile(session(id="one"), session(id="two"))

    outcome = run("leaks", "runs", profiler=FakeProfiler(made), home=tmp_path)

    head = outcome.out.splitlines()
    assert head[0].startswith("over all sessions")
    assert "8304c6dfd0" in outcome.out


def test_healthy_sessions_are_called_so(tmp_path: Path) -> None:
    made = profile(troubled_session())

    outcome = run("leaks", "a", profiler=FakeProfiler(made), home=tmp_path)

    assert (outcome.code, outcome.out) == (0, "no leak and no ballast in 1 session\n")


def test_regret_is_told_of_sessions_in_which_nothing_leaks(tmp_path: Path) -> None:
    regretting = session(id="hurt", leaks=())
    made = profile(session(id="leaks"), troubled_session(), regretting)

    alone = run("leaks", "a", profiler=FakeProfiler(profile(regretting)), home=tmp_path)
    beside = run("leaks", "a", profiler=FakeProfiler(made), home=tmp_path)

    assert "session hurt" in alone.out
    assert "thrash index 0.42" in alone.out
    assert alone.out.endswith("no leak and no ballast in 1 session\n")
    assert 0 < beside.out.index("session leaks") < beside.out.index("session hurt")
    assert "no leak" not in beside.out


def test_json_holds_verdicts_and_what_the_fleet_shares(tmp_path: Path) -> None:
    made = profile(session(id="one"), session(id="two"))

    outcome = run("leaks", "runs", "--json", profiler=FakeProfiler(made), home=tmp_path)

    document = json.loads(outcome.out)
    assert [each["id"] for each in document["sessions"]] == ["one", "two"]
    assert document["sessions"][0]["leaks"][0]["verdict"] == "leak"
    assert [group["sessions"] for group in document["fleet"]["groups"]] == [2, 2]


def test_unknown_session_is_wrong_use(tmp_path: Path) -> None:
    outcome = run("leaks", "a", "--session", "zzz", profiler=FakeProfiler(profile()), home=tmp_path)

    assert outcome.code == 2
    assert "there is no session 'zzz'" in outcome.err


def test_release_that_is_no_time_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run("leaks", "a", "--release", "last week", profiler=FakeProfiler(profile()), home=tmp_path)

    assert stopped.value.code == 2
    assert "a time like 2026-11-20T09:00 is wanted" in capsys.readouterr().err
