"""Check that estimated objects are sized by their bill, and only where that is sure."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.sizes import Growth, Sizes, measure


def test_growth_is_shared_by_raw_counts() -> None:
    sizes = measure([Growth(440, (), (0, 1), 0, "user_turn")], [100, 300])

    assert sizes.measured == {0: 110, 1: 330}


def test_output_is_sized_by_its_own_bill() -> None:
    raw = [90, 10, 1000] * 5
    growths = [Growth(1250, (i, i + 1), (i + 2,), 110, "tool_result:read") for i in range(0, 15, 3)]

    sizes = measure(growths, raw)

    assert [sizes.measured[i] for i in range(3)] == [99, 11, 1140]


def test_output_tokens_that_never_fit_the_output_are_not_believed() -> None:
    raw = [100, 1000] * 5
    growths = [Growth(1100, (i,), (i + 1,), 2, "tool_result:read") for i in range(0, 10, 2)]

    sizes = measure(growths, raw)

    assert [sizes.measured[i] for i in range(2)] == [100, 1000]


def test_growth_that_the_scale_cannot_explain_is_left_alone() -> None:
    growths = [Growth(900, (), (0, 1), 0, "user_turn"), Growth(-50, (), (0,), 0, "user_turn")]

    assert measure(growths, [100, 300]) == Sizes()


def test_scale_of_a_tag_is_its_median_and_sizes_what_growth_does_not() -> None:
    raw = [1000] * 7
    billed = [1700, 1720, 1700, 1690, 1700, 9000]
    sizes = measure([Growth(tokens, (), (i,), 0, "retrieval:kb") for i, tokens in enumerate(billed)], raw)

    assert (sizes.of(1, "retrieval:kb", 1000), sizes.of(5, "retrieval:kb", 1000)) == (1720, 1700)
    assert sizes.of(6, "retrieval:kb", 1000) == 1700


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=12), st.integers(1, 90_000), st.integers(0, 12))
def test_measured_sizes_add_up_to_the_growth(raw: list[int], billed: int, output: int) -> None:
    own = tuple(range(min(output, len(raw))))
    other = tuple(range(len(own), len(raw)))

    sizes = measure([Growth(billed, own, other, output * 100, "user_turn")], raw)

    assert sum(sizes.measured.values()) in (billed, 0)


def test_small_growth_may_hold_the_wrappers_of_a_tool_call() -> None:
    assert measure([Growth(120, (), (0,), 0, "tool_result:read")], [20]).measured == {0: 120}
    assert measure([Growth(121, (), (0,), 0, "tool_result:read")], [20]).measured == {}


def test_tags_without_a_scale_of_their_own_have_that_of_the_session() -> None:
    sizes = measure([Growth(1400, (), (i,), 0, f"tool_result:{i}") for i in range(5)], [1000] * 5)

    assert (sizes.of(9, "tool_result:other", 1000), sizes.scales) == (1400, {})


def test_growth_that_is_output_alone_is_shared_whole() -> None:
    growths = [Growth(1250, (i,), (i + 1,), 110, "tool_result:read") for i in range(0, 10, 2)]

    sizes = measure([*growths, Growth(115, (10,), (), 110, "agent_output")], [100, 1000] * 5 + [100])

    assert sizes.measured[10] == 115
