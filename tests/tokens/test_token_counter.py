from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxheap.tokens import content_class, counter_for, engine, family_of, normal_name


@pytest.mark.parametrize(
    ("model", "family", "encoding", "exact"),
    [
        ("gpt-4o-2024-08-06", "openai", "o200k_base", True),
        ("openai/gpt-4.1-mini", "openai", "o200k_base", True),
        ("azure/gpt-5.2", "openai", "o200k_base", True),
        ("o3-mini", "openai", "o200k_base", True),
        ("openai/gpt-oss-120b", "openai", "o200k_base", True),
        ("ft:gpt-4o-mini-2024-07-18:acme::abc", "openai", "o200k_base", True),
        ("gpt-4-0613", "openai", "cl100k_base", True),
        ("gpt-3.5-turbo", "openai", "cl100k_base", True),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3", "o200k_base", False),
        ("litellm_proxy/claude-3-5-sonnet-20241022", "claude-3", "o200k_base", False),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "claude-3", "o200k_base", False),
        ("claude-haiku-4-5@20251001", "claude-3", "o200k_base", False),
        ("claude-opus-4-6", "claude-3", "o200k_base", False),
        ("claude-opus-4-7", "claude-4.7", "o200k_base", False),
        ("claude-opus-4-8[1m]", "claude-4.7", "o200k_base", False),
        ("claude-sonnet-5-5", "claude-4.7", "o200k_base", False),
        ("deepseek/deepseek-chat", "deepseek", "o200k_base", False),
        ("deepseek.r1-v1:0", "deepseek", "o200k_base", False),
        ("gemini/gemini-2.5-pro", "gemini", "o200k_base", False),
        ("meta.llama3-70b-instruct-v1:0", "llama", "o200k_base", False),
        ("somebody/some-model", "unknown", "o200k_base", False),
        ("", "unknown", "o200k_base", False),
    ],
)
def test_models_are_recognised_in_every_spelling(model: str, family: str, encoding: str, exact: bool) -> None:
    found = family_of(model)

    assert (found.name, found.encoding, found.exact) == (family, encoding, exact)


def test_every_family_has_a_date_and_unmeasured_ones_say_so() -> None:
    assert family_of("claude-opus-4-7").known
    assert not family_of("somebody/some-model").known
    assert family_of("somebody/some-model").factor("code") == 1.0
    assert family_of("claude-3-opus").date >= "2026-12-01"


def test_the_provider_decides_only_when_the_model_says_nothing() -> None:
    assert counter_for("", "deepseek").family.name == "deepseek"
    assert counter_for("gpt-4o", "anthropic").family.name == "openai"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "english"),
        (
            "The order was delivered on Monday. Please tell me what I can do for you, and thank you.",
            "english",
        ),
        ('{"name": "get_user", "arguments": {"user_id": "james", "items": [1, 2, 3]}}', "json"),
        ('[{"a": 1}, {"a": 2}]', "json"),
        ("def f(x):\n    if x > 0:\n        return g(x)[0]\n    raise ValueError(x)\n", "code"),
        ("/testbed/django/db/models/query.py\n/testbed/tests/queries/test_query.py\n", "code"),
        ("分词器把中文文本切成较小的单元，每个单元对应一个编号。", "chinese"),
    ],
)
def test_content_is_told_apart(text: str, expected: str) -> None:
    assert content_class(text) == expected


def test_estimates_are_the_raw_count_times_the_class_factor_rounded() -> None:
    text = "The order was delivered on Monday, and the customer was told so."
    raw = engine("o200k_base").count([text])

    counter = counter_for("claude-3-5-sonnet-20241022")

    assert not counter.exact
    assert counter.raw([text]) == raw
    assert counter.count([text]) == [round(raw[0] * 1.07)]


def test_exact_counters_return_the_raw_count() -> None:
    counter = counter_for("gpt-4.1")

    assert counter.exact
    assert counter.count(["hello world", ""]) == [2, 0]


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=200))
def test_an_estimate_is_repeatable_and_never_loses_a_text(text: str) -> None:
    counter = counter_for("claude-opus-4-7")

    first = counter.count([text])

    assert first == counter.count([text])
    assert (first[0] >= 1) == bool(text)


@given(st.text(max_size=40))
def test_any_name_is_normalised_to_lower_case_without_a_route(name: str) -> None:
    found = normal_name(name)

    assert found == found.lower()
    assert "/" not in found


def test_dates_stay_in_normalised_names() -> None:
    assert normal_name("us.anthropic.claude-3-5-sonnet-20241022-v2:0") == "claude-3-5-sonnet-20241022"
