"""Parse the command line, run one command and turn what goes wrong into a line and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Final, cast

from ctxheap import __version__
from ctxheap_collector.cli import check, demo, leaks, profile, replay, run, suggest
from ctxheap_collector.cli.exits import CommandError, Exit
from ctxheap_collector.cli.world import World

Run = Callable[[argparse.Namespace, World], Exit]

# One module a command: `add_parser` describes it, `run` is found through the parser's defaults.
COMMANDS: Final[tuple[ModuleType, ...]] = (profile, leaks, suggest, replay, check, run, demo)

EPILOG: Final = """\
examples:
  ctxheap demo                            a real session, profiled
  ctxheap profile ~/.claude/projects      your own sessions with Claude Code
  ctxheap profile run.traj.json --json    for other programs
  ctxheap run -- python agent.py          a span a call, from an unchanged program

exit codes: 0 fine, 1 findings above the bound asked for, 2 wrong use or
unreadable input, 3 store or service not reachable, 130 interrupted
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="ctxheap",
        description="A heap profiler for the context of LLM agents.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ctxheap {__version__}")
    _add_debug(parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in COMMANDS:
        _add_debug(module.add_parser(commands))
    return parser


def _add_debug(parser: argparse.ArgumentParser) -> None:
    # Without a default of its own a command's parser cannot undo `ctxheap --debug COMMAND`.
    parser.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show the traceback when something goes wrong (also CTXHEAP_DEBUG=1)",
    )


def main(argv: Sequence[str] | None = None, *, world: World | None = None) -> int:
    """Run the command line and return its exit code.

    Raises:
        SystemExit: For --help, --version and arguments that argparse refuses (code 2).
    """
    if world is None and sys.stdout is None:
        print("ctxheap: standard output is closed", file=sys.stderr)
        return Exit.USAGE
    world = world or World()
    args = build_parser().parse_args(argv)
    is_debugging = "debug" in args or world.env.get("CTXHEAP_DEBUG", "0") not in {"", "0"}
    try:
        code = cast("Run", args.run)(args, world)
        world.out.flush()
    except KeyboardInterrupt:
        world.tell("interrupted")
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _leave_the_pipe(world)
        return Exit.FINE
    except Exception as error:
        if is_debugging:
            raise
        return _explain(error, world)
    return code


def _explain(error: Exception, world: World) -> Exit:
    if isinstance(error, CommandError):
        world.tell(str(error))
        return error.code
    if isinstance(error, OSError) and error.strerror:
        world.tell(f"{error.filename or 'writing the output'}: {error.strerror}")
        return Exit.USAGE
    world.tell(f"unexpected {type(error).__name__}: {error} (--debug shows where; please report it)")
    return Exit.USAGE


def _leave_the_pipe(world: World) -> None:
    """Point standard output elsewhere, or Python complains once more when it flushes at exit."""
    if world.out is sys.stdout:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
