"""Look prices and windows up: the user's file first, then genai-prices, then dated assumptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from ctxheap.heap.model import Usage
from ctxheap.prices import genai
from ctxheap.prices.assumptions import (
    assumed_window,
    cache_factors,
    is_long_variant,
    provider_id,
    service_tier,
)
from ctxheap.prices.kept import KeptListings, cache_file
from ctxheap.prices.listing import Listing, Price, PriceKey, PriceSet
from ctxheap.prices.overrides import Override, find_file, read_overrides
from ctxheap.prices.rates import Rates
from ctxheap.tokens.names import normal_name

NS_PER_MINUTE = 60 * 1_000_000_000
TOKENS_PER_PRICE = 1_000_000


@dataclass(frozen=True, slots=True)
class _Quote:
    """Hold the prices of a model for one tier at one moment, before a request's size is known."""

    prices: Mapping[PriceKey, Price]
    source: str
    date: str
    name: str
    notes: tuple[str, ...]


class _Listings(dict[tuple[str, str], Listing | None]):
    """Listings by (model, provider)."""


class _Quotes(dict[tuple[str, str, str, int | None], _Quote | None]):
    """Quotes by (model, provider, tier, minute since the epoch)."""


@dataclass(slots=True)
class PriceBook:
    """Answer for prices and windows; answers are cached, so that a call costs microseconds.

    `lookup` finds listings by model and provider, None in the price list itself. `missing` says what to
    install when that is not there; overrides work without it.
    """

    overrides: tuple[Override, ...] = ()
    lookup: Callable[[str, str], Listing | None] | None = field(default=None, repr=False)
    missing: str = field(default="", init=False)
    _listings: _Listings = field(default_factory=_Listings, init=False, repr=False)
    _quotes: _Quotes = field(default_factory=_Quotes, init=False, repr=False)

    def rates(self, model: str, provider: str, usage: Usage, started_ns: int | None) -> Rates | None:
        """Return what each token of a request costs, None when the model's price is unknown.

        `started_ns` is in nanoseconds since the epoch; prices that change by date or time of day are
        taken at that moment, without one at noon UTC of the list's newest date.
        """
        # Prices change at whole minutes: a minute is the finest key that can matter.
        minute = None if started_ns is None else started_ns // NS_PER_MINUTE
        key = (model, provider, usage.service_tier, minute)
        if key not in self._quotes:
            self._quotes[key] = self._quote(*key)
        quote = self._quotes[key]
        return None if quote is None else _rates(quote, usage)

    def window(self, model: str, provider: str) -> int | None:
        """Return the context window of a model in tokens, None when nobody knows it."""
        override = self._override(model, provider)
        if override and override.window:
            return override.window
        if is_long_variant(model):
            return assumed_window(model.strip().lower())
        for listing in (self._listing(model, provider), self._listing(model, "")):
            if listing and listing.window:
                return listing.window
        return assumed_window(normal_name(model))

    def _quote(self, model: str, provider: str, tier: str, minute: int | None) -> _Quote | None:
        override = self._override(model, provider)
        listing = self._listing(model, provider)
        found, notes = _in_tier(listing, tier, _moment(minute), provider)
        prices: dict[PriceKey, Price] = {**found, **(override.prices if override else {})}
        if override and override.prices and not service_tier(tier).standard:
            notes = (f"service_tier:{tier}",)  # a user's prices are those of the standard tier
        if "input" not in prices:
            return None
        source, date = _origin(override, listing)
        return _Quote(prices, source, date, normal_name(model), notes)

    def _override(self, model: str, provider: str) -> Override | None:
        return next((entry for entry in reversed(self.overrides) if entry.fits(model, provider)), None)

    def _listing(self, model: str, provider: str) -> Listing | None:
        key = (model, provider)
        if key not in self._listings:
            try:
                self._listings[key] = (self.lookup or genai.find)(model, provider)
            except genai.PricesMissingError as error:
                self.missing = str(error)
                return None
        return self._listings[key]


