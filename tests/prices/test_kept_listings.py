"""Check that kept listings say what the price list says, and that no cache can do harm."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from genai_prices.data import providers

from ctxheap.heap.model import Usage
from ctxheap.prices import genai, kept, load_book
from ctxheap.prices.kept import KeptListings, cache_file
from ctxheap.prices.listing import Listing
from ctxheap.prices.plain import PlainListing, listing_of

ALL = [(model.id, provider.id) for provider in providers for model in provider.models]
DAY = datetime(2026, 11, 30, tzinfo=UTC)
MOMENTS = [None, datetime(2023, 1, 1, tzinfo=UTC), *(DAY + timedelta(minutes=30 * n) for n in range(48))]
CONTEXTS: list[dict[str, str]] = [
    {},
    {"service_tier": "batch"},
    {"service_tier": "priority"},
    {"service_tier": "flex"},
    {"speed": "fast"},
]
USAGE = Usage(uncached=1_000, cache_read=20_000, cache_write_5m=300, output=40)

DAMAGES: list[Callable[[str], str]] = [
    lambda text: "",
    lambda text: text[: len(text) // 2],
    lambda text: "[]",
    lambda text: "[" * 100_000,
    lambda text: text.replace('"standard": [{', '"standard": [{"x": 1}, {'),
    lambda text: text.replace('"standard"', '"sub-standard"'),
    lambda text: json.dumps({**json.loads(text), "starts": []}),
    lambda text: json.dumps({**json.loads(text), "starts": [1]}),
    lambda text: json.dumps({**json.loads(text), "listings": {'["gpt-5", "openai"]': 7}}),
    lambda text: json.dumps({**json.loads(text), "stamp": ["other"]}),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "prices.json"


def figures(listing: Listing | None) -> object:
    if listing is None:
        return None
    prices = [listing.prices(when, context) for when in MOMENTS for context in CONTEXTS]
    return listing.provider, listing.source, listing.date, listing.window, prices


def plain(listing: genai.GenaiListing | None) -> PlainListing | None:
    data = genai.plain_data(listing) if listing else None
    return listing_of(json.loads(json.dumps(data)), date=listing.date) if listing and data else None


def test_every_listing_is_the_same_as_plain_data_at_any_time_and_in_any_tier() -> None:
    listings = [found for model, provider in ALL if (found := genai.find(model, provider))]

    assert len(listings) > 500
    assert [figures(plain(found)) for found in listings] == [figures(found) for found in listings]


def test_a_second_run_does_not_import_the_price_list(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = KeptListings(path)
    expected = [figures(first.find("gpt-5", "openai")), figures(first.find("claude-sonnet-4-5", "anthropic"))]
    monkeypatch.delattr(genai, "find")

    second = KeptListings(path)

    assert [
        figures(second.find("gpt-5", "openai")),
        figures(second.find("claude-sonnet-4-5", "anthropic")),
    ] == expected


def test_that_a_model_is_unknown_is_kept_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert KeptListings(path).find("house-model", "ollama") is None
    monkeypatch.delattr(genai, "find")

    assert KeptListings(path).find("house-model", "ollama") is None


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_foreign_file_counts_as_empty_and_is_mended(
    path: Path, damage: Callable[[str], str]
) -> None:
    expected = figures(KeptListings(path).find("gpt-5", "openai"))
    whole = path.read_text("utf-8")
    path.write_text(damage(whole), "utf-8")

    assert figures(KeptListings(path).find("gpt-5", "openai")) == expected
    assert json.loads(path.read_text("utf-8")) == json.loads(whole)


def test_another_price_list_empties_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    KeptListings(path).find("gpt-5", "openai")
    monkeypatch.setattr(kept, "_stamp", lambda: ["newer"])
    KeptListings(path).find("gpt-4o", "openai")

    assert list(json.loads(path.read_text("utf-8"))["listings"]) == ['["gpt-4o", "openai"]']


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    found = KeptListings(tmp_path / "file" / "prices.json").find("gpt-5", "openai")

    assert figures(found) == figures(genai.find("gpt-5", "openai"))


@pytest.mark.skipif(sys.platform == "win32", reason="modes are those of POSIX")
def test_only_the_user_can_read_the_file_and_nothing_else_is_left(path: Path) -> None:
    KeptListings(path).find("gpt-5", "openai")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_book_that_keeps_answers_as_one_that_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXHEAP_CACHE", str(tmp_path))
    plain_book, cold, warm = load_book(), load_book(keeps=True), load_book(keeps=True)

    expected = plain_book.rates("claude-sonnet-4-5", "anthropic", USAGE, 0)

    assert cold.rates("claude-sonnet-4-5", "anthropic", USAGE, 0) == expected
    assert warm.rates("claude-sonnet-4-5", "anthropic", USAGE, 0) == expected
    assert warm.window("gpt-4o", "openai") == plain_book.window("gpt-4o", "openai")
    assert (tmp_path / "prices.json").is_file()


def test_the_cache_is_off_named_or_in_the_platforms_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXHEAP_CACHE", "off")
    off = cache_file()
    monkeypatch.setenv("CTXHEAP_CACHE", str(tmp_path / "own"))
    named = cache_file()
    monkeypatch.delenv("CTXHEAP_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert (off, named, cache_file()) == (
        None,
        tmp_path / "own" / "prices.json",
        tmp_path / "ctxheap" / "prices.json",
    )
