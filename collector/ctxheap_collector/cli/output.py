"""Write a profile where it was asked for: JSON or a report, to standard output or a file."""

from __future__ import annotations

import os
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TextIO

from rich.console import Console

from ctxheap_collector.cli.profile import Request
from ctxheap_collector.cli.world import World
from ctxheap_collector.report.contract import Profile
from ctxheap_collector.report.document import dump
from ctxheap_collector.report.terminal import render

FILE_COLUMNS = 100


class _Console(Console):
    """Leave it to the command what a reader who went away means; rich would end the process with 1."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        raise BrokenPipeError


def write(made: Profile, request: Request, world: World) -> None:
    """Write the profile in the form and to the place that were asked for."""
    if request.output is not None:
        _replace(request.output, dump(made) if request.is_json else _as_text(made, request, world))
    elif request.is_json:
        world.out.flush()
        world.out.buffer.write(dump(made))
    else:
        _forgive(world.out)
        _report(made, request, _Console(file=world.out, _environ=world.env))


def _report(made: Profile, request: Request, console: Console) -> None:
    render(made, console=console, top=request.top, lists_calls=request.wants_timeline)


def _as_text(made: Profile, request: Request, world: World) -> bytes:
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


def _replace(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: what was there stays until the new one is complete."""
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        new = Path(file.name)
        try:
            file.write(data)
        except BaseException:
            new.unlink()
            raise
    new.chmod(_mode(path))
    new.replace(path)


def _mode(path: Path) -> int:
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
