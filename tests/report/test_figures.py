"""Check that numbers are written short, with their unit, and never wider than promised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap_collector.report.figures import (
    money,
    money_range,
    percent,
    percent_range,
    plural,
    short,
    whole,
)
from ctxheap_collector.report.layout import shares


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (0, "0"),
        (850, "850"),
        (999, "999"),
        (1_000, "1.00k"),
        (9_994, "9.99k"),
        (9_995, "10.0k"),
        (61_200, "61.2k"),
        (999_949, "999.9k"),
        (999_950, "1.00M"),
        (133_900_000, "133.9M"),
        (-140, "−140"),
        (-61_200, "−61.2k"),
    ],
)
def test_amounts_are_short(amount: int, words: str) -> None:
    assert short(amount) == words


@given(amount=st.integers(min_value=0, max_value=10**15 - 10**11))
def test_amounts_fit_six_characters(amount: int) -> None:
    assert len(short(amount)) <= 6


def test_prose_puts_a_gap_before_the_unit_and_no_idle_zeros() -> None:
    assert [short(n, gap=" ") for n in (3_600_000, 412_000, 1_240_000)] == ["3.6 M", "412 k", "1.24 M"]


@pytest.mark.parametrize(
    ("dollars", "words"),
    [
        (None, "?"),
        (0.0, "$0"),
        (0.00001, "<$.0001"),
        (0.0004, "$0.0004"),
        (0.0587, "$0.059"),
        (61.94, "$61.94"),
        (12_345.6, "$12,346"),
        (-0.5, "−$0.500"),
    ],
)
def test_money_keeps_the_digits_that_matter(dollars: float | None, words: str) -> None:
    assert money(dollars) == words


def test_money_that_agrees_is_one_sum() -> None:
    assert [money_range(35.1, 39.6), money_range(2.0, 2.0)] == ["$35.10–39.60", "$2.00"]


@pytest.mark.parametrize(
    ("part", "total", "words"), [(44, 100, "44 %"), (1, 1_000, "<1 %"), (0, 5, "0 %"), (0, 0, "–")]
)
def test_shares_are_whole_percents(part: int, total: int, words: str) -> None:
    assert percent(part, total) == words


@pytest.mark.parametrize(
    ("low", "high", "words"), [(12, 41, "12–41 %"), (41, 41, "41 %"), (0, 0, "0 %"), (0, 0.2, "<1 %")]
)
def test_dead_shares_are_intervals(low: float, high: float, words: str) -> None:
    assert percent_range(low, high, 100) == words


def test_nouns_agree_with_their_number() -> None:
    assert [plural(1, "call"), plural(1_652, "call"), whole(-3)] == ["1 call", "1,652 calls", "−3"]


@given(amounts=st.lists(st.integers(min_value=-5, max_value=10**9)), cells=st.integers(0, 200))
def test_bars_fill_their_cells_whenever_there_is_something_to_show(amounts: list[int], cells: int) -> None:
    drawn = shares(amounts, cells)

    assert sum(drawn) == (cells if any(amount > 0 for amount in amounts) else 0)
