"""Check that `ctxheap check` passes, fails and explains itself, on real transcripts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cli.worlds import FakeProfiler, Outcome, Pipe, Terminal, run
from ctxheap_collector.report.build import profile_paths
from ctxheap_collector.report.contract import FileReport, Options, ProfileError, SessionProfile, SkippedRow
from ctxheap_collector.report.layout import NO_BREAK
from ctxheap_collector.report.suspects import sentences
from report.samples import leak_rows, profile, session

DATA = Path(__file__).parents[1] / "data"
# Six calls and a fork of three, with reported usage, a price and a window of a million.
CLAUDE = str(DATA / "claude_code" / "rewound.jsonl")
# Ten calls without usage, price or window, and dead tokens.
MINI = str(DATA / "mini-swe-agent" / "text.traj.json")
TAU2 = str(DATA / "tau2-bench" / "airline.json")
UNREAD = FileReport(path="notes.md", format="", sessions=0, skipped=(SkippedRow(0, "no transcript"),))


def check(*argv: str, home: Path) -> Outcome:
    """Run the command on real files, with the real profiler."""
    return run("check", *argv, profiler=profile_paths, home=home)


def first_of(path: str) -> SessionProfile:
    return profile_paths([path], options=Options()).sessions[0]


def planted(path: Path, *, results: int, words: int = 120) -> str:
    """Write a chat whose every turn brings a result that nobody uses, and return its path."""
    messages: list[dict[str, object]] = [{"role": "user", "content": "Close the old tickets."}]
    for k in range(results):
        call = {
            "id": f"c{k}",
            "type": "function",
            "function": {"name": "list", "arguments": f'{{"page": {k}}}'},
        }
        rows = " ".join(f"row{k}x{n * 7919 % 9973}" for n in range(words))
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{k}", "content": rows})
    messages.append({"role": "assistant", "content": "Done."})
    path.write_text(json.dumps({"model": "gpt-4o-2024-08-06", "messages": messages}), "utf-8")
    return str(path)


def test_within_bounds_is_one_line_and_code_0(tmp_path: Path) -> None:
    outcome = check(str(DATA), "--max-peak", "50k", "--max-rebill", "20", home=tmp_path)

    assert outcome == Outcome(
        0, "30 sessions within bounds: peak context 50,000 tokens, re-bill factor 20\n", ""
    )


def test_without_bounds_critical_leaks_fail(tmp_path: Path) -> None:
    leaking = check(planted(tmp_path / "leaking.json", results=12), home=tmp_path)
    sound = check(CLAUDE, MINI, home=tmp_path)

    assert (leaking.code, leaking.err) == (1, "")
    assert leaking.out.startswith("session leaking: leak tool_result:list critical, bound major: 12 objects ")
    assert sound == Outcome(0, "3 sessions within bounds: leaks major\n", "")


@pytest.mark.parametrize("bound", [["--max-peak", "1M"], ["--baseline", "base.json"]])
def test_leaks_are_not_looked_at_where_something_else_is_bounded(
    bound: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = planted(tmp_path / "leaking.json", results=12)
    check(path, "--save-baseline", "base.json", home=tmp_path)

    assert check(path, *bound, home=tmp_path).code == 0


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (
            ["--max-peak", "28319"],
            "session 03eb5929/fork-9edc38e6: peak context 28,320 tokens, bound 28,319 tokens",
        ),
        (
            ["--max-peak", "2.8315%"],
            "session 03eb5929/fork-9edc38e6: peak context 2.832 % of the window, bound 2.8315 %",
        ),
        (["--max-cost", "0.1"], "session 03eb5929: cost $0.14, bound $0.10"),
    ],
)
def test_billed_figure_above_its_bound_is_named_with_session_value_and_bound(
    argv: list[str], line: str, tmp_path: Path
) -> None:
    assert check(CLAUDE, *argv, home=tmp_path) == Outcome(1, f"{line}\n", "")


@pytest.mark.parametrize(
    ("flag", "name"), [("--max-dead", "surely dead"), ("--max-unused", "without later use")]
)
def test_share_of_what_is_dead_is_held_to_its_bound(flag: str, name: str, tmp_path: Path) -> None:
    found = first_of(MINI)
    dead = found.dead_low_token_calls if flag == "--max-dead" else found.dead_token_calls
    percent = 100 * dead / found.token_calls

    within = check(MINI, flag, f"{percent + 0.1:.1f}%", home=tmp_path)
    above = check(MINI, flag, f"{percent - 0.2:.1f}", home=tmp_path)

    assert (within.code, above.code) == (0, 1)
    assert above.out.startswith(
        f"session text (agent mini-swe-agent): {name} {percent:.1f} % of the token-calls, "
    )


def test_rebill_factor_is_held_to_its_bound(tmp_path: Path) -> None:
    factor = first_of(MINI).rebill_factor or 0.0

    codes = [check(MINI, "--max-rebill", f"{factor + step}", home=tmp_path).code for step in (0.1, -0.1)]

    assert codes == [0, 1]


@pytest.mark.parametrize(("bound", "severities"), [("major", ["critical"]), ("none", ["critical"])])
def test_severity_of_leaks_is_held_to_its_bound(bound: str, severities: list[str], tmp_path: Path) -> None:
    path = planted(tmp_path / "run.json", results=12)

    grows = check(MINI, "--max-leak", bound, home=tmp_path)
    leaks = check(path, "--max-leak", bound, "--json", home=tmp_path)

    assert (grows.code, leaks.code) == (0, 1)
    assert [breach["value"] for breach in json.loads(leaks.out)["breaches"]] == severities


def test_every_breach_is_a_line_and_order_of_paths_does_not_matter(tmp_path: Path) -> None:
    argv = ("--max-peak", "1k", "--max-rebill", "2.5")

    one = check(CLAUDE, MINI, TAU2, *argv, home=tmp_path)
    other = check(TAU2, MINI, CLAUDE, *argv, home=tmp_path)

    assert one == other
    assert [line.split(":")[0] for line in one.out.splitlines()] == [
        *["session 03eb5929"] * 2,
        *["session 03eb5929/fork-9edc38e6"] * 2,
        *["session 3c059b8e (agent tau2-bench)"] * 2,
        *["session text (agent mini-swe-agent)"] * 2,
    ]


def test_session_is_checked_alone(tmp_path: Path) -> None:
    outcome = check(CLAUDE, MINI, "--session", "text", "--max-peak", "2k", home=tmp_path)

    assert outcome == Outcome(0, "1 session within bounds: peak context 2,000 tokens\n", "")


def test_growth_since_the_baseline_fails_and_new_agents_pass(tmp_path: Path) -> None:
    base = str(tmp_path / "base.json")
    short, long = (planted(tmp_path / f"{n}.json", results=n) for n in (8, 12))
    saved = check(short, "--max-leak", "major", "--save-baseline", base, home=tmp_path)

    same = check(short, "--baseline", base, home=tmp_path)
    new = check(short, MINI, "--baseline", base, home=tmp_path)
    grown = check(long, "--baseline", base, home=tmp_path)
    allowed = check(long, "--baseline", base, "--max-growth", "100%", home=tmp_path)

    assert (saved.code, saved.err) == (1, f"ctxheap: {base}: baseline saved\n")
    assert same == Outcome(0, f"1 session within bounds: growth 10 % since {base}\n", "")
    assert [outcome.code for outcome in (new, grown, allowed)] == [0, 1, 0]
    assert grown.out.startswith("agent without a name: peak context ")


def test_what_a_baseline_lacks_is_said_not_to_be_compared(tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    base.write_text('{"baseline": 1, "agents": {"": {"peak": 1000000}, "gone": {"peak": 1}}}')
    path = planted(tmp_path / "one.json", results=8)

    told = check(path, "--baseline", str(base), home=tmp_path)
    made = json.loads(check(path, "--baseline", str(base), "--json", home=tmp_path).out)

    assert told == Outcome(
        0,
        f"1 session within bounds: growth 10 % since {base} (not compared: figures of 1 agent)\n",
        f"ctxheap: agent without a name: not compared, since {base} lacks it: "
        "billed, context growth, billed without later use\n",
    )
    assert made["uncompared"] == [
        {"agent": "", "figures": ["tokens_per_call", "growth_per_call", "dead_per_call"]}
    ]


def test_saving_a_baseline_leaves_no_other_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()

    check(MINI, "--save-baseline", str(home / "base.json"), home=home)

    assert [path.name for path in home.iterdir()] == ["base.json"]
    assert json.loads((home / "base.json").read_bytes())["agents"]["mini-swe-agent"]["sessions"] == 1


def test_baseline_that_growth_would_break_is_not_replaced(tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    short, long = (planted(tmp_path / f"{n}.json", results=n) for n in (8, 12))
    check(short, "--save-baseline", str(base), home=tmp_path)
    before = base.read_bytes()

    outcome = check(long, "--baseline", str(base), "--save-baseline", str(base), home=tmp_path)

    assert (outcome.code, base.read_bytes()) == (1, before)
    assert outcome.err.startswith(f"ctxheap: {base}: not saved, since it would hide what grew")


def test_baseline_without_what_could_not_be_read_is_not_saved(tmp_path: Path) -> None:
    base = tmp_path / "base.json"

    outcome = check(MINI, str(tmp_path / "no.json"), "--save-baseline", str(base), home=tmp_path)

    assert (outcome.code, base.exists()) == (2, False)
    assert outcome.err.startswith(f"ctxheap: {base}: not saved, since not every input could be read\n")


def test_baseline_that_cannot_be_written_is_wrong_use(tmp_path: Path) -> None:
    base = tmp_path / "no" / "base.json"

    outcome = check(MINI, "--save-baseline", str(base), home=tmp_path)

    assert outcome == Outcome(2, "", f"ctxheap: {base}: there is no folder {base.parent}\n")


def test_baseline_that_cannot_be_read_is_wrong_use_before_anything_is_read(tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    base.write_text("[]")
    profiler = FakeProfiler(profile())

    outcome = run("check", "a", "--baseline", str(base), profiler=profiler, home=tmp_path)

    assert (outcome.code, outcome.out, profiler.asked) == (2, "", [])
    assert outcome.err == (
        f"ctxheap: {base}: a baseline is not a JSON object; "
        f"save a baseline first: ctxheap check PATH --save-baseline {base}\n"
    )


def test_growth_needs_a_baseline(tmp_path: Path) -> None:
    outcome = check(MINI, "--max-growth", "5", home=tmp_path)

    assert outcome == Outcome(2, "", "ctxheap: --max-growth needs a baseline to grow from: --baseline FILE\n")


@pytest.mark.parametrize(
    "argv",
    [
        ["--max-dead", "101%"],
        ["--max-unused", "-1"],
        ["--max-rebill", "nan"],
        ["--max-cost", "inf"],
        ["--max-peak", ""],
        ["--max-peak", "k"],
        ["--max-peak", "80%%"],
        ["--max-leak", "critical"],
        [],
    ],
)
def test_wrong_arguments_end_with_code_2(
    argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        check(*(["a", *argv] if argv else []), home=tmp_path)

    assert ended.value.code == 2
    assert "usage: ctxheap check" in capsys.readouterr().err


def test_file_that_cannot_be_read_fails_after_the_breaches(tmp_path: Path) -> None:
    made = profile()
    made = replace(made, files=(*made.files, UNREAD))

    outcome = run("check", "a", "notes.md", "--max-peak", "1k", profiler=FakeProfiler(made), home=tmp_path)

    assert outcome == Outcome(
        2,
        "session 7f3a9c12: peak context 140,460 tokens, bound 1,000 tokens\n",
        "ctxheap: notes.md: no transcript\n",
    )


def test_missing_file_is_wrong_use(tmp_path: Path) -> None:
    missing = str(tmp_path / "no.jsonl")

    outcome = check(missing, home=tmp_path)

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert outcome.err.startswith(f"ctxheap: {missing}: ")


def test_empty_folder_does_not_pass(tmp_path: Path) -> None:
    outcome = check(str(tmp_path), home=tmp_path)

    assert outcome == Outcome(2, "", f"ctxheap: no transcript in {tmp_path}\n")


def test_unknown_session_is_wrong_use(tmp_path: Path) -> None:
    outcome = check(MINI, "--session", "zz", home=tmp_path)

    assert outcome == Outcome(2, "", "ctxheap: there is no session 'zz'; the largest are text\n")


def test_bound_that_cannot_be_checked_does_not_pass(tmp_path: Path) -> None:
    outcome = check(MINI, "--max-cost", "1", home=tmp_path)

    assert outcome == Outcome(
        2,
        "",
        "ctxheap: the price of a model without a name is unknown: --max-cost cannot be checked in 1 session; "
        "check such sessions apart, without this bound\n",
    )


def test_price_file_that_cannot_be_used_is_wrong_use(tmp_path: Path) -> None:
    profiler = FakeProfiler(profile(), error=ProfileError("mine.json: no price in it"))

    outcome = run("check", "a", "--prices", "mine.json", profiler=profiler, home=tmp_path)

    assert outcome == Outcome(2, "", "ctxheap: mine.json: no price in it\n")


def test_inputs_reach_the_profiler(tmp_path: Path) -> None:
    profiler = FakeProfiler(profile())

    run("check", "a", "b", "--prices", "p.json", "--session", "7f", profiler=profiler, home=tmp_path)

    assert profiler.asked == [(("a", "b"), Options(top=1, session="7f", prices="p.json"))]


def test_missing_extra_says_what_to_install(tmp_path: Path) -> None:
    outcome = run("check", "a", profiler=FakeProfiler(profile()), home=tmp_path, is_installed=lambda _: False)

    assert (outcome.code, outcome.out) == (2, "")
    assert 'pip install "ctxheap[profile]"' in outcome.err


def test_json_says_what_failed(tmp_path: Path) -> None:
    made = profile(session(leaks=leak_rows()))

    outcome = run(
        "check",
        "a",
        "--json",
        "--max-peak",
        "100k",
        "--max-leak",
        "major",
        profiler=FakeProfiler(made),
        home=tmp_path,
    )

    who = {"session": made.sessions[0].id, "agent": ""}
    reason = " ".join(sentences(leak_rows()[0], made.sessions[0])).replace(NO_BREAK, " ")
    assert (outcome.code, outcome.err) == (1, "")
    assert json.loads(outcome.out) == {
        "ctxheap": "0.1.0",
        "passed": False,
        "breaches": [
            {**who, "figure": "peak", "value": 140_460, "bound": 100_000},
            {
                **who,
                "figure": "leak",
                "value": "critical",
                "bound": "major",
                "tag": "tool_result:read_file",
                "verdict": "leak",
                "reason": reason,
            },
        ],
        "unknown": [],
        "uncompared": [],
        "unread": [],
        "sessions": 1,
    }


def test_json_says_that_all_is_well(tmp_path: Path) -> None:
    outcome = check(CLAUDE, "--json", home=tmp_path)

    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out) == {
        "ctxheap": json.loads(outcome.out)["ctxheap"],
        "passed": True,
        "breaches": [],
        "unknown": [],
        "uncompared": [],
        "unread": [],
        "sessions": 2,
    }


def test_json_says_what_kept_it_from_passing(tmp_path: Path) -> None:
    missing = str(tmp_path / "no.jsonl")

    outcome = check(MINI, missing, "--json", "--max-peak", "80%", home=tmp_path)

    made = json.loads(outcome.out)
    assert (outcome.code, made["passed"], made["breaches"]) == (2, False, [])
    assert made["unknown"] == [
        {"session": "text", "agent": "mini-swe-agent", "figure": "peak_share", "model": ""}
    ]
    assert [words.split(": ")[0] for words in made["unread"]] == [missing]


def test_log_holds_no_colour_and_no_bar_even_on_a_terminal_without_long_input(tmp_path: Path) -> None:
    env = {"TERM": "xterm-256color", "FORCE_COLOR": "1", "GITHUB_ACTIONS": "true"}

    outcome = run(
        "check",
        MINI,
        "--max-peak",
        "1k",
        profiler=profile_paths,
        home=tmp_path,
        env=env,
        out=Terminal(),
        err=Terminal(),
    )

    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.strip().isprintable()


def test_log_that_cannot_show_a_letter_gets_a_question_mark(tmp_path: Path) -> None:
    out = Pipe()
    out.reconfigure(encoding="ascii")
    made = profile(session(id="прогон"))

    outcome = run("check", "a", "--max-peak", "1k", profiler=FakeProfiler(made), home=tmp_path, out=out)

    assert (outcome.code, outcome.out.split(":")[0]) == (1, "session ??????")
