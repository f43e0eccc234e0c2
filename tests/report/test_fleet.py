"""Check what sessions have in common: leaks of one signature, recurrence, creep, releases."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ctxheap_collector.report.contract import SessionProfile, TimelineRow
from ctxheap_collector.report.fleet import fleet, groups
from report.samples import leak_rows, profile, session, timeline

START = datetime(2026, 11, 1, tzinfo=UTC)


def day(number: int, *, first_tokens: int = 0, slope: float = 0.0) -> SessionProfile:
    """Return a session of one day whose tag grew so much before and in it."""
    first, *rest = timeline(10)
    tags = {**first.tags, "memory:notes": first_tokens}
    started = (START + timedelta(days=number)).isoformat()
    head: TimelineRow = replace(first, started=started, tags=tags, input=sum(tags.values()))
    leak = replace(leak_rows()[0], slope=slope)
    return session(
        id=f"day-{number}",
        calls=10,
        timeline=(head, *rest),
        leaks=(leak,) if slope else (),
        token_calls=100_000,
    )


def test_leaks_of_one_signature_are_one_with_the_money_of_all() -> None:
    shared, ballast, _ = leak_rows()
    cheap, dear = (replace(shared, share=0.9, dead_usd=usd) for usd in (4.0, 7.5))
    found = groups([session(id="a", leaks=(cheap, ballast)), session(id="b", leaks=(dear, ballast))])

    assert {(row.tag, row.severity, row.sessions, row.objects) for row in found} == {
        ("tool_result:read_file", "critical", 2, 122),
        ("tool_result:bash", "major", 2, 122),
    }
    dead = {row.tag: row.dead_usd for row in found}
    assert dead["tool_result:read_file"] == pytest.approx(11.5)


def test_money_of_a_leak_is_unknown_as_soon_as_one_session_has_no_price() -> None:
    unpriced = tuple(replace(row, dead_low_usd=None, dead_usd=None) for row in leak_rows())

    assert groups([session(id="a"), session(id="b", leaks=unpriced)])[0].dead_usd is None


def test_money_per_week_covers_a_week_at_least() -> None:
    two, four = (
        groups([day(0, slope=1.0), day(1, slope=1.0)]),
        groups([day(0, slope=1.0), day(28, slope=1.0)]),
    )

    assert two[0].usd_per_week == two[0].dead_usd
    assert four[0].usd_per_week == pytest.approx((four[0].dead_usd or 0) / 4)


def test_tag_that_leaks_in_most_sessions_recurs() -> None:
    found = fleet(profile(*(session(id=str(k), timeline=None) for k in range(6)))).recurrences

    assert [(row.tag, row.flagged, row.sessions, row.recurs) for row in found] == [
        ("tool_result:read_file", 6, 6, True)
    ]


def test_tag_that_is_larger_at_every_start_creeps_in() -> None:
    sessions = [day(number, first_tokens=1_000 + 400 * number) for number in range(20)]

    creeping = fleet(profile(*sessions[::-1])).creeps

    assert [(row.tag, row.creeps) for row in creeping] == [("memory:notes", True)]
    assert creeping[0].slope == pytest.approx(400)


def test_release_that_makes_a_tag_grow_faster_is_named() -> None:
    sessions = [day(number, slope=10 + number % 3 + (300 if number >= 8 else 0)) for number in range(16)]

    found = fleet(profile(*sessions), release=START + timedelta(days=8)).regressions

    worse = [row for row in found if row.worse]
    assert [(row.tag, row.old, row.new) for row in worse] == [("tool_result:read_file", 8, 8)]
    assert worse[0].low > 0


def test_few_sessions_say_nothing_of_an_agent() -> None:
    found = fleet(profile(day(0), day(1)), release=START)

    assert (found.recurrences, found.creeps, found.regressions) == ((), (), ())
