"""Run `ctxheap replay`: recorded sessions under a reclaim policy, all triggers side by side."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ctxheap_collector.cli.exits import CommandError, Exit
from ctxheap_collector.cli.inputs import add_inputs, batch, check_extra, unread
from ctxheap_collector.cli.world import World

if TYPE_CHECKING:
    from ctxheap.reclaim.policy import Policy, Trigger
    from ctxheap_collector.cli.inputs import Commands


TRIGGERS: Final = ("on_demand", "economic", "eager")

EPILOG: Final = """\
examples:
  ctxheap replay session.jsonl
  ctxheap replay --policy reclaim.yaml ~/.claude/projects
  ctxheap replay --policy reclaim.yaml --trigger economic runs/ --json

Net money is what is left of the saving after re-billing, records and regret:
fetching again what was needed after it was freed. What the agent would have
done otherwise under the policy is not simulated.
"""


@dataclass(frozen=True, slots=True)
class Request:
    """Hold the arguments of one run, typed."""

    paths: tuple[str, ...]
    policy: Path | None
    triggers: tuple[Trigger, ...]
    is_json: bool
    session: str | None
    prices: str | None


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Describe the command and its arguments."""
    parser = commands.add_parser(
        "replay",
        help="re-run saved sessions under a reclaim policy: tokens, net money and regret",
        description="Re-run saved agent sessions under a reclaim policy, call by call.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_inputs(parser)
    add = parser.add_argument
    add("--policy", type=Path, metavar="FILE", help="the policy (docs/reclaim.md); a careful one without it")
    add("--trigger", choices=TRIGGERS, action="append", help="only this trigger; may be repeated")
    add("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace, world: World) -> Exit:
    """Replay what the arguments name, and print a table or JSON."""
    request = Request(
        paths=tuple(cast("list[str]", args.paths)),
        policy=cast("Path | None", args.policy),
        triggers=tuple(cast("list[Trigger] | None", args.trigger) or TRIGGERS),
        is_json=bool(args.json),
        session=cast("str | None", args.session),
        prices=cast("str | None", args.prices),
    )
    check_extra(world)
    return _print(request, _policy(request), world)


def _policy(request: Request) -> Policy:
    from ctxheap.reclaim.policy import PolicyError, default_policy, load_policy  # noqa: PLC0415 -- keeps --help quick

    try:
        return default_policy() if request.policy is None else load_policy(request.policy)
    except PolicyError as error:
        raise CommandError(str(error)) from error


def _print(request: Request, policy: Policy, world: World) -> Exit:
    from ctxheap_collector.report.replays import document, lines, replays, total_lines  # noqa: PLC0415 -- keeps --help quick

    made = batch(
        lambda progress: replays(
            request.paths,
            policy,
            triggers=request.triggers,
            session=request.session,
            prices=request.prices,
            progress=progress,
        ),
        request.paths,
        world,
    )
    if request.is_json:
        print(json.dumps(document(made, policy), ensure_ascii=False), file=world.out)
    else:
        for reports in made.sessions:
            print(*lines(reports), "", sep="\n", file=world.out)
        if total := list(total_lines(made)):
            print(*total, sep="\n", file=world.out)
    missing = list(unread(made, request.paths))
    for reason in missing:
        world.tell(reason)
    if not made.sessions and not missing:
        world.tell(f"no session in {', '.join(request.paths)}")
    return Exit.USAGE if missing or not made.sessions else Exit.FINE
