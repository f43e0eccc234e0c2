"""Run `ctxheap profile`: from saved transcripts to a report or its JSON."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ctxheap_collector.cli.exits import CommandError, Exit
from ctxheap_collector.cli.world import World

if TYPE_CHECKING:
    from ctxheap_collector.report.contract import FileReport, Options, Profile

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # pyright: ignore[reportPrivateUsage] -- argparse has no public name for it

# Modules of the extra, under the names that pip knows.
NEEDED: Final = {"rich": "rich", "genai_prices": "genai-prices"}
DEFAULT_TOP: Final = 10

EPILOG: Final = """\
examples:
  ctxheap profile session.jsonl
  ctxheap profile ~/.claude/projects --top 20
  ctxheap profile runs/ 'more/**/*.traj' --session 7f3a
  ctxheap profile session.jsonl --json --timeline --top 0 > profile.json
  zcat session.jsonl.gz | ctxheap profile -

The format is found by content. Dead figures are intervals: from what is surely
dead (superseded, invalidated, duplicated) to what has no later evidence of use.
"""


@dataclass(frozen=True, slots=True)
class Request:
    """Hold the arguments of one run, typed."""

    paths: tuple[str, ...]
    is_json: bool
    wants_timeline: bool
    session: str | None
    top: int
    prices: str | None
    output: Path | None


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Describe the command and its arguments."""
    parser = commands.add_parser(
        "profile",
        help="show where the tokens of saved sessions went, what is dead and what it cost",
        description="Show where the tokens of saved agent sessions went, what is dead and what it cost.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="a file, folder or glob; - reads standard input")
    add("--json", action="store_true", help="print one JSON document (docs/profile.schema.json)")
    add("--session", metavar="ID", help="only this session; the beginning of its id is enough")
    add("--top", type=_top, default=DEFAULT_TOP, metavar="N", help="rows a list (default 10; 0: all)")
    add("--timeline", action="store_true", help="list every call")
    add("--prices", metavar="FILE", help="prices and windows that go before the shipped ones")
    add("--output", type=Path, metavar="FILE", help="write here instead of standard output")
    parser.set_defaults(run=run)
    return parser


def _top(words: str) -> int:
    if not words.isdecimal():
        raise argparse.ArgumentTypeError(f"a whole number from 0 is wanted, not {words!r}")
    return int(words)


def run(args: argparse.Namespace, world: World) -> Exit:
    """Profile what the arguments name, and write the report or the JSON."""
    request = Request(
        paths=tuple(cast("list[str]", args.paths)),
        is_json=bool(args.json),
        wants_timeline=bool(args.timeline),
        session=cast("str | None", args.session),
        top=int(args.top),
        prices=cast("str | None", args.prices),
        output=cast("Path | None", args.output),
    )
    check_extra(world)
    if not request.paths:
        raise CommandError(_no_path(world))
    made = make(request, world)
    return _deliver(made, request, world)


def check_extra(world: World) -> None:
    """Raise with what to install where the extra is missing."""
    missing = [name for module, name in NEEDED.items() if not world.is_installed(module)]
    if missing:
        raise CommandError(f'{" and ".join(missing)} missing; run: pip install "ctxheap[profile]"')


def _no_path(world: World) -> str:
    words = "name a transcript, a folder of them, or - for standard input"
    projects = world.home / ".claude" / "projects"
    if projects.is_dir():
        return f"{words}; your sessions with Claude Code: ctxheap profile ~/.claude/projects"
    return f"{words}; to see one first: ctxheap demo"


def make(request: Request, world: World) -> Profile:
    """Return the profile, with a bar on a terminal while long input is read."""
    from ctxheap_collector.cli.progress import reading  # noqa: PLC0415 -- needs rich
    from ctxheap_collector.report.contract import ProfileError  # noqa: PLC0415 -- keeps --help quick

    if "-" in request.paths and sys.stdin is None:
        raise CommandError("standard input is closed")
    if "-" in request.paths and world.is_interactive():
        world.tell("reading standard input, up to Ctrl-D")
    try:
        with reading(request.paths, world) as progress, _rare_collections():
            return world.profiler(request.paths, options=_options(request), progress=progress)
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


def _options(request: Request) -> Options:
    from ctxheap_collector.report.contract import Options  # noqa: PLC0415 -- keeps --help quick

    return Options(
        top=request.top,
        session=request.session,
        # The report draws a chart of it.
        timeline=request.wants_timeline or not request.is_json,
        prices=request.prices,
    )


def _deliver(made: Profile, request: Request, world: World) -> Exit:
    from ctxheap_collector.cli.output import write  # noqa: PLC0415 -- needs rich

    unread = list(_unread(made, request.paths))
    if made.sessions or not unread:
        made = _selected(made, request.session)
    if made.sessions or request.is_json:
        write(made, request, world)
    for report in unread:
        world.tell(_reason(report))
    if not made.sessions and not unread:
        world.tell(f"no transcript in {', '.join(request.paths)}")
    return Exit.USAGE if unread or not made.sessions else Exit.FINE


def _selected(made: Profile, session: str | None) -> Profile:
    from ctxheap_collector.report.contract import ProfileError  # noqa: PLC0415 -- keeps --help quick
    from ctxheap_collector.report.family import select  # noqa: PLC0415 -- keeps --help quick

    if session is None:
        return made
    try:
        return select(made, session)
    except ProfileError as error:
        raise CommandError(str(error)) from error


def _unread(made: Profile, paths: Sequence[str]) -> Iterator[FileReport]:
    """Yield the inputs that gave nothing and were named, or all of them where none gave anything."""
    is_empty = not any(report.sessions for report in made.files)
    for report in made.files:
        if not report.sessions and (is_empty or report.path in paths):
            yield report


def _reason(report: FileReport) -> str:
    if not report.skipped:
        return f"{report.path}: no session in it"
    return f"{report.path}: {report.skipped[0].reason.removeprefix(f'{report.path}: ')}"
