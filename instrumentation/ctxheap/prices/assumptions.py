"""Read the dated assumptions that stand in where the price list is silent (`assumptions.json`)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NotRequired, TypedDict


class _CacheData(TypedDict):
    match: str
    read: float
    write_5m: float
    write_1h: float


class _TierData(TypedDict):
    standard: NotRequired[bool]
    context: NotRequired[dict[str, str]]
    factor: NotRequired[float]
    providers: NotRequired[list[str]]


class _WindowData(TypedDict):
    match: str
    tokens: int


class _Data(TypedDict):
    date: str
    source: str
    cache: list[_CacheData]
    tiers: dict[str, _TierData]
    providers: dict[str, str]
    windows: list[_WindowData]


@dataclass(frozen=True, slots=True)
class CacheFactors:
    """Hold the price of cache traffic as factors of the uncached input price (SPEC 7's r and w)."""

    read: float
    write_5m: float
    write_1h: float


@dataclass(frozen=True, slots=True)
class ServiceTier:
    """Say how a service tier is priced.

    Attributes:
        standard: Whether the tier is the standard one under another name.
        context: The price list's own selectors for the tier.
        factor: Factor on every standard price when the price list has no entry; None if none is known.
        providers: Providers the factor is known for.
    """

    standard: bool
    context: Mapping[str, str]
    factor: float | None
    providers: frozenset[str]


UNKNOWN_TIER = ServiceTier(standard=False, context={}, factor=None, providers=frozenset())


def cache_factors(name: str) -> CacheFactors:
    """Return the cache factors to assume for a model, by its normalised name."""
    entry = next(entry for entry in _data()["cache"] if re.search(entry["match"], name))
    return CacheFactors(entry["read"], entry["write_5m"], entry["write_1h"])


@cache
def service_tier(name: str) -> ServiceTier:
    """Return how a tier is priced; a tier nobody has written down is UNKNOWN_TIER."""
    entry = _data()["tiers"].get(name.strip().lower())
    if entry is None:
        return UNKNOWN_TIER
    return ServiceTier(
        standard=entry.get("standard", False),
        context=entry.get("context", {}),
        factor=entry.get("factor"),
        providers=frozenset(entry.get("providers", [])),
    )


def provider_id(provider: str) -> str:
    """Return the price list's id of a provider; "" when the model's name alone has to decide."""
    name = provider.strip().lower()
    return _data()["providers"].get(name, name)


def assumed_window(model: str) -> int | None:
    """Return the context window in tokens for models that the price list names without one."""
    windows = _data()["windows"]
    return next((entry["tokens"] for entry in windows if re.search(entry["match"], model)), None)


def is_long_variant(model: str) -> bool:
    """Return whether a name asks for the long-context variant of a model ("[1m]")."""
    return model.strip().lower().endswith("[1m]")


@cache
def _data() -> _Data:
    data: _Data = json.loads((Path(__file__).parent / "assumptions.json").read_text("utf-8"))
    return data
