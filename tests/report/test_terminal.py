"""Check that the report reads as it should at the widths people have."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from ctxheap_collector.report.contract import Billed, Conservation, FileReport, SkippedRow
from ctxheap_collector.report.sheet import View
from ctxheap_collector.report.terminal import report
from report.golden import DOCUMENTS, FOLDER, text
from report.samples import object_rows, profile, session, timeline, troubled_session


def flat(words: str) -> str:
    return " ".join(words.split())


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_report_is_the_golden_one(name: str) -> None:
    assert DOCUMENTS[name]() == (FOLDER / name).read_text("utf-8")


@given(
    width=st.integers(min_value=60, max_value=200),
    name=st.text(max_size=200),
    top=st.sampled_from([0, 2, 10]),
    in_colour=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_no_line_is_wider_than_the_terminal(width: int, name: str, top: int, in_colour: bool) -> None:
    rows = tuple(replace(row, name=name) for row in object_rows())
    tags = tuple(replace(row, tag=f"tool_result:{name}") for row in session().tags)
    other = session(id=name or "x", agent=name, model=name)
    family = profile(session(objects=rows, tags=tags), troubled_session(), other)

    lines = report(family, View(width=width, top=top, in_colour=in_colour, lists_calls=True))

    assert max(cell_len("".join(piece.text for piece in line)) for line in lines) <= width


@given(name=st.text(max_size=60))
@settings(max_examples=25, deadline=None)
def test_no_name_steers_the_terminal(name: str) -> None:
    rows = tuple(replace(row, name=name, tag=f"tool_result:{name}") for row in object_rows())
    hostile = session(objects=rows, agent=name, model=name, id=name)
    files = (FileReport(path=name, format="", sessions=1, skipped=(SkippedRow(1, name),)),)

    lines = report(replace(profile(hostile), files=files, warnings=(name,)), View(width=100))

    assert all(piece.text.isprintable() for line in lines for piece in line)


def test_markup_in_a_name_is_shown_as_it_is() -> None:
    row = replace(object_rows()[1], name="grep [red]main[/red]")

    assert "grep [red]main[/red]" in text(profile(session(objects=(row,))), width=80)


def test_dead_share_is_an_interval_of_token_calls_and_of_money() -> None:
    words = flat(text(profile(), width=80))

    assert "54–67 % of what this session pays for is no longer used: $30.10–37.62 of $55.76 input." in words


def test_unknown_price_is_named_and_never_zero() -> None:
    words = text(profile(troubled_session()), width=80)

    assert "cost unknown: no price for model house-model-9" in words
    assert "$0" not in words


def test_large_unattributed_share_is_called_a_defect_of_the_capture() -> None:
    words = flat(text(profile(troubled_session()), width=80))

    assert "! more than 5 % of the bill is unattributed: a defect of the capture" in words


def test_session_without_usage_is_not_called_billed() -> None:
    nothing = Billed(input=0, uncached=0, cache_read=0, cache_write=0, output=0, reasoning=0)
    unknown = Conservation(calls=0, exact_calls=0, unattributed_tokens=0)

    words = flat(text(profile(session(billed=nothing, conservation=unknown)), width=80))

    assert "sent about 133.9 M input tokens for 3.6 M allocated: every token was sent 37 times" in words
    assert "! no call reports its usage: all tokens are our own counts" in words


def test_session_without_calls_says_so() -> None:
    empty = session(
        calls=0, token_calls=0, tags=(), objects=(), objects_total=0, timeline=(), compactions=(),
        allocated=0, rebill_factor=None, context=replace(session().context, peak=0, peak_call=0),
    )  # fmt: skip

    assert "Nothing was sent to a model in this session." in text(profile(empty), width=80)


def test_bounded_lists_say_how_much_is_left_out() -> None:
    assert "… and 415 more objects (use --top 0)" in text(profile(), width=80, top=3)


def test_unbounded_lists_leave_nothing_out() -> None:
    assert "… and" not in text(profile(session(objects_total=4)), width=80, top=0)


def test_several_sessions_begin_with_a_table_the_dearest_first() -> None:
    words = text(profile(session(id="cheap", cost_usd=1.0), session(id="dear", cost_usd=9.0)), width=80)
    table = words[: words.index("session dear")].splitlines()

    assert [line.split()[0] for line in table[2:4]] == ["dear", "cheap"]


def test_sub_agents_stand_under_their_parent() -> None:
    nested = session(id="grandchild", parent="agent-a17c")

    words = text(profile(session(), troubled_session(), nested), width=100)

    assert "  └ explore agent-a17c" in words
    assert "    └ grandchild" in words


def test_plain_text_holds_no_escapes() -> None:
    assert "\x1b" not in text(profile(), width=80)


def test_colour_changes_no_word_outside_the_chart() -> None:
    plain = report(profile(session(timeline=None)), View(width=100))
    coloured = report(profile(session(timeline=None)), View(width=100, in_colour=True))

    assert coloured == plain


def test_long_session_is_drawn_at_once() -> None:
    rows = tuple(replace(object_rows()[i % 4], id=str(i), name=f"read a{i}.py") for i in range(5_000))
    long = profile(session(timeline=timeline(1_652), calls=1_652, objects=rows, objects_total=5_000))
    text(long, width=120)

    # Time of the processor: other work on the machine must not fail it. 0.03 s when measured.
    began = time.process_time()
    text(long, width=120, is_terminal=True)

    assert time.process_time() - began < 0.2
