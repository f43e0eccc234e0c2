"""Charge each object of one prompt its share of the input bill, by cache class (SPEC 3.4).

    prompt   | object | object | object | object | object |
    classes  |<--- cache read ---->|<- write ->|< uncached|     0 ... T tokens

The prompt cache serves a prefix, so the cost of the first x tokens is one broken line, and the rent
of an object is the difference of that line between its two ends. A negative `unattributed` at the
end walks the line back, which gives back what the objects before it were charged too much.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol

from ctxheap.heap.model import Usage


class Rates(Protocol):
    """Name what one input token of each cache class costs, in USD."""

    @property
    def uncached(self) -> float:
        """Return USD for a token that no cache served."""
        ...

    @property
    def cache_read(self) -> float:
        """Return USD for a token read from the cache."""
        ...

    @property
    def cache_write_5m(self) -> float:
        """Return USD for a token written to the cache for five minutes."""
        ...

    @property
    def cache_write_1h(self) -> float:
        """Return USD for a token written to the cache for an hour."""
        ...


def input_bill(usage: Usage, rates: Rates) -> float:
    """Return the input side of a call's bill in USD."""
    return (
        usage.uncached * rates.uncached
        + usage.cache_read * rates.cache_read
        + usage.cache_write_5m * rates.cache_write_5m
        + usage.cache_write_1h * rates.cache_write_1h
    )


def rent(tokens: Sequence[int], usage: Usage, rates: Rates) -> list[float]:
    """Return the rent of each object in USD; the sum is the input bill to 1e-9 of it.

    Which of the written tokens live five minutes and which an hour is not reported by place, so
    within the written span every token costs the mean of the two.

    Args:
        tokens: Billed tokens in prompt order, adding up to `usage.input`; the last may be negative.
        usage: The call's billed tokens by class.
        rates: USD per token of each class, at the call's date.
    """
    spans = _spans(usage, rates)
    ends = list(accumulate(tokens))
    ascending = len(ends) - (len(ends) > 0 and tokens[-1] < 0)
    rents: list[float] = []
    for limit, rate in spans[:-1]:
        first = len(rents)
        stop = bisect_right(ends, limit, first, max(first, ascending))
        rents.extend([count * rate for count in tokens[first:stop]])
        if stop < ascending and ends[stop] - tokens[stop] < limit:
            rents.append(_cost(ends[stop], spans) - _cost(ends[stop] - tokens[stop], spans))
    open_rate = spans[-1][1]
    rents.extend([count * open_rate for count in tokens[len(rents) :]])
    return rents


def _spans(usage: Usage, rates: Rates) -> list[tuple[int, float]]:
    """Return (end, USD per token) of each class in use; the last one is taken to have no end."""
    written = rates.cache_write_5m * usage.cache_write_5m + rates.cache_write_1h * usage.cache_write_1h
    served = usage.cache_read + usage.cache_write
    spans = (
        (usage.cache_read, usage.cache_read, rates.cache_read),
        (usage.cache_write, served, written / max(usage.cache_write, 1)),
        (usage.uncached, usage.input, rates.uncached),
    )
    return [(end, rate) for count, end, rate in spans if count] or [(0, rates.uncached)]


def _cost(tokens: int, spans: Sequence[tuple[int, float]]) -> float:
    """Return USD for the first `tokens` of the prompt."""
    cost, start = 0.0, 0
    for end, rate in spans[:-1]:
        cost += (min(tokens, end) - start) * rate
        start = end
        if tokens <= end:
            return cost
    return cost + (tokens - start) * spans[-1][1]
