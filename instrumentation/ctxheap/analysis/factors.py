"""Express cache and output prices as factors of an uncached input token (SPEC 7: p, r, w, ω)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ctxheap.heap.model import Usage
from ctxheap.prices import Rates
from ctxheap.prices.assumptions import cache_factors
from ctxheap.tokens.names import normal_name

UNKNOWN_OUTPUT = 5.0
"""ω where no price is known: the ratio of the two list prices of most models sold in 2026."""


@dataclass(frozen=True, slots=True)
class Factors:
    """Hold what the economics of a cache need to know of a model's prices.

    Attributes:
        price: p, USD per uncached input token; None when it is unknown.
        read: r, price of a token read from the cache over p.
        write: w, price of a token stored in the cache over p, as written with the session's time to
            live; 1 where storing costs nothing beyond the token itself.
        output: ω, price of an output token over p.
    """

    price: float | None
    read: float
    write: float
    output: float = UNKNOWN_OUTPUT

    def usd(self, token_equivalents: float) -> float | None:
        """Return the money for a number of uncached input tokens, None when their price is unknown."""
        return None if self.price is None else self.price * token_equivalents


def factors_of(rates: Rates | None, model: str, *, hour: bool = False) -> Factors:
    """Return the factors of a call; without prices the dated assumptions for the model's name.

    Args:
        rates: Prices of the call, None when unknown.
        model: The model's name as reported.
        hour: Whether the session stores its prefixes for an hour rather than five minutes.
    """
    assumed = cache_factors(normal_name(model))
    if rates is None or rates.uncached <= 0:
        return Factors(None, assumed.read, assumed.write_1h if hour else assumed.write_5m)
    written = rates.cache_write_1h if hour else rates.cache_write_5m
    has_output = "output" not in rates.unpriced and rates.output > 0
    return Factors(
        rates.uncached,
        rates.cache_read / rates.uncached,
        written / rates.uncached,
        rates.output / rates.uncached if has_output else UNKNOWN_OUTPUT,
    )


def writes_for_an_hour(usages: Iterable[Usage | None]) -> bool:
    """Return whether most of what a session stored was stored for an hour."""
    known = [usage for usage in usages if usage is not None]
    return sum(usage.cache_write_1h for usage in known) > sum(usage.cache_write_5m for usage in known)
