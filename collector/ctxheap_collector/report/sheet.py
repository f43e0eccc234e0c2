"""Hold how a report is laid out: its width, its sections, and the lines that rich only colours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style

from ctxheap_collector.report.contract import DEFAULT_TOP
from ctxheap_collector.report.layout import Line, Piece
from ctxheap_collector.report.palette import FAINT, TITLE

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


def view_of(console: Console, *, top: int, lists_calls: bool = False) -> View:
    """Return how a report is to look on a console."""
    return View(
        width=max(NARROWEST, min(WIDEST, console.width)),
        top=top,
        in_colour=console.color_system is not None and not console.no_color,
        lists_calls=lists_calls,
    )


def section(name: str, lines: Sequence[Line], view: View) -> Iterator[Line]:
    """Yield lines under a rule with their name, and a blank one; nothing where there are none."""
    if not lines:
        return
    yield (Piece(name, TITLE), Piece(" " + "─" * (view.width - len(name) - 1), FAINT))
    yield from lines
    yield ()
