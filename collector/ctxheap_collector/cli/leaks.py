"""Run `ctxheap leaks`: which tags leak, why their objects are still there, and what many sessions share."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, cast

from ctxheap_collector.cli.exits import Exit
from ctxheap_collector.cli.inputs import add_inputs, add_top, check_extra, profile_of, selected, unread
from ctxheap_collector.cli.world import World

if TYPE_CHECKING:
    from ctxheap_collector.cli.inputs import Commands
    from ctxheap_collector.report.contract import Profile
    from ctxheap_collector.report.fleet import Fleet

EPILOG: Final = """\
examples:
  ctxheap leaks session.jsonl
  ctxheap leaks ~/.claude/projects --top 3
  ctxheap leaks runs/ --release 2026-11-20 --json

A leak: dead tokens of a tag that grow, at three calls or more, and matter. Ballast:
dead tokens that matter and do not grow. All money is gross; what freeing would
save net of the prompt cache: ctxheap suggest.
"""


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Describe the command and its arguments."""
    parser = commands.add_parser(
        "leaks",
        help="show which tags leak in saved sessions, and why their objects are still there",
        description="Show which tags leak in saved agent sessions, and why their objects are still there.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_inputs(parser)
    add_top(parser)
    parser.add_argument(
        "--release",
        type=_moment,
        metavar="TIME",
        help="compare growth before and since this moment (ISO 8601, UTC if no zone is given)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document (docs/cli.md)")
    parser.set_defaults(run=run)
    return parser


def _moment(words: str) -> datetime:
    try:
        moment = datetime.fromisoformat(words)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"a time like 2026-11-20T09:00 is wanted, not {words!r}") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def run(args: argparse.Namespace, world: World) -> Exit:
    """Show what leaks in what the arguments name."""
    from ctxheap_collector.report.contract import Options  # noqa: PLC0415 -- keeps --help quick
    from ctxheap_collector.report.fleet import fleet  # noqa: PLC0415 -- the same

    check_extra(world)
    paths = tuple(cast("list[str]", args.paths))
    options = Options(top=1, timeline=True, prices=cast("str | None", args.prices))
    made = profile_of(paths, options, world)
    missing = list(unread(made, paths))
    if made.sessions or not missing:
        made = selected(made, cast("str | None", args.session))
    found = fleet(made, release=cast("datetime | None", args.release))
    if args.json:
        _dump(made, found, world)
    elif made.sessions:
        _show(made, found, int(args.top), world)
    for reason in missing:
        world.tell(reason)
    if not made.sessions and not missing:
        world.tell(f"no transcript in {', '.join(paths)}")
    return Exit.USAGE if missing or not made.sessions else Exit.FINE


def _dump(made: Profile, found: Fleet, world: World) -> None:
    from ctxheap_collector.report.document import dump  # noqa: PLC0415 -- keeps --help quick
    from ctxheap_collector.report.leaks_document import document  # noqa: PLC0415 -- the same

    world.out.flush()
    world.out.buffer.write(dump(document(made, found)))


def _show(made: Profile, found: Fleet, top: int, world: World) -> None:
    from ctxheap_collector.cli.console import show_lines  # noqa: PLC0415 -- needs rich
    from ctxheap_collector.report.leaks_report import leaks_report  # noqa: PLC0415 -- the same

    show_lines(lambda view: leaks_report(made, found, view), world, top=top)
