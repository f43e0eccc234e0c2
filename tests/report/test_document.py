"""Check that the JSON is one document that every reader accepts."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ctxheap_collector.report.document import dump
from report.samples import profile, session, troubled_session
from report.schema import faults


def test_document_is_the_contract_in_utf_8() -> None:
    whole = profile(session(), troubled_session())

    assert json.loads(dump(whole).decode("utf-8")) == json.loads(json.dumps(whole.to_json()))


def test_keys_keep_their_order_in_the_text() -> None:
    assert list(json.loads(dump(profile()))) == ["ctxheap", "files", "sessions", "prices", "warnings"]


def test_numbers_that_json_lacks_become_null() -> None:
    written = json.loads(dump(profile(session(rebill_factor=float("nan"), cost_usd=float("inf")))))

    assert (written["sessions"][0]["rebill_factor"], written["sessions"][0]["cost_usd"]) == (None, None)


@given(name=st.text(st.characters(), max_size=20))
@settings(max_examples=30, deadline=None)
def test_any_name_can_be_written(name: str) -> None:
    rows = tuple(replace(row, name=f"read {name}\ud83d") for row in session().objects)

    assert faults(json.loads(dump(profile(session(objects=rows, timeline=None))).decode("utf-8"))) == []
