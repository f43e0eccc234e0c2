"""Check that bounds find what passes them, and nothing else, and say it in one line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap_collector.report.bounds import Bounds, Breach, broken, unknown
from ctxheap_collector.report.breach_lines import bounds_words, breach_line, unknown_lines
from ctxheap_collector.report.contract import Context
from ctxheap_collector.report.findings import LeakRow
from ctxheap_collector.report.layout import NO_BREAK
from ctxheap_collector.report.suspects import sentences
from report.samples import leak_rows, profile, session, troubled_session

# Shares that can be checked in the head.
PLAIN = session(dead_low_token_calls=300, dead_token_calls=500, token_calls=1_000)
WHO = "session 7f3a9c12"


def leak_row(severity: str | None, **changes: object) -> LeakRow:
    return replace(leak_rows()[0], severity=severity, tag="tool_result:bash", **changes)  # type: ignore[arg-type]  # the same


def lines(bounds: Bounds, **changes: object) -> list[str]:
    return [breach_line(breach) for breach in broken(profile(replace(PLAIN, **changes)), bounds)]  # type: ignore[arg-type]  # the fields are checked when built


@pytest.mark.parametrize(
    ("within", "passed", "line"),
    [
        (Bounds(peak=140_460), Bounds(peak=140_459), "peak context 140,460 tokens, bound 140,459 tokens"),
        (Bounds(peak_share=0.7023), Bounds(peak_share=0.7), "peak context 70.2 % of the window, bound 70 %"),
        (Bounds(dead=0.3), Bounds(dead=0.25), "surely dead 30.0 % of the token-calls, bound 25 %"),
        (Bounds(unused=0.5), Bounds(unused=0.4), "without later use 50.0 % of the token-calls, bound 40 %"),
        (Bounds(rebill=37.19), Bounds(rebill=30), "re-bill factor 37.2, bound 30"),
        (Bounds(cost_usd=61.94), Bounds(cost_usd=2.5), "cost $61.94, bound $2.50"),
    ],
)
def test_bound_holds_what_is_no_larger_and_names_what_is(within: Bounds, passed: Bounds, line: str) -> None:
    assert (lines(within), lines(passed)) == ([], [f"{WHO}: {line}"])


@pytest.mark.parametrize(
    ("bound", "failing"),
    [("none", ["minor", "major", "critical"]), ("minor", ["major", "critical"]), ("major", ["critical"])],
)
def test_leak_fails_above_the_severity_allowed(bound: str, failing: list[str]) -> None:
    leaks = tuple(leak_row(severity) for severity in ("minor", "major", "critical", None))

    breaches = broken(profile(replace(PLAIN, leaks=leaks)), Bounds(leak=bound))

    assert [(breach.figure, breach.value) for breach in breaches] == [("leak", each) for each in failing]


def test_leaks_are_free_without_a_bound_on_them() -> None:
    assert lines(Bounds(peak=150_000), leaks=(leak_row("critical"),)) == []


def test_what_only_grows_so_far_is_no_verdict_yet() -> None:
    rows = (leak_row("critical", verdict="growing so far"), leak_row(None, verdict="growing"))

    assert lines(Bounds(leak="none"), leaks=rows) == []


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (leak_row("critical"), "leak tool_result:bash critical, bound minor"),
        (leak_row("major", verdict="ballast"), "ballast tool_result:bash major, bound minor"),
    ],
)
def test_leak_is_said_with_its_tag_verdict_and_the_words_of_the_report(row: LeakRow, verdict: str) -> None:
    words = " ".join(sentences(row, PLAIN)).replace(NO_BREAK, " ")

    assert words.count(". ") > 1
    assert lines(Bounds(leak="minor"), leaks=(row,)) == [f"{WHO}: {verdict}: {words}"]


def test_sub_agent_is_named_beside_its_session() -> None:
    breaches = broken(profile(troubled_session()), Bounds(rebill=6))

    assert [breach_line(breach) for breach in breaches] == [
        "session agent-a17c (agent explore): re-bill factor 6.1, bound 6"
    ]


def test_breach_has_the_keys_that_programs_read() -> None:
    found = broken(profile(replace(PLAIN, leaks=(leak_row("critical"),))), Bounds(peak=9, leak="minor"))

    assert [list(breach.to_json()) for breach in found] == [
        ["session", "agent", "figure", "value", "bound"],
        ["session", "agent", "figure", "value", "bound", "tag", "verdict", "reason"],
    ]


def test_order_of_the_sessions_does_not_matter() -> None:
    sessions = [session(id=name, agent=agent) for name, agent in (("b", ""), ("a", "x"), ("a", "w"))]
    bounds = Bounds(peak=1, cost_usd=1)

    assert broken(profile(*sessions), bounds) == broken(profile(*sessions[::-1]), bounds)


def test_what_is_not_known_is_no_breach_and_not_passed_over() -> None:
    bounds = Bounds(cost_usd=100, peak_share=0.9)
    sessions = (troubled_session(), session(), troubled_session())

    found = unknown(profile(*sessions), bounds)

    assert broken(profile(*sessions), bounds) == []
    remedy = "; --prices FILE can give it (docs/prices.md)"
    assert [line.removesuffix(remedy) for line in unknown_lines(found)] == [
        "the window of model house-model-9 is unknown: --max-peak PERCENT cannot be checked in 2 sessions",
        "the price of model house-model-9 is unknown: --max-cost cannot be checked in 2 sessions",
    ]


def test_model_without_a_name_gets_another_remedy() -> None:
    found = unknown(profile(replace(troubled_session(), model="")), Bounds(cost_usd=1, peak_share=0.8))

    assert [line.split(" unknown: ")[1].split("; ") for line in unknown_lines(found)] == [
        ["--max-peak PERCENT cannot be checked in 1 session", "bound TOKENS instead"],
        ["--max-cost cannot be checked in 1 session", "check such sessions apart, without this bound"],
    ]


def test_unknown_figures_without_a_bound_are_nobodys_business() -> None:
    assert unknown(profile(troubled_session()), Bounds(peak=1, leak="none")) == []


def test_session_that_paid_for_nothing_is_within_every_share() -> None:
    empty = Context(first=0, last=0, peak=0, peak_call=1, window=200_000)
    bare = session(
        token_calls=0, dead_token_calls=0, dead_low_token_calls=0, rebill_factor=None, context=empty
    )

    assert broken(profile(bare), Bounds(dead=0, unused=0, rebill=0, peak=0, peak_share=0)) == []


def test_names_from_a_transcript_cannot_steer_the_log() -> None:
    hostile = replace(
        PLAIN, id="::error::\n::set-env name=A::1\x1b[31m", leaks=(replace(leak_row("major"), tag="a\nb"),)
    )

    written = [breach_line(breach) for breach in broken(profile(hostile), Bounds(peak=1, leak="minor"))]

    assert [line[:42] for line in written] == ["session ::error:: ::set-env name=A::1 [31m"] * 2
    assert all(line.isprintable() for line in written)


@given(st.floats(1, 1e6), st.floats(1.000_001, 10))
def test_value_is_written_with_as_many_digits_as_show_that_it_is_above(bound: float, factor: float) -> None:
    bound = round(bound, 2)
    breach = Breach(session="s", agent="", figure="rebill", value=bound * factor, bound=bound)

    value, shown = breach_line(breach).removeprefix("session s: re-bill factor ").split(", bound ")

    assert float(value.replace(",", "")) > float(shown.replace(",", "")) == bound


def test_bounds_in_force_are_listed() -> None:
    bounds = Bounds(peak=150_000, dead=0.3, cost_usd=2, leak="minor")

    assert bounds_words(bounds) == [
        "peak context 150,000 tokens",
        "surely dead 30 % of the token-calls",
        "cost $2",
        "leaks minor",
    ]
