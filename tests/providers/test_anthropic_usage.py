from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.model import Usage
from ctxheap.providers.anthropic_usage import reports_usage, usage_of

COUNTS = st.none() | st.integers() | st.floats() | st.text(max_size=4) | st.lists(st.integers(), max_size=1)
NAMES = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def test_input_leaves_out_the_cache_so_that_the_classes_add_up() -> None:
    usage = usage_of(
        {
            "input_tokens": 4,
            "cache_read_input_tokens": 1000,
            "cache_creation_input_tokens": 300,
            "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200},
            "output_tokens": 50,
            "service_tier": "standard",
        }
    )

    assert usage == Usage(4, 1000, 100, 200, 50, service_tier="standard")
    assert usage.input == 1304


@pytest.mark.parametrize(
    ("total", "short", "long", "expected"),
    [
        (300, None, None, (300, 0)),
        (None, 100, 200, (100, 200)),
        (300, 100, None, (300, 0)),
        (300, None, 200, (100, 200)),
        (100, 0, 200, (0, 100)),
    ],
)
def test_total_of_cache_writes_is_what_is_billed(
    total: int | None, short: int | None, long: int | None, expected: tuple[int, int]
) -> None:
    split = {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long}

    usage = usage_of({"cache_creation_input_tokens": total, "cache_creation": split})

    assert (usage.cache_write_5m, usage.cache_write_1h) == expected


def test_compactions_of_the_provider_are_added() -> None:
    usage = usage_of(
        {
            "input_tokens": 23_000,
            "output_tokens": 1_000,
            "iterations": [
                {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
                {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000},
            ],
        }
    )

    assert (usage.input, usage.output) == (203_000, 4_500)


def test_fast_mode_is_a_tier() -> None:
    assert usage_of({"input_tokens": 1, "service_tier": "standard", "speed": "fast"}).service_tier == "fast"


def test_reasoning_is_a_share_of_the_output() -> None:
    details = {"thinking_tokens": 70}

    assert usage_of({"output_tokens": 100, "output_tokens_details": details}).reasoning == 70
    assert usage_of({"output_tokens": 50, "output_tokens_details": details}).reasoning == 50


def test_usage_of_zeros_reports_nothing() -> None:
    assert not reports_usage({"input_tokens": 0, "output_tokens": 0})
    assert not reports_usage(None)
    assert reports_usage({"input_tokens": 0, "cache_read_input_tokens": 7})


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, COUNTS)) | COUNTS)
def test_odd_usage_counts_as_nothing_and_is_never_negative(raw: object) -> None:
    usage = usage_of(raw)

    assert (
        min(usage.uncached, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, usage.output) >= 0
    )
    assert usage.input == usage.uncached + usage.cache_read + usage.cache_write
