"""Hold a listing as plain data that goes to JSON and back, with the price list's own rules applied.

Of several standard prices the last that is in force counts, else the first; of several variants the
first that names a price.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import TypedDict

from ctxheap.prices.listing import Price, PriceKey, PriceSet

KEYS: Mapping[PriceKey, Sequence[str]] = {
    "input": ("input_mtok",),
    "cache_read": ("cache_read_mtok",),
    "cache_write_5m": ("cache_write_5m_mtok", "cache_write_mtok"),
    "cache_write_1h": ("cache_write_1h_mtok",),
    "output": ("output_mtok",),
    "reasoning": ("output_reasoning_mtok",),
    "requests": ("requests_kcount",),
}

# Names of the price list → [USD, [[above tokens, USD], …]].
PricesData = dict[str, tuple[float, list[tuple[int, float]]]]


class TermsData(TypedDict):
    """Hold prices and when they apply: from an ISO date on, or between two times of day in UTC."""

    when: dict[str, str]
    from_date: str
    times: list[str]
    prices: PricesData


class ListingData(TypedDict):
    """Hold a listing as JSON has it."""

    provider: str
    source: str
    window: int | None
    is_own: bool
    standard: list[TermsData]
    variants: list[TermsData]


@dataclass(frozen=True, slots=True)
class Terms:
    """Hold prices under the price list's names, and when and for which selectors they apply."""

    when: Mapping[str, str]
    from_date: date | None
    times: tuple[time, time] | None
    prices: Mapping[str, Price]

    def in_force(self, moment: datetime) -> bool:
        """Return whether the prices apply at a moment in UTC."""
        if self.from_date is not None:
            return moment.date() >= self.from_date
        if self.times is None:
            return True
        (start, end), now = self.times, moment.timetz()
        return start <= now < end if start <= end else now >= start or now < end


@dataclass(frozen=True, slots=True)
class PlainListing:
    """Give one model's prices from plain data."""

    provider: str
    source: str
    date: str
    window: int | None
    is_own: bool
    standard: tuple[Terms, ...]
    variants: tuple[Terms, ...]

    def prices(self, when: datetime | None, context: Mapping[str, str]) -> PriceSet:
        """Return the prices at a moment; tiers of a model sold by somebody else do not apply."""
        moment = when or datetime.combine(date.fromisoformat(self.date), time(12), UTC)
        variants = [
            terms
            for terms in self.variants
            if self.is_own
            and terms.in_force(moment)
            and all(context.get(key) == value for key, value in terms.when.items())
        ]
        applied = [terms for terms in self.standard if terms.in_force(moment)]
        found = dict((applied[-1] if applied else self.standard[0]).prices)
        for terms in reversed(variants):
            found |= terms.prices
        return PriceSet(keyed(found), tier_applied=bool(variants))


def keyed(prices: Mapping[str, Price]) -> dict[PriceKey, Price]:
    """Return prices under our keys from prices under the price list's names."""
    found: dict[PriceKey, Price] = {}
    for key, names in KEYS.items():
        for name in names:
            if key not in found and name in prices:
                found[key] = prices[name]
    return found


def listing_of(data: ListingData, *, date: str) -> PlainListing:
    """Return the listing that some data holds.

    Raises:
        KeyError, TypeError, ValueError: The data is damaged.
    """
    standard = tuple(map(_terms, data["standard"]))
    if not standard:
        raise ValueError("a listing without prices")
    return PlainListing(
        provider=str(data["provider"]),
        source=str(data["source"]),
        date=date,
        window=None if data["window"] is None else int(data["window"]),
        is_own=bool(data["is_own"]),
        standard=standard,
        variants=tuple(map(_terms, data["variants"])),
    )


def _terms(data: TermsData) -> Terms:
    times = [time.fromisoformat(moment) for moment in data["times"]]
    return Terms(
        when=dict(data["when"]),
        from_date=date.fromisoformat(data["from_date"]) if data["from_date"] else None,
        times=(times[0], times[1]) if times else None,
        prices={
            name: Price(float(base), tuple((int(above), float(price)) for above, price in steps))
            for name, (base, steps) in data["prices"].items()
        },
    )
