"""Check that estimated objects are sized by their bill, and only where that is sure."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.sizes import Growth, measure


def test_growth_is_shared_by_raw_counts() -> None:
    raw = [100, 300]

    scale = measure([Growth(440, (), (0, 1), 0)], raw)

    assert (raw, scale) == ([110, 330], 1.1)


def test_output_is_sized_by_its_own_bill() -> None:
    raw = [90, 10, 1000]

    measure([Growth(1250, (0, 1), (2,), 110)], raw)

    assert raw == [99, 11, 1140]


def test_growth_that_the_estimate_cannot_explain_is_left_alone() -> None:
    raw = [100, 300]

    scale = measure([Growth(900, (), (0, 1), 0), Growth(-50, (), (0,), 0)], raw)

    assert (raw, scale) == ([100, 300], 1.0)


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=12), st.integers(1, 90_000), st.integers(0, 12))
def test_measured_sizes_add_up_to_the_growth(counts: list[int], billed: int, output: int) -> None:
    raw = list(counts)
    own = tuple(range(min(output, len(raw))))
    other = tuple(range(len(own), len(raw)))

    measure([Growth(billed, own, other, output * 100)], raw)

    assert sum(raw) in (billed, sum(counts))
