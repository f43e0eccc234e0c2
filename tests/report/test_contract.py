"""Check that the profile's JSON is the contract of the docs, key for key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap_collector.report.contract import SkippedRow, UseRow, iso_time
from ctxheap_collector.report.row import Row
from report.samples import profile, session, troubled_session
from report.schema import check_schema, faults

# The keys of issue 2, in its order; what a row may hold beyond them comes after.
FILE_KEYS = ["path", "format", "sessions", "skipped"]
SESSION_KEYS = [
    "id",
    "parent",
    "agent",
    "format",
    "model",
    "calls",
    "estimated",
    "billed",
    "cost_usd",
    "conservation",
    "context",
    "rebill_factor",
    "dead_low_token_calls",
    "dead_token_calls",
    "token_calls",
    "tags",
    "objects",
    "compactions",
]
BILLED_KEYS = ["input", "uncached", "cache_read", "cache_write", "output", "reasoning"]
CONTEXT_KEYS = ["first", "last", "peak", "peak_call", "window"]
TAG_KEYS = [
    "tag",
    "objects",
    "allocated",
    "resident",
    "peak",
    "token_calls",
    "rent_usd",
    "lag",
    "use",
    "drag",
    "void",
    "dead_low_token_calls",
    "dead_token_calls",
]
OBJECT_KEYS = [
    "id",
    "tag",
    "name",
    "birth",
    "last",
    "tokens",
    "retained",
    "token_calls",
    "rent_usd",
    "phase",
    "lag",
    "use",
    "drag",
    "void",
    "uses",
    "superseded_by",
]
CALL_KEYS = [
    "call",
    "started",
    "model",
    "input",
    "cache_read",
    "cache_write",
    "output",
    "reasoning",
    "tags",
    "estimated",
    "incomplete",
]


def keys(value: object) -> list[str]:
    return list(cast("Mapping[str, object]", value))


def first(value: object, key: str) -> object:
    return cast("Mapping[str, list[object]]", value)[key][0]


def test_schema_is_itself_valid() -> None:
    check_schema()


def test_profile_satisfies_the_schema() -> None:
    document = profile(session(), troubled_session()).to_json()

    assert faults(document) == []


def test_schema_refuses_a_fractional_token() -> None:
    document = json.loads(json.dumps(profile().to_json()))
    document["sessions"][0]["billed"]["input"] = 1.5

    assert faults(document) == ["$.sessions[0].billed.input: 1.5 is not of type 'integer'"]


def test_keys_come_in_the_order_of_the_contract() -> None:
    document = profile().to_json()
    whole = first(document, "sessions")
    parts = cast("Mapping[str, object]", whole)

    assert keys(document)[:3] == ["ctxheap", "files", "sessions"]
    assert keys(first(document, "files")) == FILE_KEYS
    assert keys(first(first(document, "files"), "skipped")) == ["line", "reason"]
    assert keys(whole)[: len(SESSION_KEYS)] == SESSION_KEYS
    assert keys(parts["billed"]) == BILLED_KEYS
    assert keys(parts["conservation"]) == ["calls", "exact_calls", "unattributed_tokens"]
    assert keys(parts["context"]) == CONTEXT_KEYS
    assert keys(first(whole, "tags"))[: len(TAG_KEYS)] == TAG_KEYS
    assert keys(first(whole, "objects")) == OBJECT_KEYS
    assert keys(first(whole, "compactions")) == ["call", "before", "after"]
    assert keys(first(whole, "timeline")) == CALL_KEYS


def test_timeline_is_left_out_unless_asked_for() -> None:
    document = profile(session(timeline=None)).to_json()

    assert "timeline" not in keys(first(document, "sessions"))
    assert faults(document) == []


def test_unknown_price_is_null_and_not_zero() -> None:
    document = troubled_session().to_json()

    assert document["cost_usd"] is None
    assert cast("Mapping[str, object]", first(document, "tags"))["rent_usd"] is None


def test_terminal_only_fields_stay_out_of_the_json() -> None:
    row = first(session().to_json(), "tags")

    assert "dead_at_peak" not in keys(row)


@pytest.mark.parametrize(
    ("epoch_ns", "text"),
    [
        (None, None),
        (0, "1970-01-01T00:00:00.000Z"),
        (1_764_547_200_123_456_789, "2025-12-01T00:00:00.123Z"),
    ],
)
def test_times_are_iso_8601_in_utc(epoch_ns: int | None, text: str | None) -> None:
    assert iso_time(epoch_ns) == text


@given(line=st.integers(min_value=0), reason=st.text())
def test_rows_round_trip_through_json(line: int, reason: str) -> None:
    row = SkippedRow(line, reason)

    assert SkippedRow(**json.loads(json.dumps(row.to_json()))) == row


def test_every_row_is_frozen_and_slotted() -> None:
    rows: list[Row] = [UseRow(1, "quote"), session(), profile(), session().tags[0]]

    assert [hasattr(row, "__dict__") for row in rows] == [False] * 4
