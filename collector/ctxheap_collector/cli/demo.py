"""Run `ctxheap demo`: the profile of a real session that comes with the program."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from ctxheap_collector.cli.exits import CommandError, Exit
from ctxheap_collector.cli.inputs import check_extra
from ctxheap_collector.cli.profile import Request, make
from ctxheap_collector.cli.world import World

if TYPE_CHECKING:
    from ctxheap_collector.cli.inputs import Commands

PACKAGE: Final = "ctxheap_collector"
SESSION: Final = "demo/session.jsonl.gz"
ROWS: Final = 10
NEXT: Final = """\
what to do next
  ctxheap profile ~/.claude/projects         your own sessions with Claude Code
  ctxheap profile PATH --json --timeline     the same figures for other programs
  ctxheap profile --help                     all options
"""


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Describe the command."""
    parser = commands.add_parser(
        "demo",
        help="profile a real session that comes with ctxheap",
        description="Profile a real session that comes with ctxheap, and say what to do next.",
    )
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace, world: World) -> Exit:
    """Profile the bundled session and close with a hint."""
    from importlib.resources import as_file, files  # noqa: PLC0415 -- keeps --help quick

    del args
    check_extra(world)
    bundled = files(PACKAGE).joinpath(SESSION)
    if not bundled.is_file():
        raise CommandError("this installation lacks the demo session; try: ctxheap profile PATH")
    with as_file(bundled) as path:
        show(str(path), world)
    return Exit.FINE


def show(path: str, world: World) -> None:
    """Write the report of one transcript and what to do next."""
    from ctxheap_collector.cli.output import write  # noqa: PLC0415 -- needs rich

    request = Request(
        paths=(path,),
        is_json=False,
        wants_timeline=False,
        session=None,
        top=ROWS,
        prices=None,
        output=None,
    )
    write(make(request, world), request, world)
    world.out.write(NEXT)
