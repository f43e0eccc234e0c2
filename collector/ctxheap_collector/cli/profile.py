"""Run `ctxheap profile`: from saved transcripts to a report or its JSON."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ctxheap_collector.cli.exits import CommandError, Exit
from ctxheap_collector.cli.inputs import add_inputs, add_top, check_extra, profile_of, selected, unread
from ctxheap_collector.cli.world import World

if TYPE_CHECKING:
    from ctxheap_collector.cli.inputs import Commands
    from ctxheap_collector.report.contract import Options, Profile

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
    add_inputs(parser, least="*")
    add_top(parser)
    add = parser.add_argument
    add("--json", action="store_true", help="print one JSON document (docs/profile.schema.json)")
    add("--timeline", action="store_true", help="list every call")
    add("--output", type=Path, metavar="FILE", help="write here instead of standard output")
    parser.set_defaults(run=run)
    return parser


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


def _no_path(world: World) -> str:
    words = "name a transcript, a folder of them, or - for standard input"
    projects = world.home / ".claude" / "projects"
    if projects.is_dir():
        return f"{words}; your sessions with Claude Code: ctxheap profile ~/.claude/projects"
    return f"{words}; to see one first: ctxheap demo"


def make(request: Request, world: World) -> Profile:
    """Return the profile that was asked for."""
    return profile_of(request.paths, _options(request), world)


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

    missing = list(unread(made, request.paths))
    if made.sessions or not missing:
        made = selected(made, request.session)
    if made.sessions or request.is_json:
        write(made, request, world)
    for reason in missing:
        world.tell(reason)
    if not made.sessions and not missing:
        world.tell(f"no transcript in {', '.join(request.paths)}")
    return Exit.USAGE if missing or not made.sessions else Exit.FINE
