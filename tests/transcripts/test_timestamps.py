from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap_collector.transcripts.timestamps import epoch_ns

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1733344589, 1733344589 * SECOND),
        (1733344589.571303, 1733344589_571303_000),
        (1733344589571, 1733344589_571_000_000),
        ("2025-11-03T03:37:19.606104", 1762141039_606104_000),
        ("2026-01-01T00:00:07.000Z", 1767225607 * SECOND),
        ("2026-01-01T02:00:07+02:00", 1767225607 * SECOND),
        ("yesterday", None),
        ("", None),
        (None, None),
        (True, None),
        (0, None),
        (float("nan"), None),
        (10**400, None),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:59:59-14:00", None),
    ],
)
def test_times_of_every_kind_are_nanoseconds(value: object, expected: int | None) -> None:
    assert epoch_ns(value) == expected


@given(st.one_of(st.floats(), st.integers(), st.text(max_size=30)))
def test_nothing_that_is_written_as_a_time_can_stop_the_reading(value: object) -> None:
    assert epoch_ns(value) is None or isinstance(epoch_ns(value), int)
