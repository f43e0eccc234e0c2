"""Make the profile of what the command line names, and say which of it could not be read."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from ctxheap_collector.cli.exits import CommandError
from ctxheap_collector.cli.world import Progress, World

if TYPE_CHECKING:
    from ctxheap_collector.report.advice import Advice
    from ctxheap_collector.report.contract import FileReport, Options, Profile
    from ctxheap_collector.report.replays import Replays

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # pyright: ignore[reportPrivateUsage] -- argparse has no public name for it

T = TypeVar("T")

DEFAULT_TOP: Final = 10
# Modules of the extra, under the names that pip knows.
NEEDED: Final = {"rich": "rich", "genai_prices": "genai-prices", "yaml": "pyyaml"}


def add_inputs(parser: argparse.ArgumentParser, *, least: str = "+") -> None:
    """Describe the arguments that say what is read; `least` is argparse's word for how many paths."""
    add = parser.add_argument
    add("paths", nargs=least, metavar="PATH", help="a file, folder or glob; - reads standard input")
    add("--session", metavar="ID", help="only this session; the beginning of its id is enough")
    add("--prices", metavar="FILE", help="prices and windows that go before the shipped ones")


def add_top(parser: argparse.ArgumentParser) -> None:
    """Describe the argument that bounds every list."""
    parser.add_argument(
        "--top", type=_top, default=DEFAULT_TOP, metavar="N", help="rows a list (default 10; 0: all)"
    )


def _top(words: str) -> int:
    if not words.isdecimal():
        raise argparse.ArgumentTypeError(f"a whole number from 0 is wanted, not {words!r}")
    return int(words)


def check_extra(world: World) -> None:
    """Raise with what to install where the extra is missing."""
    missing = [name for module, name in NEEDED.items() if not world.is_installed(module)]
    if missing:
        words = " and ".join(filter(None, (", ".join(missing[:-1]), missing[-1])))
        raise CommandError(f'{words} missing; run: pip install "ctxheap[profile]"')


def profile_of(paths: Sequence[str], options: Options, world: World) -> Profile:
    """Return the profile, with a bar on a terminal while long input is read."""
    return batch(lambda progress: world.profiler(paths, options=options, progress=progress), paths, world)


def batch(make: Callable[[Progress | None], T], paths: Sequence[str], world: World) -> T:
    """Return what is made of some paths, with a bar on a terminal while long input is read.

    `make` is handed what is to be told the bytes read, None where no bar is shown.
    """
    from ctxheap_collector.cli.progress import reading  # noqa: PLC0415 -- needs rich
    from ctxheap_collector.report.contract import ProfileError  # noqa: PLC0415 -- keeps --help quick

    if "-" in paths and sys.stdin is None:
        raise CommandError("standard input is closed")
    if "-" in paths and world.is_interactive():
        world.tell("reading standard input, up to Ctrl-D")
    try:
        with reading(paths, world) as progress, _rare_collections():
            return make(progress)
    except ProfileError as error:
        raise CommandError(str(error)) from error


@contextmanager
def _rare_collections() -> Generator[None]:
    """Let the cycle collector run seldom: a profile makes millions of records and hardly a cycle.

    Left alone it walks them again and again, which takes an eighth of the time.
    """
    before = gc.get_threshold()
    gc.set_threshold(1_000_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def selected(made: Profile, session: str | None) -> Profile:
    """Return the profile of the session that was asked for and what is below it; of all for None."""
    from ctxheap_collector.report.contract import ProfileError  # noqa: PLC0415 -- keeps --help quick
    from ctxheap_collector.report.family import select  # noqa: PLC0415 -- keeps --help quick

    if session is None:
        return made
    try:
        return select(made, session)
    except ProfileError as error:
        raise CommandError(str(error)) from error


def unread(made: Profile | Advice | Replays, paths: Sequence[str]) -> Iterator[str]:
    """Yield, with the reason, the inputs that gave nothing and were named, all where none gave anything."""
    is_empty = not any(report.sessions for report in made.files)
    for report in made.files:
        if not report.sessions and (is_empty or report.path in paths):
            yield _reason(report)


def _reason(report: FileReport) -> str:
    if not report.skipped:
        return f"{report.path}: no session in it"
    return f"{report.path}: {report.skipped[0].reason.removeprefix(f'{report.path}: ')}"
