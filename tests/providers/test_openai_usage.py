from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.model import Usage
from ctxheap.providers.json_fields import tokens
from ctxheap.providers.openai_usage import reports_usage, usage_of

KEYS = (
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "prompt_cache_hit_tokens",
    "prompt_tokens_details",
    "completion_tokens_details",
    "input_tokens_details",
)
COUNTS = st.one_of(
    st.none(),
    st.integers(-5, 10**9),
    st.floats(),
    st.text(max_size=5),
    st.booleans(),
    st.dictionaries(
        st.sampled_from(("cached_tokens", "reasoning_tokens")), st.integers(-5, 10**6), max_size=2
    ),
)


def test_cached_tokens_are_part_of_the_prompt_tokens() -> None:
    raw = {"prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 800}}

    assert usage_of(raw) == Usage(uncached=200, cache_read=800, output=50)


def test_responses_usage_has_its_own_names() -> None:
    raw = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 300},
        "output_tokens": 90,
        "output_tokens_details": {"reasoning_tokens": 64},
        "total_tokens": 1090,
    }

    assert usage_of(raw, service_tier="flex") == Usage(
        uncached=700, cache_read=300, output=90, reasoning=64, service_tier="flex"
    )


def test_deepseek_reports_cache_hits_twice_and_they_count_once() -> None:
    raw = {
        "prompt_tokens": 1578,
        "completion_tokens": 100,
        "total_tokens": 1678,
        "completion_tokens_details": None,
        "prompt_tokens_details": {"cached_tokens": 320},
        "prompt_cache_hit_tokens": 320,
        "prompt_cache_miss_tokens": 1258,
    }

    assert usage_of(raw) == Usage(uncached=1258, cache_read=320, output=100)


def test_litellm_counts_cache_reads_and_writes_within_the_prompt_tokens() -> None:
    raw = {
        "prompt_tokens": 3853,
        "completion_tokens": 101,
        "prompt_tokens_details": {"audio_tokens": None, "cached_tokens": 1348},
        "cache_creation_input_tokens": 2499,
        "cache_read_input_tokens": 1348,
    }

    assert usage_of(raw) == Usage(uncached=6, cache_read=1348, cache_write_5m=2499, output=101)


def test_anthropic_usage_excludes_what_the_cache_served() -> None:
    raw = {
        "input_tokens": 4,
        "cache_read_input_tokens": 900,
        "cache_creation_input_tokens": 96,
        "output_tokens": 7,
    }

    assert usage_of(raw) == Usage(uncached=4, cache_read=900, cache_write_5m=96, output=7)


def test_prompt_tokens_too_small_for_anthropics_cache_fields_exclude_them() -> None:
    raw = {"prompt_tokens": 4, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 96}

    assert usage_of(raw).input == 1000


def test_cached_tokens_beyond_the_prompt_are_cut_to_it() -> None:
    raw = {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 120}}

    assert usage_of(raw) == Usage(uncached=0, cache_read=100)


def test_hour_long_cache_writes_are_told_apart() -> None:
    raw = {
        "prompt_tokens": 1000,
        "prompt_tokens_details": {
            "cache_creation_tokens": 600,
            "cache_creation_token_details": {
                "ephemeral_5m_input_tokens": 100,
                "ephemeral_1h_input_tokens": 500,
            },
        },
    }

    assert usage_of(raw) == Usage(uncached=400, cache_write_5m=100, cache_write_1h=500)


def test_cache_writes_that_openai_itself_reports_are_part_of_the_prompt() -> None:
    raw = {"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 700}}

    assert usage_of(raw) == Usage(uncached=200, cache_read=100, cache_write_5m=700)


def test_reasoning_beside_the_completion_is_added_to_the_output() -> None:
    raw = {
        "prompt_tokens": 10,
        "completion_tokens": 20,
        "total_tokens": 130,
        "completion_tokens_details": {"reasoning_tokens": 100},
    }

    assert usage_of(raw) == Usage(uncached=10, output=120, reasoning=100)


def test_numbers_in_strings_count_and_nonsense_does_not() -> None:
    raw = {
        "prompt_tokens": "120",
        "completion_tokens": "many",
        "prompt_tokens_details": {"cached_tokens": -4},
    }

    assert usage_of(raw) == Usage(uncached=120)


def test_a_missing_prompt_is_what_the_total_leaves() -> None:
    assert usage_of({"total_tokens": 70, "completion_tokens": 20}) == Usage(uncached=50, output=20)


def test_a_usage_without_any_count_reports_nothing() -> None:
    raws: list[object] = [None, {}, {"prompt_tokens": None}, [], {"total_tokens": 0}]

    assert [reports_usage(raw) for raw in raws] == [False, False, False, False, True]


@given(st.dictionaries(st.sampled_from(KEYS), COUNTS))
def test_whatever_is_reported_the_classes_are_counts(raw: dict[str, object]) -> None:
    usage = usage_of(raw)

    assert (
        min(usage.uncached, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, usage.output) >= 0
    )
    assert 0 <= usage.reasoning <= usage.output


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7))
def test_the_classes_add_up_to_the_prompt_tokens(rest: int, read: int, written: int) -> None:
    total = rest + read + written
    raw = {"prompt_tokens": total, "cache_read_input_tokens": read, "cache_creation_input_tokens": written}

    assert usage_of(raw) == Usage(uncached=rest, cache_read=read, cache_write_5m=written)


def test_odd_counts_are_zero() -> None:
    values: list[object] = [True, None, float("nan"), float("inf"), -1, "x", [], "7", 7.9, 10**400]

    assert [tokens(value) for value in values] == [0, 0, 0, 0, 0, 0, 0, 7, 7, 0]
