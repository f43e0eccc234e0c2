"""Find models in the bundled price list of genai-prices, an optional package, without any network.

This is the one module that touches that package. It is imported on first use (0.4 s, 30 MB), only
its bundled data is read, and its updater is never started.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING

from ctxheap.prices.assumptions import provider_id
from ctxheap.prices.listing import Price, PriceSet
from ctxheap.prices.plain import KEYS, ListingData, PricesData, TermsData, keyed
from ctxheap.tokens.names import normal_name

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ConditionalPrice, ModelInfo, ModelPrice, PriceVariant, Provider

MISSING = "genai-prices is not installed; install ctxheap[profile] to get prices and context windows"

_BEDROCK_NAME = re.compile(
    r"^(?:[a-z-]+\.)?(?:anthropic|amazon|meta|mistral|cohere|ai21|deepseek|qwen)\.[a-z]"
)


class PricesMissingError(ModuleNotFoundError):
    """Tell that the optional price list is not installed."""


@dataclass(frozen=True, slots=True)
class GenaiListing:
    """Give one model's prices as genai-prices has them."""

    provider: str
    source: str
    date: str
    info: ModelInfo
    is_own: bool

    @property
    def window(self) -> int | None:
        """Return the context window in tokens."""
        return self.info.context_window

    def prices(self, when: datetime | None, context: Mapping[str, str]) -> PriceSet:
        """Return the prices at a moment; tiers of a model sold by somebody else do not apply."""
        moment = when or datetime.combine(date.fromisoformat(self.date), time(12), UTC)
        variants = self._variants(moment, context) if self.is_own else []
        # One selector at a time: a variant names exactly one of them.
        price = self.info.get_prices(moment, dict(context) if variants else None)
        return PriceSet(keyed(_raw(price)), tier_applied=bool(variants))

    def _variants(self, moment: datetime, context: Mapping[str, str]) -> list[PriceVariant]:
        return [
            variant
            for variant in self.info.price_variants or ()
            if all(context.get(key) == value for key, value in variant.when.items())
            and (variant.constraint is None or variant.constraint.active(moment))
        ]


def find(model: str, provider: str) -> GenaiListing | None:
    """Return the listing of a model at a provider, None when the list does not know it.

    A provider that the list knows but that does not sell the model stands for a compatible API: the
    model's own vendor is taken. A provider that the list does not know is not guessed at, since the
    model may run on somebody's own machine.

    Raises:
        PricesMissingError: genai-prices is not installed.
    """
    snapshot = _snapshot()
    for where in _providers(model, provider):
        if where and not _is_known(snapshot, where):
            return None
        for name in _names(model):
            if found := _lookup(snapshot, name, where):
                return _listing(*found)
    return None


def _providers(model: str, provider: str) -> Iterator[str]:
    """Yield the provider ids to try, "" for the vendor that the model's name points to."""
    given = provider_id(provider)
    if given:
        yield given
    elif _BEDROCK_NAME.match(model.strip().lower()):
        yield "aws"
    elif "/" in model and (route := provider_id(model.split("/", 1)[0])) and _is_known(_snapshot(), route):
        yield route
    yield ""


def _names(model: str) -> Sequence[str]:
    """Return the spellings to try: the name as it is, without each leading route, and normalised."""
    routes = model.strip().lower().split("/")
    return list(dict.fromkeys([*("/".join(routes[i:]) for i in range(len(routes))), normal_name(model)]))


def _is_known(snapshot: DataSnapshot, provider: str) -> bool:
    try:
        snapshot.find_provider(None, provider, None)
    except LookupError:
        return False
    return True


def _lookup(snapshot: DataSnapshot, name: str, provider: str) -> tuple[Provider, ModelInfo] | None:
    try:
        return snapshot.find_provider_model(name, None, provider or None, None)
    except LookupError:
        return None


