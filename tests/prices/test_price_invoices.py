"""Invoices computed by hand from the providers' price pages, in USD."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.model import Usage
from ctxheap.prices import Cost, PriceBook, Rates, cost_usd

NS = 1_000_000_000
APRIL_NS = int(datetime(2026, 4, 20, 12, tzinfo=UTC).timestamp()) * NS
NOVEMBER_NS = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp()) * NS
BOOK = PriceBook()


def rates(model: str, provider: str, usage: Usage, started_ns: int | None = NOVEMBER_NS) -> Rates:
    found = BOOK.rates(model, provider, usage, started_ns)
    assert found is not None
    return found


def cost(model: str, provider: str, usage: Usage, started_ns: int | None = NOVEMBER_NS) -> Cost:
    return cost_usd(rates(model, provider, usage, started_ns), usage)


def test_anthropic_cache_writes_of_five_minutes_and_one_hour_are_billed_apart() -> None:
    usage = Usage(
        uncached=1_000, cache_read=100_000, cache_write_5m=20_000, cache_write_1h=10_000, output=2_000
    )

    found = cost("claude-3-5-sonnet-20241022", "anthropic", usage)

    # 1k x 3 + 100k x 0.30 + 20k x 3.75 + 10k x 6 dollars a million; 2k x 15
    assert found.input == pytest.approx(0.003 + 0.030 + 0.075 + 0.060)
    assert found.output == pytest.approx(0.030)
    assert found.total == pytest.approx(0.198)


def test_a_one_hour_write_without_a_price_of_its_own_is_twice_the_input_and_listed() -> None:
    usage = Usage(uncached=1_000, cache_write_1h=10_000)

    found = rates("us.anthropic.claude-3-5-sonnet-20241022-v2:0", "aws.bedrock", usage)

    assert cost_usd(found, usage).input == pytest.approx(0.003 + 0.060)
    assert found.unpriced == ("cache_write_1h",)


def test_openai_cached_input_is_billed_at_its_own_price() -> None:
    usage = Usage(uncached=2_000, cache_read=8_000, output=1_000)

    found = cost("gpt-4o-2024-08-06", "openai", usage)

    assert found.input == pytest.approx(2_000 * 2.5e-6 + 8_000 * 1.25e-6)
    assert found.output == pytest.approx(0.010)


@pytest.mark.parametrize(("total", "input_price", "output_price"), [(200_000, 1.25, 10), (200_001, 2.50, 15)])
def test_gemini_bills_the_whole_request_at_the_long_context_price(
    total: int, input_price: float, output_price: float
) -> None:
    usage = Usage(uncached=total - 50_000, cache_read=50_000, output=1_000)

    found = cost("gemini-2.5-pro", "gcp.gemini", usage)

    assert found.input == pytest.approx((total - 50_000) * input_price / 1e6 + 50_000 * input_price / 1e7)
    assert found.output == pytest.approx(1_000 * output_price / 1e6)


def test_anthropic_long_context_counts_cached_tokens_towards_the_threshold() -> None:
    usage = Usage(uncached=1_000, cache_read=250_000, output=1_000)

    found = cost("claude-sonnet-4-5", "anthropic", usage)

    assert found.input == pytest.approx(1_000 * 6e-6 + 250_000 * 0.6e-6)
    assert found.output == pytest.approx(1_000 * 22.5e-6)


def test_prices_are_those_of_the_day_of_the_call() -> None:
    usage = Usage(uncached=1_000_000)
    before = int(datetime(2025, 6, 9, 12, tzinfo=UTC).timestamp()) * NS
    after = int(datetime(2025, 6, 10, 12, tzinfo=UTC).timestamp()) * NS

    assert cost("o3", "openai", usage, before).input == pytest.approx(10.0)
    assert cost("o3", "openai", usage, after).input == pytest.approx(2.0)


def test_deepseek_prices_follow_the_time_of_day() -> None:
    usage = Usage(uncached=1_000_000)
    day = int(datetime(2025, 3, 1, 16, 29, tzinfo=UTC).timestamp()) * NS
    night = int(datetime(2025, 3, 1, 16, 30, tzinfo=UTC).timestamp()) * NS

    assert cost("deepseek-chat", "deepseek", usage, day).input == pytest.approx(0.27)
    assert cost("deepseek-chat", "deepseek", usage, night).input == pytest.approx(0.135)


def test_a_call_without_a_time_gets_the_newest_prices() -> None:
    usage = Usage(uncached=1_000_000)

    assert cost("o3", "openai", usage, None).input == pytest.approx(2.0)


@given(st.integers(-(10**40), 10**40))
def test_no_start_time_however_wrong_stops_a_price(started_ns: int) -> None:
    assert rates("o3", "openai", Usage(uncached=1), started_ns).uncached in {2e-6, 10e-6}


@pytest.mark.parametrize("started_ns", [APRIL_NS, NOVEMBER_NS], ids=["by factor", "by price list"])
def test_batch_requests_cost_half(started_ns: int) -> None:
    usage = Usage(uncached=1_000, cache_read=10_000, cache_write_1h=1_000, output=1_000, service_tier="batch")

    found = rates("claude-opus-4-7", "anthropic", usage, started_ns)

    assert cost_usd(found, usage).input == pytest.approx(1_000 * 2.5e-6 + 10_000 * 0.25e-6 + 1_000 * 5e-6)
    assert cost_usd(found, usage).output == pytest.approx(1_000 * 12.5e-6)
    assert found.unpriced == ()


def test_priority_and_flex_requests_have_prices_of_their_own() -> None:
    priority = Usage(uncached=1_000_000, service_tier="priority")
    flex = Usage(uncached=1_000_000, service_tier="flex")

    assert cost("gpt-5", "openai", priority).input == pytest.approx(2.50)
    assert cost("gpt-5", "openai", flex).input == pytest.approx(0.625)


@pytest.mark.parametrize("tier", ["priority", "some-new-tier"])
def test_a_tier_without_prices_is_taken_as_standard_and_listed(tier: str) -> None:
    usage = Usage(uncached=1_000_000, service_tier=tier)

    found = rates("claude-opus-4-7", "anthropic", usage)

    assert cost_usd(found, usage).input == pytest.approx(5.0)
    assert found.unpriced == (f"service_tier:{tier}",)


@pytest.mark.parametrize("tier", ["", "default", "standard", "auto"])
def test_the_standard_tier_under_any_name_is_not_listed(tier: str) -> None:
    usage = Usage(uncached=1, service_tier=tier)

    assert rates("gpt-5", "openai", usage).unpriced == ()


def test_cache_traffic_without_a_price_is_billed_as_input_and_listed_only_when_used() -> None:
    used = Usage(uncached=1_000, cache_write_5m=1_000)
    unused = Usage(uncached=1_000)

    assert cost("gpt-4o", "openai", used).input == pytest.approx(2_000 * 2.5e-6)
    assert rates("gpt-4o", "openai", used).unpriced == ("cache_write_5m",)
    assert rates("gpt-4o", "openai", unused).unpriced == ()


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("some-model-of-mine", "openai"),
        ("some-model-of-mine", ""),
        ("", ""),
        ("<synthetic>", "anthropic"),
        ("gpt-4o", "github.copilot"),  # a subscription: the list names the model without a price
        ("llama3.3", "ollama"),  # somebody's own machine
    ],
)
def test_an_unknown_price_is_unknown_and_never_zero(model: str, provider: str) -> None:
    assert BOOK.rates(model, provider, Usage(uncached=1_000), NOVEMBER_NS) is None


@pytest.mark.parametrize(
    ("model", "provider", "source"),
    [
        ("claude-sonnet-4-5", "anthropic", "anthropic/claude-sonnet-4-5"),
        ("claude-sonnet-4-5", "openai", "anthropic/claude-sonnet-4-5"),
        ("litellm_proxy/claude-3-5-sonnet-20241022", "", "anthropic/claude-3-5-sonnet"),
        ("azure/gpt-4o", "", "azure/gpt-4o"),
        ("grok-4", "x_ai", "x-ai/grok-4-0709"),
        ("openrouter/anthropic/claude-sonnet-4", "", "openrouter/anthropic/claude-sonnet-4"),
    ],
)
def test_every_price_names_its_source_and_date(model: str, provider: str, source: str) -> None:
    found = rates(model, provider, Usage(uncached=1))

    assert found.source.startswith("genai-prices ")
    assert found.source.endswith(f": {source}")
    assert "2026-10-01" < found.date <= datetime.now(UTC).date().isoformat()


@pytest.mark.parametrize(
    ("model", "provider", "tokens"),
    [
        ("claude-sonnet-4-5-20250929", "anthropic", 200_000),
        ("claude-sonnet-4-5[1m]", "anthropic", 1_000_000),
        ("claude-opus-4-7", "anthropic", 1_000_000),
        ("gpt-4o", "openai", 128_000),
        ("gemini-2.5-pro", "gcp.gemini", 1_048_576),
        ("some-model-of-mine", "openai", None),
    ],
)
def test_windows_are_known_or_none(model: str, provider: str, tokens: int | None) -> None:
    assert BOOK.window(model, provider) == tokens


def test_a_thousand_calls_are_priced_in_a_blink() -> None:
    usage = Usage(uncached=1_000, output=10)
    rates("claude-opus-4-7", "anthropic", usage)
    start = time.process_time()

    found = [rates("claude-opus-4-7", "anthropic", usage, NOVEMBER_NS + i * 90 * NS) for i in range(1_652)]

    assert len(set(found)) == 1
    assert time.process_time() - start < 2


tokens = st.integers(0, 1_000_000)


@given(st.builds(Usage, uncached=tokens, cache_read=tokens, cache_write_5m=tokens, cache_write_1h=tokens))
def test_a_bill_is_never_below_reading_everything_from_the_cache(usage: Usage) -> None:
    found = rates("claude-opus-4-7", "anthropic", usage)

    assert cost_usd(found, usage).input >= usage.input * found.cache_read * (1 - 1e-9)