def _moment(minute: int | None) -> datetime | None:
    """Return the start of a minute since the epoch, None where it lies outside the calendar."""
    try:
        return None if minute is None else datetime.fromtimestamp(minute * 60, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _origin(override: Override | None, listing: Listing | None) -> tuple[str, str]:
    if override and override.prices:
        return override.source, override.date or (listing.date if listing else "")
    return (listing.source, listing.date) if listing else ("", "")


def _in_tier(
    listing: Listing | None, tier: str, when: datetime | None, provider: str
) -> tuple[Mapping[PriceKey, Price], tuple[str, ...]]:
    """Return the prices in a service tier, and a note when the tier had to be taken as standard."""
    known = service_tier(tier)
    note = () if known.standard else (f"service_tier:{tier}",)
    if listing is None:
        return {}, note
    found = _first_applied(listing, known.context, when)
    if known.standard or found.tier_applied:
        return found.prices, ()
    if known.factor is not None and {provider_id(provider), listing.provider} & known.providers:
        return {key: _times(price, known.factor) for key, price in found.prices.items()}, ()
    return found.prices, note


def _first_applied(listing: Listing, context: Mapping[str, str], when: datetime | None) -> PriceSet:
    """Return the prices of the first selector the list knows, else the standard ones."""
    for key, value in context.items():
        found = listing.prices(when, {key: value})
        if found.tier_applied:
            return found
    return listing.prices(when, {})


def _times(price: Price, factor: float) -> Price:
    return Price(price.base * factor, tuple((above, step * factor) for above, step in price.steps))


def _rates(quote: _Quote, usage: Usage) -> Rates:
    at: dict[PriceKey, float] = {key: price.at(usage.input) for key, price in quote.prices.items()}
    factors = cache_factors(quote.name)
    uncached = at["input"]
    cache_read = at.get("cache_read", uncached * factors.read)
    write_5m = at.get("cache_write_5m", uncached * factors.write_5m)
    write_1h = at.get("cache_write_1h", uncached * factors.write_1h)
    return Rates(
        uncached=uncached / TOKENS_PER_PRICE,
        cache_read=cache_read / TOKENS_PER_PRICE,
        cache_write_5m=write_5m / TOKENS_PER_PRICE,
        cache_write_1h=write_1h / TOKENS_PER_PRICE,
        output=_output(at, usage) / TOKENS_PER_PRICE,
        source=quote.source,
        date=quote.date,
        unpriced=quote.notes + _unpriced(at, usage),
    )


def _output(at: Mapping[PriceKey, float], usage: Usage) -> float:
    """Return the price of an output token, reasoning blended in where it has a price of its own."""
    plain = at.get("output", 0.0)
    if "reasoning" not in at or not usage.output:
        return plain
    return (plain * (usage.output - usage.reasoning) + at["reasoning"] * usage.reasoning) / usage.output


def _unpriced(at: Mapping[PriceKey, float], usage: Usage) -> tuple[str, ...]:
    used: dict[PriceKey, int] = {
        "cache_read": usage.cache_read,
        "cache_write_5m": usage.cache_write_5m,
        "cache_write_1h": usage.cache_write_1h,
        "output": usage.output,
    }
    silent = tuple(key for key, tokens in used.items() if tokens and key not in at)
    return (*silent, "requests") if "requests" in at else silent


def load_book(path: Path | None = None, *, keeps: bool = False) -> PriceBook:
    """Return a price book with the user's file: `path`, else CTXHEAP_PRICES, else the default place.

    With `keeps`, what is looked up is kept in the user's cache folder (see `prices.kept`).

    Raises:
        OverrideError: The file was named and cannot be read, or holds something that is not allowed.
    """
    found = find_file(path)
    overrides = read_overrides(found) if found else ()
    file = cache_file() if keeps else None
    return PriceBook(overrides, KeptListings(file).find if file else None)


@cache
def default_book() -> PriceBook:
    """Return the process's price book."""
    return load_book()


def rates(model: str, provider: str, usage: Usage, started_ns: int | None) -> Rates | None:
    """Return what each token of a request costs, None when the model's price is unknown."""
    return default_book().rates(model, provider, usage, started_ns)


def window(model: str, provider: str) -> int | None:
    """Return the context window of a model in tokens, None when nobody knows it."""
    return default_book().window(model, provider)
