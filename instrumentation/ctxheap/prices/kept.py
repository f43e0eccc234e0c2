"""Keep the listings that were looked up in the user's cache folder: the price list takes 0.5 s to import.

    <cache>/ctxheap/prices.json   {"stamp": …, "starts": [dates of price changes], "listings": {key: listing}}

The file is made for one installed price list and one version of ctxheap. One that is damaged, or that
was made for others, counts as empty; a folder that cannot be written to is no error.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TypedDict, cast

from ctxheap import __version__
from ctxheap.prices import genai
from ctxheap.prices.listing import Listing
from ctxheap.prices.plain import ListingData, listing_of

VARIABLE = "CTXHEAP_CACHE"
FORMAT = 1
# A user has some dozens of models; past this the file starts anew.
MOST_LISTINGS = 500


class _File(TypedDict):
    stamp: list[str | int]
    starts: list[str]
    listings: dict[str, ListingData | None]


@dataclass(slots=True)
class KeptListings:
    """Find listings in a file first, in the price list second, and write down what was found there."""

    path: Path
    _file: _File | None = field(default=None, init=False, repr=False)

    def find(self, model: str, provider: str) -> Listing | None:
        """Return the listing of a model at a provider, as `genai.find` does.

        Raises:
            PricesMissingError: genai-prices is not installed.
        """
        stamp = _stamp()
        if stamp is None:
            return genai.find(model, provider)
        if self._file is None or self._file["stamp"] != stamp:
            self._file = _read(self.path, stamp)
        key = json.dumps((model, provider))
        with suppress(KeyError, TypeError, ValueError, AttributeError):
            data = self._file["listings"][key]
            return None if data is None else listing_of(data, date=_newest(self._file["starts"]))
        found = genai.find(model, provider)
        self._keep(key, found, stamp)
        return found

    def _keep(self, key: str, found: genai.GenaiListing | None, stamp: list[str | int]) -> None:
        data = None if found is None else genai.plain_data(found)
        if found is not None and data is None:
            return
        # Read again: another process may have added to it.
        listings = _read(self.path, stamp)["listings"]
        listings = {} if len(listings) >= MOST_LISTINGS else listings
        self._file = {"stamp": stamp, "starts": genai.change_dates(), "listings": {**listings, key: data}}
        with suppress(OSError):
            _write(self.path, json.dumps(self._file).encode())


def cache_file() -> Path | None:
    """Return where listings are kept, by CTXHEAP_CACHE or in the platform's place; None when it is off."""
    named = os.environ.get(VARIABLE, "")
    if named.lower() in {"off", "0"}:
        return None
    folder = Path(named) if named else _cache_folder() / "ctxheap"
    return folder / "prices.json" if folder.is_absolute() else None


def _cache_folder() -> Path:
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if xdg.is_absolute():
        return xdg
    # Path.home raises for a user who has none, which is no reason to fail.
    home = Path(os.path.expanduser("~"))  # noqa: PTH111
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    return home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"


def _stamp() -> list[str | int] | None:
    """Return what the file was made for, None where there is no price list to be seen.

    The version alone would not tell an edited list, and takes 50 ms to find.
    """
    with suppress(OSError, ImportError, ValueError):
        spec = find_spec("genai_prices")
        if spec and spec.origin:
            seen = Path(spec.origin).with_name("data.py").stat()
            return [FORMAT, __version__, spec.origin, seen.st_size, seen.st_mtime_ns]
    return None


def _newest(starts: list[str]) -> str:
    """Return the date of the newest price change that is not still to come."""
    today = datetime.now(UTC).date().isoformat()
    return max(start for start in starts if start <= today)


def _read(path: Path, stamp: list[str | int]) -> _File:
    empty: _File = {"stamp": stamp, "starts": [], "listings": {}}
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        found = cast("_File", json.loads(path.read_bytes()))
        if found["stamp"] == stamp and type(found["listings"]) is dict and type(found["starts"]) is list:
            return found
    return empty


def _write(path: Path, data: bytes) -> None:
    """Replace the file as a whole, readable by its user only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        new = Path(file.name)
        try:
            file.write(data)
            file.close()  # Windows replaces no open file
            new.replace(path)
        except OSError:
            file.close()
            new.unlink()
            raise
