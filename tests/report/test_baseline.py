"""Check what a baseline keeps, what counts as growth since, and how a bad file is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap_collector.report.baseline import baseline_of, document, grown, load, uncompared
from ctxheap_collector.report.breach_lines import breach_line
from ctxheap_collector.report.contract import Context, Profile, ProfileError, SessionProfile
from report.samples import profile, session

REMEDY = "; save a baseline first: ctxheap check PATH --save-baseline "


def sized(agent: str, peak: int, *, calls: int = 11, dead: int = 0) -> SessionProfile:
    """Return a session whose context grows from nothing to its peak at the last call."""
    context = Context(first=0, last=peak, peak=peak, peak_call=calls, window=None)
    return session(agent=agent, context=context, calls=calls, token_calls=peak * calls, dead_token_calls=dead)


def test_baseline_keeps_medians_of_each_agent() -> None:
    made = profile(sized("b", 1_000), sized("b", 5_000, dead=1_100), sized("b", 2_000), sized("", 30))

    assert baseline_of(made) == {
        "": {"peak": 30, "tokens_per_call": 30, "growth_per_call": 3, "dead_per_call": 0},
        "b": {"peak": 2_000, "tokens_per_call": 2_000, "growth_per_call": 200, "dead_per_call": 0},
    }


def test_file_is_text_that_a_version_control_can_compare(tmp_path: Path) -> None:
    file = tmp_path / "base.json"
    file.write_bytes(document(profile(sized("b", 1_000), sized("b", 2_000))))

    assert file.read_text("ascii") == (
        '{\n  "baseline": 1,\n  "ctxheap": "0.1.0",\n  "agents": {\n    "b": {\n      "sessions": 2,\n'
        '      "peak": 1500.0,\n      "tokens_per_call": 1500.0,\n      "growth_per_call": 150.0,\n'
        '      "dead_per_call": 0.0\n    }\n  }\n}\n'
    )


def test_growth_above_the_bound_is_named_with_what_it_was() -> None:
    before = baseline_of(profile(sized("b", 10_000)))

    breaches = grown(profile(sized("b", 11_100, dead=1_100)), before, growth=0.1)

    assert [breach_line(breach) for breach in breaches] == [
        "agent b: peak context 11,100 tokens, bound 11,000 tokens (baseline 10,000 tokens)",
        "agent b: billed 11,100 tokens a call, bound 11,000 tokens (baseline 10,000 tokens)",
        "agent b: context growth 1,110 tokens a call, bound 1,100 tokens (baseline 1,000 tokens)",
        "agent b: billed without later use 100 tokens a call, bound 50 tokens (baseline 0 tokens)",
    ]


@pytest.mark.parametrize("peak", [11_000, 10_000, 100])
def test_growth_up_to_the_bound_and_shrinking_pass(peak: int) -> None:
    before = baseline_of(profile(sized("b", 10_000)))

    assert grown(profile(sized("b", peak)), before, growth=0.1) == []


def test_growth_of_a_few_tokens_is_chance() -> None:
    before = baseline_of(profile(sized("b", 40)))

    assert grown(profile(sized("b", 90)), before, growth=0.1) == []
    assert [breach.figure for breach in grown(profile(sized("b", 91)), before, growth=0.1)] == [
        "peak",
        "tokens_per_call",
    ]


def test_shrinking_context_of_before_may_shrink_less_by_the_bound_only() -> None:
    before = {"b": {"growth_per_call": -1_000.0}}

    assert grown(profile(sized("b", 0)), before, growth=1) == []
    assert [breach.bound for breach in grown(profile(sized("b", 0)), before, growth=0.5)] == [-500]


def test_new_agents_and_new_figures_pass() -> None:
    assert grown(profile(sized("new", 90_000)), {"b": {"peak": 1.0}}, growth=0) == []
    assert grown(profile(sized("b", 90_000)), {"b": {}}, growth=0) == []


def test_new_agents_and_new_figures_are_named_and_nothing_else_is() -> None:
    made = profile(sized("b", 10), sized("new", 9), sized("old", 9))
    before = baseline_of(profile(sized("old", 1), sized("gone", 1))) | {"b": {"peak": 1.0}}

    assert [(each.agent, each.figures) for each in uncompared(made, before)] == [
        ("b", ("tokens_per_call", "growth_per_call", "dead_per_call")),
        ("new", ("peak", "tokens_per_call", "growth_per_call", "dead_per_call")),
    ]


def test_agents_that_are_gone_pass() -> None:
    assert grown(profile(sized("b", 10)), {"b": {"peak": 10.0}, "gone": {"peak": 1.0}}, growth=0) == []


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(0, 10**7)), min_size=1, max_size=5), st.data())
def test_what_was_saved_has_not_grown_in_whatever_order(
    tmp_path_factory: pytest.TempPathFactory, agents: list[tuple[str, int]], data: st.DataObject
) -> None:
    sessions = [sized(agent, peak) for agent, peak in agents]
    file = tmp_path_factory.getbasetemp() / "round-trip.json"
    file.write_bytes(document(profile(*sessions)))

    again: Profile = profile(*data.draw(st.permutations(sessions)))

    assert grown(again, load(file), growth=0, least=0) == []
    assert document(again) == file.read_bytes()


def test_name_that_utf8_lacks_survives(tmp_path: Path) -> None:
    file = tmp_path / "base.json"
    file.write_bytes(document(profile(sized("\ud800", 5))))

    assert list(load(file)) == ["\ud800"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ('{"baseline": 1,\n', "not JSON: Expecting property name enclosed in double quotes in line 2"),
        ("[]", "a baseline is not a JSON object"),
        ("{}", 'not a baseline of version 1: the key "baseline" is None'),
        ('{"baseline": 2, "agents": {}}', 'not a baseline of version 1: the key "baseline" is 2'),
        ('{"baseline": 1}', '"agents" is not a JSON object'),
        ('{"baseline": 1, "agents": {"b": 3}}', "agent 'b' is not a JSON object"),
        ('{"baseline": 1, "agents": {"b": {"peak": "9"}}}', "'peak' of agent 'b' is '9', not a number"),
        ('{"baseline": 1, "agents": {"b": {"peak": true}}}', "'peak' of agent 'b' is True, not a number"),
        ('{"baseline": 1, "agents": {"b": {"peak": NaN}}}', "'peak' of agent 'b' is nan, not a number"),
        (
            '{"baseline": 1, "agents": {"b": {"peak": 1%s}}}' % ("0" * 400),
            "int too large to convert to float",
        ),
        ("[" * 100_000, "nested too deeply for a baseline"),
    ],
)
def test_file_that_is_no_baseline_is_named_with_the_remedy(words: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "base.json"
    file.write_text(words, "utf-8")

    with pytest.raises(ProfileError) as raised:
        load(file)

    assert str(raised.value) == f"{file}: {reason}{REMEDY}{file}"


def test_file_that_is_not_there_is_named_with_the_remedy(tmp_path: Path) -> None:
    file = tmp_path / "base.json"

    with pytest.raises(ProfileError) as raised:
        load(file)

    assert str(raised.value) == f"{file}: No such file or directory{REMEDY}{file}"


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "base.json"
    file.write_bytes(b"\xff\xff\xff")

    with pytest.raises(ProfileError, match="can't decode"):
        load(file)


def test_saved_sessions_are_counted(tmp_path: Path) -> None:
    made = json.loads(document(profile(sized("b", 1), sized("b", 2), sized("c", 3))))

    assert {agent: kept["sessions"] for agent, kept in made["agents"].items()} == {"b": 2, "c": 1}
