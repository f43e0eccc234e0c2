"""Write a profile as a report for people: the largest session whole, all others in one table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ctxheap_collector.report.calls import calls
from ctxheap_collector.report.chart import chart
from ctxheap_collector.report.closing import compactions, inputs, overview, quality, sub_agents
from ctxheap_collector.report.contract import Profile, SessionProfile
from ctxheap_collector.report.family import Family, families
from ctxheap_collector.report.freeing import cache, suggestions
from ctxheap_collector.report.headline import billed, headline, title
from ctxheap_collector.report.highwater import high_water
from ctxheap_collector.report.layout import INDENT, Line, Piece, safe
from ctxheap_collector.report.palette import FAINT
from ctxheap_collector.report.regretted import regrets
from ctxheap_collector.report.sheet import Sheet, View, section, view_of
from ctxheap_collector.report.suspects import suspects
from ctxheap_collector.report.tables import objects, tags

if TYPE_CHECKING:
    from rich.console import Console


def render(profile: Profile, *, console: Console, top: int, lists_calls: bool = False) -> None:
    """Write the report to a console, at most `top` rows a list (0: all); calls only if wanted.

    Colours follow the console: none where it is no terminal or where NO_COLOR is set.
    """
    view = view_of(console, top=top, lists_calls=lists_calls)
    console.print(Sheet(report(profile, view)), crop=False, end="")


def report(profile: Profile, view: View) -> list[Line]:
    """Return the whole report as lines that fit."""
    found = families(profile.sessions)
    lines: list[Line] = []
    if len(found) > 1:
        lines += section("sessions", overview(found, width=view.width, top=view.top), view)
    if found:
        lines += _details(found[0], profile, view)
    lines += section("input", inputs(profile, width=view.width, top=view.top), view)
    if len(found) > 1:
        lines.append((Piece(f"{INDENT}the details of another session: --session ID", FAINT),))
    return [safe(line, view.width) for line in lines]


def _details(family: Family, profile: Profile, view: View) -> Iterator[Line]:
    session, width, top = family.head, view.width, view.top
    yield from (*title(session, width=width), (), *headline(session, width=width), ())
    yield from section("billed", billed(session, prices=profile.prices, width=width), view)
    yield from _context(session, view)
    yield from section("leak suspects", suspects(session, width=width, top=top), view)
    rules = suggestions(session.suggestions, width=width, top=top)
    yield from section("what freeing would save", rules, view)
    order = "rent" if session.input_usd is not None else "token-calls"
    yield from section(f"tags, by {order}", tags(session, width=width, top=top), view)
    largest = objects(session, width=width, top=top)
    yield from section("largest objects, by token-calls", largest, view)
    yield from section("cache breaks", cache(session, width=width), view)
    yield from section("regret", regrets(session, width=width), view)
    yield from section("compactions", compactions(session, top=top), view)
    yield from section("sub-agents and forks", sub_agents(family, width=width, top=top), view)
    yield from section("data quality", quality(session, width=width), view)


def _context(session: SessionProfile, view: View) -> Iterator[Line]:
    high = high_water(session, width=view.width, top=view.top)
    yield from section("context at its high-water mark", high, view)
    over_calls = chart(
        session.timeline or (), session.compactions, width=view.width, in_colour=view.in_colour
    )
    yield from section("context over calls", over_calls, view)
    if view.lists_calls:
        yield from section("calls", calls(session, width=view.width), view)
