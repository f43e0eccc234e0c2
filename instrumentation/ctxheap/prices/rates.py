"""Define what one request pays per token, and what its usage comes to."""

from __future__ import annotations

from dataclasses import dataclass

from ctxheap.heap.model import Usage


@dataclass(frozen=True, slots=True)
class Rates:
    """Hold the prices of one whole request in USD per token, long-context and service tiers applied.

    Attributes:
        uncached: Price of an input token that was neither read from nor written to the cache.
        cache_read: Price of an input token read from the cache.
        cache_write_5m: Price of an input token written to the cache for five minutes.
        cache_write_1h: Price of an input token written to the cache for one hour.
        output: Price of an output token, reasoning included.
        source: Where the prices are from, as "source: provider/model".
        date: ISO date of the newest price change known to that source.
        unpriced: What this request used that had no price of its own, to be shown with the cost: a
            class priced by an assumed factor ("cache_read", "cache_write_5m", "cache_write_1h"), a
            tier taken as standard ("service_tier:<tier>"), or something left out of the cost
            ("output", "requests").
    """

    uncached: float
    cache_read: float
    cache_write_5m: float
    cache_write_1h: float
    output: float
    source: str
    date: str
    unpriced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """Hold what a request cost, in USD; `output` is None when the source has no price for it."""

    input: float
    output: float | None

    @property
    def total(self) -> float | None:
        """Return input and output together in USD, None when a part of it is unknown."""
        return None if self.output is None else self.input + self.output


def cost_usd(rates: Rates, usage: Usage) -> Cost:
    """Return the bill of a request in USD, input and output apart."""
    paid = (
        usage.uncached * rates.uncached
        + usage.cache_read * rates.cache_read
        + usage.cache_write_5m * rates.cache_write_5m
        + usage.cache_write_1h * rates.cache_write_1h
    )
    return Cost(paid, None if "output" in rates.unpriced else usage.output * rates.output)
