"""Read a user's own prices and windows from a TOML or JSON file (schema in docs/prices.md).

[[models]]
match = "my-model-*"      # normalised model name; * stands for anything
input = 3.0               # USD per million tokens
window = 200000           # tokens
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import cast

from ctxheap.prices.assumptions import provider_id
from ctxheap.prices.listing import Price, PriceKey
from ctxheap.tokens.names import normal_name

ENVIRONMENT_VARIABLE = "CTXHEAP_PRICES"
DEFAULT_PATH = Path("~/.config/ctxheap/prices.toml")

_PRICES: tuple[PriceKey, ...] = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output")
_MODEL_KEYS = frozenset({"match", "provider", "window", "date", "tiers", *_PRICES})
_TIER_KEYS = frozenset({"above", *_PRICES})


class OverrideError(ValueError):
    """Tell what is wrong with a price file: the file, the key and the value."""


@dataclass(frozen=True, slots=True)
class Override:
    """Hold what a user said about the models of one pattern; what is not named stays as it was."""

    match: str
    provider: str
    prices: Mapping[PriceKey, Price] = field(hash=False)
    window: int | None
    date: str
    source: str

    def fits(self, model: str, provider: str) -> bool:
        """Return whether this override is for a model as reported by its source."""
        if self.provider and provider_id(self.provider) != provider_id(provider):
            return False
        return fnmatchcase(normal_name(model), self.match) or fnmatchcase(model.strip().lower(), self.match)


def find_file(path: Path | None, environment: Mapping[str, str] | None = None) -> Path | None:
    """Return the price file to read: the one given, else CTXHEAP_PRICES, else the default if it is there."""
    named = path or (environment if environment is not None else os.environ).get(ENVIRONMENT_VARIABLE)
    if named:
        return Path(named).expanduser()
    default = DEFAULT_PATH.expanduser()
    return default if default.is_file() else None


def read_overrides(path: Path) -> tuple[Override, ...]:
    """Return the overrides of a file; where several fit a model, the last one wins.

    Raises:
        OverrideError: The file cannot be read, or a key or value in it is not allowed.
    """
    document = _Table(path, "", _parse(path))
    document.allow(frozenset({"models"}))
    return tuple(_override(entry) for entry in document.tables("models"))


def _parse(path: Path) -> object:
    import tomllib  # noqa: PLC0415 - 10 ms that only a process with a price file pays

    load: Callable[[str], object] = json.loads if path.suffix.lower() == ".json" else tomllib.loads
    try:
        return load(path.read_text("utf-8"))
    except OSError as error:
        raise OverrideError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise OverrideError(f"{path}: {error}") from error


@dataclass(frozen=True, slots=True)
class _Table:
    """Read one table of the file; `where` is its place in it, for messages."""

    path: Path
    where: str
    value: object

    @property
    def items(self) -> Mapping[str, object]:
        value = self.value
        if not isinstance(value, dict):
            raise self.error("", value, "a table")
        return cast("dict[str, object]", value)

    def error(self, key: str, value: object, wanted: str) -> OverrideError:
        """Return the error that names the file, the place in it and the value."""
        place = ".".join(part for part in (self.where, key) if part) or "the file"
        return OverrideError(f"{self.path}: {place} = {value!r}: expected {wanted}")

    def allow(self, keys: frozenset[str]) -> None:
        for key in self.items:
            if key not in keys:
                raise self.error(key, self.items[key], f"one of the keys {', '.join(sorted(keys))}")

    def tables(self, key: str) -> list[_Table]:
        value = self.items.get(key, [])
        if not isinstance(value, list):
            raise self.error(key, value, "a list of tables")
        place = f"{self.where}.{key}" if self.where else key
        entries = cast("list[object]", value)
        return [_Table(self.path, f"{place}[{index}]", entry) for index, entry in enumerate(entries)]

    def text(self, key: str) -> str:
        value = self.items.get(key, "")
        if not isinstance(value, str):
            # TOML has dates of its own; they print as ISO dates.
            return (
                str(value)
                if key == "date" and not isinstance(value, (bool, int, float))
                else self._bad_text(key)
            )
        return value

    def _bad_text(self, key: str) -> str:
        raise self.error(key, self.items[key], "a string")

    def price(self, key: PriceKey) -> float | None:
        value = self.items.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
            raise self.error(key, value, "a price in USD per million tokens, 0 or more")
        return float(value)

    def tokens(self, key: str) -> int | None:
        value = self.items.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            raise self.error(key, value, "a whole number of tokens above 0")
        return value


def _override(table: _Table) -> Override:
    table.allow(_MODEL_KEYS)
    match = table.text("match").strip().lower()
    if not match:
        raise table.error("match", table.items.get("match"), "a model name, * standing for anything")
    return Override(
        match=match,
        provider=table.text("provider"),
        prices=_prices(table),
        window=table.tokens("window"),
        date=table.text("date"),
        source=f"{table.path}: {match}",
    )


def _prices(table: _Table) -> dict[PriceKey, Price]:
    tiers = sorted(((_above(tier), tier) for tier in table.tables("tiers")), key=lambda pair: pair[0])
    prices: dict[PriceKey, Price] = {}
    for key in _PRICES:
        steps = tuple((above, price) for above, tier in tiers if (price := tier.price(key)) is not None)
        base = table.price(key)
        if base is None and steps:
            raise table.error(key, None, "a price, because a tier below it has one")
        if base is not None:
            prices[key] = Price(base, steps)
    return prices


def _above(table: _Table) -> int:
    table.allow(_TIER_KEYS)
    above = table.tokens("above")
    if above is None:
        raise table.error("above", None, "a whole number of tokens above 0")
    return above
