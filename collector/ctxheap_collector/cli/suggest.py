"""Run `ctxheap suggest`: which rules would free what is dead, net of the prompt cache, as a policy file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ctxheap_collector.cli.exits import CommandError, Exit
from ctxheap_collector.cli.inputs import add_inputs, add_top, batch, check_extra, unread
from ctxheap_collector.cli.world import World

if TYPE_CHECKING:
    from ctxheap.reclaim.policy import Policy
    from ctxheap_collector.cli.inputs import Commands
    from ctxheap_collector.report.advice import Advice

EPILOG: Final = """\
examples:
  ctxheap suggest session.jsonl
  ctxheap suggest ~/.claude/projects -o reclaim.yaml
  ctxheap replay --policy reclaim.yaml other-sessions/

Net money is the rent saved less re-billing of the prompt cache less expected
regret: fetching again what turns out to be needed. Only rules with a net above 0
that free nothing used later are accepted and written; the others say why not.
"""


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Describe the command and its arguments."""
    parser = commands.add_parser(
        "suggest",
        help="suggest reclaim rules with what they save net of the cache, as a policy file",
        description="Suggest reclaim rules for saved agent sessions, with what they save net of the cache.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_inputs(parser)
    add_top(parser)
    add = parser.add_argument
    add("-o", "--output", type=Path, metavar="FILE", help="write the accepted rules here (docs/reclaim.md)")
    add("--json", action="store_true", help="print one JSON document (docs/cli.md)")
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace, world: World) -> Exit:
    """Suggest rules for what the arguments name."""
    from ctxheap_collector.report.advice import advise  # noqa: PLC0415 -- keeps --help quick
    from ctxheap_collector.report.contract import Options  # noqa: PLC0415 -- the same

    check_extra(world)
    paths = tuple(cast("list[str]", args.paths))
    options = Options(session=cast("str | None", args.session), prices=cast("str | None", args.prices))
    made, policy = batch(lambda progress: advise(paths, options=options, progress=progress), paths, world)
    missing = list(unread(made, paths))
    if args.json:
        _dump(made, world)
    elif made.sessions:
        _show(made, int(args.top), world)
    for reason in missing:
        world.tell(reason)
    if not made.sessions:
        if not missing:
            world.tell(f"no session in {', '.join(paths)}")
        return Exit.USAGE
    if args.output is not None:
        _write(cast("Path", args.output), policy, world)
    return Exit.USAGE if missing else Exit.FINE


def _dump(made: Advice, world: World) -> None:
    from ctxheap_collector.report.document import dump  # noqa: PLC0415 -- keeps --help quick

    world.out.flush()
    world.out.buffer.write(dump(made))


def _show(made: Advice, top: int, world: World) -> None:
    from ctxheap_collector.cli.console import show_lines  # noqa: PLC0415 -- needs rich
    from ctxheap_collector.report.freeing import advice_report  # noqa: PLC0415 -- the same

    show_lines(lambda view: advice_report(made.suggestions, made.sessions, view), world, top=top)


def _write(path: Path, policy: Policy, world: World) -> None:
    """Write the policy file, or say that there is nothing to write."""
    if not policy.rules and not policy.pins:
        world.tell(f"no rule would have paid: {path} was not written")
        return
    from ctxheap_collector.cli.output import write_whole  # noqa: PLC0415 -- keeps --help quick
    from ctxheap_collector.report.policy_file import policy_text  # noqa: PLC0415 -- needs PyYAML

    if not world.is_installed("yaml"):
        raise CommandError('pyyaml missing; run: pip install "ctxheap[profile]"')
    write_whole(path, policy_text(policy).encode())
    world.tell(f"{path}: written; try it first: ctxheap replay --policy {path} PATH")