def _listing(provider: Provider, info: ModelInfo) -> GenaiListing:
    return GenaiListing(
        provider=provider.id,
        source=f"genai-prices {_version()}: {provider.id}/{info.id}",
        date=_data_date().isoformat(),
        info=info,
        is_own=any(info is model for model in provider.models),
    )


def _raw(price: ModelPrice) -> dict[str, Price]:
    """Return the prices that we use, under the list's names."""
    names = (name for names in KEYS.values() for name in names)
    found = ((name, _price(price, name)) for name in names)
    return {name: value for name, value in found if value is not None}


def _price(price: ModelPrice, name: str) -> Price | None:
    value = price.__dict__.get(name)
    if value is None:
        return None
    if isinstance(value, Decimal):
        return Price(float(value))
    return Price(float(value.base), tuple((tier.start, float(tier.price)) for tier in value.tiers))


@cache
def _snapshot() -> DataSnapshot:
    try:
        from genai_prices.data import providers  # noqa: PLC0415 - optional, and 0.4 s to import
        from genai_prices.data_snapshot import DataSnapshot  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise PricesMissingError(MISSING, name="genai_prices") from error
    # Our own snapshot: the package's current one may have been replaced by its updater.
    return DataSnapshot(providers=providers, from_auto_update=False)


@cache
def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - 50 ms, and the package imports it too

    return version("genai-prices")


@cache
def _data_date() -> date:
    """Return the date of the newest price change in the list that is not still to come."""
    today = datetime.now(UTC).date()
    return max(start for start in _change_dates() if start <= today)


def change_dates() -> list[str]:
    """Return the ISO dates of all price changes that the list knows, those still to come too."""
    return [start.isoformat() for start in _change_dates()]


@cache
def _change_dates() -> tuple[date, ...]:
    from genai_prices.types import StartDateConstraint  # noqa: PLC0415 - optional

    constraints = (
        entry.constraint
        for provider in _snapshot().providers
        for model in provider.models
        if isinstance(model.prices, list)
        for entry in model.prices
    )
    found = {
        constraint.start_date for constraint in constraints if isinstance(constraint, StartDateConstraint)
    }
    return tuple(sorted(found))


def plain_data(listing: GenaiListing) -> ListingData | None:
    """Return a listing as plain data, None where the list says something that has no place in it."""
    from genai_prices.types import ConditionalPrice  # noqa: PLC0415 - optional

    info = listing.info
    prices = info.prices if isinstance(info.prices, list) else [ConditionalPrice(prices=info.prices)]
    standard = [_terms(entry, {}) for entry in prices]
    variants = [_terms(entry, entry.when) for entry in info.price_variants or ()]
    if not standard or None in standard or None in variants:
        return None
    return {
        "provider": listing.provider,
        "source": listing.source,
        "window": listing.window,
        "is_own": listing.is_own,
        "standard": [terms for terms in standard if terms],
        "variants": [terms for terms in variants if terms],
    }


def _terms(entry: ConditionalPrice | PriceVariant, when: Mapping[str, str]) -> TermsData | None:
    from genai_prices.types import StartDateConstraint, TimeOfDateConstraint  # noqa: PLC0415 - optional

    terms: TermsData = {
        "when": dict(when),
        "from_date": "",
        "times": [],
        "prices": _prices_data(entry.prices),
    }
    constraint: object = entry.constraint  # other versions of the package may know more kinds
    if isinstance(constraint, StartDateConstraint):
        terms["from_date"] = constraint.start_date.isoformat()
    elif isinstance(constraint, TimeOfDateConstraint):
        terms["times"] = [_utc(constraint.start_time), _utc(constraint.end_time)]
    elif constraint is not None:
        return None
    return terms


def _utc(moment: time) -> str:
    """Return a time of day in UTC, which is what one without a zone is in."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return datetime.combine(date(1970, 1, 1), aware).astimezone(UTC).timetz().isoformat()


def _prices_data(price: ModelPrice) -> PricesData:
    return {name: (value.base, list(value.steps)) for name, value in _raw(price).items()}
