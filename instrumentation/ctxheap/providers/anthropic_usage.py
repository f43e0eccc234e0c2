"""Normalise Anthropic's usage, whose `input_tokens` leave out what the cache read and wrote (SPEC 3.1)."""

from __future__ import annotations

from ctxheap.heap.model import Usage
from ctxheap.providers.json_fields import Fields, fields, objects, string, tokens

_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def usage_of(raw: object) -> Usage:
    """Return disjoint token classes; compactions that the provider made on its own are added.

    Nulls, numbers in strings and missing fields are tolerated; what is negative counts as 0.
    """
    usage = fields(raw)
    compactions = [step for step in objects(usage.get("iterations")) if step.get("type") == "compaction"]
    # The totals cover all iterations but compactions, as the provider's guide to compaction says.
    steps = [_counts(step) for step in (usage, *compactions)]
    return Usage(
        uncached=sum(step.uncached for step in steps),
        cache_read=sum(step.cache_read for step in steps),
        cache_write_5m=sum(step.cache_write_5m for step in steps),
        cache_write_1h=sum(step.cache_write_1h for step in steps),
        output=sum(step.output for step in steps),
        reasoning=steps[0].reasoning,
        # Fast mode is priced as a tier of its own.
        service_tier="fast" if usage.get("speed") == "fast" else string(usage.get("service_tier")),
    )


def _counts(usage: Fields) -> Usage:
    split = fields(usage.get("cache_creation"))
    long = tokens(split.get("ephemeral_1h_input_tokens"))
    short = tokens(split.get("ephemeral_5m_input_tokens"))
    # The total is what is billed; where the split disagrees with it, the rest is of the usual five minutes.
    total = tokens(usage.get("cache_creation_input_tokens")) or long + short
    long = min(long, total)
    details = fields(usage.get("output_tokens_details"))
    output = tokens(usage.get("output_tokens"))
    return Usage(
        uncached=tokens(usage.get("input_tokens")),
        cache_read=tokens(usage.get("cache_read_input_tokens")),
        cache_write_5m=total - long,
        cache_write_1h=long,
        output=output,
        reasoning=min(output, tokens(details.get("thinking_tokens"))),
    )


def reports_usage(raw: object) -> bool:
    """Say whether a usage reports anything; clients write zeros for calls that were never answered."""
    usage = fields(raw)
    return any(tokens(usage.get(name)) for name in _COUNTS)
