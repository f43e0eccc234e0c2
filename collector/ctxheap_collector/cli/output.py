"""Write a profile where it was asked for: JSON or a report, to standard output or a file."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from ctxheap_collector.cli.exits import CommandError
from ctxheap_collector.cli.profile import Request
from ctxheap_collector.cli.world import World
from ctxheap_collector.report.contract import Profile
from ctxheap_collector.report.document import dump


def write(made: Profile, request: Request, world: World) -> None:
    """Write the profile in the form and to the place that were asked for."""
    if request.output is not None:
        write_whole(request.output, dump(made) if request.is_json else _text(made, request, world))
    elif request.is_json:
        world.out.flush()
        world.out.buffer.write(dump(made))
    else:
        from ctxheap_collector.cli.console import show  # noqa: PLC0415 -- rich, which JSON can do without

        show(made, request, world)


def _text(made: Profile, request: Request, world: World) -> bytes:
    from ctxheap_collector.cli.console import as_text  # noqa: PLC0415 -- the same

    return as_text(made, request, world)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: what was there stays until the new one is complete."""
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    if not path.parent.is_dir():
        raise CommandError(f"{path}: there is no folder {path.parent}")
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
