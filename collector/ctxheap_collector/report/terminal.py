"""Write a profile as a report for people: the largest session whole, all others in one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style

from ctxheap_collector.report.calls import calls
from ctxheap_collector.report.chart import chart
from ctxheap_collector.report.closing import compactions, inputs, overview, quality, sub_agents
from ctxheap_collector.report.contract import DEFAULT_TOP, Profile, SessionProfile
from ctxheap_collector.report.family import Family, families
from ctxheap_collector.report.freeing import cache, suggestions
from ctxheap_collector.report.headline import billed, headline, title
from ctxheap_collector.report.highwater import high_water
from ctxheap_collector.report.layout import INDENT, Line, Piece, safe
from ctxheap_collector.report.palette import FAINT, TITLE
from ctxheap_collector.report.regretted import regrets
from ctxheap_collector.report.suspects import suspects
from ctxheap_collector.report.tables import objects, tags

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions

NARROWEST = 60
WIDEST = 160


@dataclass(frozen=True, slots=True)
class Sheet:
    """Hand lines that already fit to rich, which is left the colours and nothing else."""

    lines: Iterable[Line]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        styles: dict[str, Style | None] = {"": None}
        for line in self.lines:
            for words, style in line:
                if style not in styles:
                    styles[style] = _style(style)
                yield Segment(words, styles[style])
            yield Segment.line()


def _style(words: str) -> Style:
    """Return a style of its own: rich 15 keeps in a parsed one the codes of the first console it met."""
    parsed = Style.parse(words)
    return Style(color=parsed.color, bgcolor=parsed.bgcolor, bold=parsed.bold, dim=parsed.dim)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Hold how a report is to look.

    Attributes:
        width: Cells a line may fill.
        top: Rows a list may have; 0 for all.
        in_colour: Whether groups may be told apart by colour; letters do it otherwise.
        lists_calls: Whether every call is listed.
    """

    width: int
    top: int = DEFAULT_TOP
    in_colour: bool = False
    lists_calls: bool = False


def render(profile: Profile, *, console: Console, top: int, lists_calls: bool = False) -> None:
    """Write the report to a console, at most `top` rows a list (0: all); calls only if wanted.

    Colours follow the console: none where it is no terminal or where NO_COLOR is set.
    """
    view = View(
        width=max(NARROWEST, min(WIDEST, console.width)),
        top=top,
        in_colour=console.color_system is not None and not console.no_color,
        lists_calls=lists_calls,
    )
    console.print(Sheet(report(profile, view)), crop=False, end="")


def report(profile: Profile, view: View) -> list[Line]:
    """Return the whole report as lines that fit."""
    found = families(profile.sessions)
    lines: list[Line] = []
    if len(found) > 1:
        lines += _section("sessions", overview(found, width=view.width, top=view.top), view)
    if found:
        lines += _details(found[0], profile, view)
    lines += _section("input", inputs(profile, width=view.width, top=view.top), view)
    if len(found) > 1:
        lines.append((Piece(f"{INDENT}the details of another session: --session ID", FAINT),))
    return [safe(line, view.width) for line in lines]


def _details(family: Family, profile: Profile, view: View) -> Iterator[Line]:
    session, width, top = family.head, view.width, view.top
    yield from (*title(session, width=width), (), *headline(session, width=width), ())
    yield from _section("billed", billed(session, prices=profile.prices, width=width), view)
    yield from _context(session, view)
    order = "rent" if session.input_usd is not None else "token-calls"
    yield from _section(f"tags, by {order}", tags(session, width=width, top=top), view)
    largest = objects(session, width=width, top=top)
    yield from _section("largest objects, by token-calls", largest, view)
    yield from _section("leak suspects", suspects(session, width=width, top=top), view)
    yield from _section("what freeing would save", suggestions(session, width=width, top=top), view)
    yield from _section("cache breaks", cache(session, width=width), view)
    yield from _section("regret", regrets(session, width=width), view)
    yield from _section("compactions", compactions(session, top=top), view)
    yield from _section("sub-agents and forks", sub_agents(family, width=width, top=top), view)
    yield from _section("data quality", quality(session, width=width), view)


def _context(session: SessionProfile, view: View) -> Iterator[Line]:
    high = high_water(session, width=view.width, top=view.top)
    yield from _section("context at its high-water mark", high, view)
    over_calls = chart(
        session.timeline or (), session.compactions, width=view.width, in_colour=view.in_colour
    )
    yield from _section("context over calls", over_calls, view)
    if view.lists_calls:
        yield from _section("calls", calls(session, width=view.width), view)


def _section(name: str, lines: Sequence[Line], view: View) -> Iterator[Line]:
    if not lines:
        return
    yield (Piece(name, TITLE), Piece(" " + "─" * (view.width - len(name) - 1), FAINT))
    yield from lines
    yield ()
