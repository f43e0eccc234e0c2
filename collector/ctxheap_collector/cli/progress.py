"""Show how far long input has been read, on a terminal and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from glob import iglob
from pathlib import Path
from typing import Final

from ctxheap_collector.cli.world import Progress, World

# Shorter input is read before anybody looks.
LEAST_BYTES: Final = 4_000_000


@contextmanager
def reading(paths: Sequence[str], world: World) -> Generator[Progress | None]:
    """Yield what is to be told the bytes read, None where no bar is shown."""
    total = input_bytes(paths) if world.err.isatty() else 0
    if total < LEAST_BYTES:
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 -- only for a bar
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    console = Console(file=world.err, _environ=world.env)
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda count: bar.advance(task, count)


def input_bytes(paths: Sequence[str]) -> int:
    """Return how many bytes the files behind some paths hold; what cannot be seen counts nothing."""
    return sum(_bytes(found) for path in paths for found in _found(path))


def _found(path: str) -> list[str]:
    return [path] if Path(path).exists() else list(iglob(path, recursive=True))  # noqa: PTH207 -- Path.glob refuses absolute patterns


def _bytes(path: str) -> int:
    if Path(path).is_dir():
        below = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)  # noqa: PTH118 -- a Path a file doubles the walk
        return sum(_size(name) for name in below)
    return _size(path)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 -- the same
    except OSError:
        return 0
