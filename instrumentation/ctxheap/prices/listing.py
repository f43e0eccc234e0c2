"""Hold a model's prices in plain types, whatever list they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

PriceKey = Literal[
    "input", "cache_read", "cache_write_5m", "cache_write_1h", "output", "reasoning", "requests"
]


@dataclass(frozen=True, slots=True)
class Price:
    """Hold a price in USD per million tokens that may step up with the request's whole input.

    `steps` are (tokens, price), ascending: above that many input tokens every token of the request
    pays that price.
    """

    base: float
    steps: tuple[tuple[int, float], ...] = ()

    def at(self, input_tokens: int) -> float:
        """Return the price for a request of so many input tokens, in USD per million tokens."""
        price = self.base
        for above, stepped in self.steps:
            if input_tokens > above:
                price = stepped
        return price


@dataclass(frozen=True, slots=True)
class PriceSet:
    """Hold the prices of a model that apply at one moment in one service tier.

    `tier_applied` tells whether the source had prices of its own for the tier that was asked for.
    """

    prices: Mapping[PriceKey, Price] = field(hash=False)
    tier_applied: bool = False


class Listing(Protocol):
    """Give one model's prices and window from one source."""

    @property
    def source(self) -> str:
        """Return where it is from, as "source: provider/model"."""
        ...

    @property
    def date(self) -> str:
        """Return the ISO date of the newest price change the source knows."""
        ...

    @property
    def provider(self) -> str:
        """Return the id of the provider that is paid."""
        ...

    @property
    def window(self) -> int | None:
        """Return the context window in tokens, None when the source does not say."""
        ...

    def prices(self, when: datetime | None, context: Mapping[str, str]) -> PriceSet:
        """Return the prices at a moment (None: noon UTC of `date`) for a tier's selectors."""
        ...
