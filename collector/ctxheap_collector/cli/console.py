"""Draw the report with rich, for a terminal or a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from io import BytesIO, TextIOWrapper
from typing import TextIO

from rich.console import Console

from ctxheap_collector.cli.profile import Request
from ctxheap_collector.cli.world import World
from ctxheap_collector.report.contract import Profile
from ctxheap_collector.report.layout import Line
from ctxheap_collector.report.sheet import Sheet, View, view_of
from ctxheap_collector.report.terminal import render

FILE_COLUMNS = 100


class _Console(Console):
    """Leave it to the command what a reader who went away means; rich would end the process with 1."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        raise BrokenPipeError


def show(made: Profile, request: Request, world: World) -> None:
    """Write the report to standard output."""
    _forgive(world.out)
    _report(made, request, _Console(file=world.out, _environ=world.env))


def show_lines(make: Callable[[View], Iterable[Line]], world: World, *, top: int) -> None:
    """Write lines that are made for the width of standard output."""
    _forgive(world.out)
    console = _Console(file=world.out, _environ=world.env)
    console.print(Sheet(make(view_of(console, top=top))), crop=False, end="")


def _report(made: Profile, request: Request, console: Console) -> None:
    render(made, console=console, top=request.top, lists_calls=request.wants_timeline)


def as_text(made: Profile, request: Request, world: World) -> bytes:
    """Return the report as it is written to a file."""
    kept = BytesIO()
    file = TextIOWrapper(kept, "utf-8", errors="replace", newline="\n")
    columns = world.env.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() else FILE_COLUMNS
    _report(made, request, Console(file=file, width=width, color_system=None))
    file.flush()
    return kept.getvalue()


def _forgive(stream: TextIO) -> None:
    """Let a terminal that knows no block characters show question marks rather than end the report."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="replace")
