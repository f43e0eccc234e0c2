"""Run `ctxheap run -- CMD`: a command, unchanged, with the capture on in every Python below it."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Final, NoReturn, cast

from ctxheap.autoload import environment
from ctxheap_collector.cli.exits import CommandError, Exit
from ctxheap_collector.cli.world import World

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ctxheap_collector.cli.inputs import Commands

EPILOG: Final = """\
examples:
  ctxheap run -- python agent.py
  ctxheap run --service coder -- uvicorn app:app
  OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318 ctxheap run -- pytest

Spans go where OTEL_EXPORTER_OTLP_ENDPOINT says (http://localhost:4318 unless it
is set), or through the tracer provider that the program sets up itself. The exit
code is the command's own.
"""


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Describe the command and its arguments."""
    parser = commands.add_parser(
        "run",
        help="run a program and report each of its calls to models, without changing it",
        description="Run a program and report each of its calls to models, without changing it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="ctxheap run [options] -- COMMAND …",
    )
    add = parser.add_argument
    add("--service", metavar="NAME", help="service name of the spans (OTEL_SERVICE_NAME)")
    add("--endpoint", metavar="URL", help="where spans go (OTEL_EXPORTER_OTLP_ENDPOINT)")
    add("--capture", choices=("off", "preview", "full"), help="content that leaves the process (default off)")
    add("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program and its arguments")
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace, world: World) -> Exit:
    """Become the command, with the capture on in its environment."""
    command = cast("list[str]", args.command)
    command = command[1:] if command[:1] == ["--"] else command
    if not command:
        raise CommandError("name the program to run: ctxheap run -- python agent.py")
    settings = {
        "OTEL_SERVICE_NAME": cast("str | None", args.service),
        "OTEL_EXPORTER_OTLP_ENDPOINT": cast("str | None", args.endpoint),
        "CTXHEAP_CAPTURE": cast("str | None", args.capture),
    }
    given = {name: value for name, value in settings.items() if value}
    environ = environment({**world.env, **given})
    program = shutil.which(command[0], path=environ.get("PATH"))
    if program is None:
        raise CommandError(f"{command[0]}: no such program")
    world.out.flush()
    _become(program, command, environ)


def _become(program: str, command: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
    """Replace this process, so that signals and the exit code are the command's own."""
    if os.name == "posix":
        os.execve(program, list(command), dict(environ))  # noqa: S606 -- the user's own command
    sys.exit(subprocess.run([program, *command[1:]], env=environ, check=False).returncode)  # noqa: S603
