"""Run `ctxheap check`: hold saved sessions to bounds and to a baseline, for CI."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ctxheap_collector.cli.exits import CommandError, Exit
from ctxheap_collector.cli.inputs import add_inputs, check_extra, profile_of, selected, unread
from ctxheap_collector.cli.quantities import number, percent, share, tokens_or_share
from ctxheap_collector.cli.world import World

if TYPE_CHECKING:
    from ctxheap_collector.cli.inputs import Commands
    from ctxheap_collector.report.baseline import Figures, Uncompared
    from ctxheap_collector.report.bounds import Bounds, Breach, Unknown
    from ctxheap_collector.report.contract import Profile

DEFAULT_GROWTH: Final = 0.1

EPILOG: Final = """\
examples:
  ctxheap check runs/                                no critical leak
  ctxheap check runs/ --max-peak 80% --max-dead 30% --max-cost 2.50 --max-leak minor
  ctxheap check runs/ --save-baseline ctxheap-baseline.json
  ctxheap check runs/ --baseline ctxheap-baseline.json --max-growth 15%

Bounds are for each session; what is no larger passes. Without any bound or
baseline it is --max-leak major. A baseline holds medians of each agent.

exit codes: 0 all within bounds, 1 the lines printed are not, 2 wrong use, input
that cannot be read, or a bound that cannot be checked
"""


@dataclass(frozen=True, slots=True)
class Request:
    """Hold the arguments of one run, typed; `growth` is a share."""

    paths: tuple[str, ...]
    session: str | None
    prices: str | None
    bounds: Bounds
    baseline: Path | None
    growth: float
    save: Path | None
    is_json: bool


@dataclass(frozen=True, slots=True)
class Result:
    """Hold what came of a check: breaches, and what kept others from being seen."""

    made: Profile
    breaches: tuple[Breach, ...]
    unknown: tuple[Unknown, ...]
    uncompared: tuple[Uncompared, ...]
    unread: tuple[str, ...]

    @property
    def code(self) -> Exit:
        """Return the exit code; what could not be checked weighs more than what was found."""
        if self.unread or self.unknown or not self.made.sessions:
            return Exit.USAGE
        return Exit.FINDINGS if self.breaches else Exit.FINE


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Describe the command and its arguments."""
    parser = commands.add_parser(
        "check",
        help="hold saved sessions to bounds, for CI: exit code 1 and the offending lines",
        description="Hold saved agent sessions to bounds and to a saved baseline, for CI.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_inputs(parser)
    add = parser.add_argument
    peak = "largest context: tokens (150000, 150k) or a share of the model's window (80%%)"
    add("--max-peak", type=tokens_or_share, metavar="TOKENS|PERCENT", help=peak)
    add("--max-dead", type=share, metavar="PERCENT", help="share of the token-calls that is surely dead")
    add("--max-unused", type=share, metavar="PERCENT", help="share of them without later evidence of use")
    add("--max-rebill", type=number, metavar="FACTOR", help="how often the average token may be billed")
    add("--max-cost", type=number, metavar="USD", help="cost of a session, input and output")
    leaks = "gravest leak or ballast allowed (default major where nothing else is bounded)"
    add("--max-leak", choices=("none", "minor", "major"), help=leaks)
    add(
        "--baseline",
        type=Path,
        metavar="FILE",
        help="hold each agent's growth since this was saved to a bound",
    )
    add(
        "--max-growth", type=percent, metavar="PERCENT", help="growth allowed since the baseline (default 10)"
    )
    add(
        "--save-baseline",
        type=Path,
        metavar="FILE",
        help="save the figures of now, unless some grew too much",
    )
    add("--json", action="store_true", help="print one JSON document (docs/cli.md)")
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace, world: World) -> Exit:
    """Check what the arguments name, and print what passes a bound, or that nothing does."""
    request = _request(args)
    check_extra(world)
    baseline = _baseline(request)
    result = _check(request, baseline, world)
    _save(request, result, world)
    _print(request, result, world)
    return result.code


def _request(args: argparse.Namespace) -> Request:
    from ctxheap_collector.report.bounds import Bounds  # noqa: PLC0415 -- keeps --help quick

    growth = cast("float | None", args.max_growth)
    if growth is not None and args.baseline is None:
        raise CommandError("--max-growth needs a baseline to grow from: --baseline FILE")
    peak = cast("int | float | None", args.max_peak)
    bounds = Bounds(
        peak=peak if isinstance(peak, int) else None,
        peak_share=peak if isinstance(peak, float) else None,
        dead=cast("float | None", args.max_dead),
        unused=cast("float | None", args.max_unused),
        rebill=cast("float | None", args.max_rebill),
        cost_usd=cast("float | None", args.max_cost),
        leak=cast("str | None", args.max_leak),
    )
    return Request(
        paths=tuple(cast("list[str]", args.paths)),
        session=cast("str | None", args.session),
        prices=cast("str | None", args.prices),
        bounds=Bounds(leak="major") if bounds == Bounds() and args.baseline is None else bounds,
        baseline=cast("Path | None", args.baseline),
        growth=DEFAULT_GROWTH if growth is None else growth,
        save=cast("Path | None", args.save_baseline),
        is_json=bool(args.json),
    )


def _baseline(request: Request) -> Figures:
    """Return the baseline, empty where none was asked for; a wrong one is found before a long read."""
    from ctxheap_collector.report.baseline import load  # noqa: PLC0415 -- keeps --help quick
    from ctxheap_collector.report.contract import ProfileError  # noqa: PLC0415 -- the same

    try:
        return {} if request.baseline is None else load(request.baseline)
    except ProfileError as error:
        raise CommandError(str(error)) from error


def _check(request: Request, baseline: Figures, world: World) -> Result:
    from ctxheap_collector.report.baseline import grown, uncompared  # noqa: PLC0415 -- keeps --help quick
    from ctxheap_collector.report.bounds import broken, unknown  # noqa: PLC0415 -- the same
    from ctxheap_collector.report.contract import Options  # noqa: PLC0415 -- the same

    options = Options(top=1, session=request.session, prices=request.prices)
    made = profile_of(request.paths, options, world)
    missing = tuple(unread(made, request.paths))
    if made.sessions or not missing:
        made = selected(made, request.session)
    return Result(
        made=made,
        breaches=(*broken(made, request.bounds), *grown(made, baseline, growth=request.growth)),
        unknown=tuple(unknown(made, request.bounds)),
        uncompared=tuple(uncompared(made, baseline)) if request.baseline is not None else (),
        unread=missing if made.sessions or missing else (f"no transcript in {', '.join(request.paths)}",),
    )


def _save(request: Request, result: Result, world: World) -> None:
    """Save the baseline, unless it would hide growth or lack what could not be read."""
    from ctxheap_collector.cli.output import write_whole  # noqa: PLC0415 -- keeps --help quick
    from ctxheap_collector.report.baseline import document  # noqa: PLC0415 -- the same

    if request.save is None:
        return
    if result.unread:
        world.tell(f"{request.save}: not saved, since not every input could be read")
        return
    if any(breach.baseline is not None for breach in result.breaches):
        world.tell(
            f"{request.save}: not saved, since it would hide what grew; leave out --baseline to save it"
        )
        return
    try:
        write_whole(request.save, document(result.made))
    except OSError as error:
        raise CommandError(f"{request.save}: {error.strerror}") from error
    world.tell(f"{request.save}: baseline saved")


def _print(request: Request, result: Result, world: World) -> None:
    from ctxheap_collector.report.breach_lines import (  # noqa: PLC0415 -- needs rich
        breach_line,
        uncompared_lines,
        unknown_lines,
    )

    if request.is_json:
        world.say(json.dumps(_document(result), indent=2))
    else:
        for breach in result.breaches:
            world.say(breach_line(breach))
    new = uncompared_lines(result.uncompared, str(request.baseline))
    for words in (*unknown_lines(result.unknown), *new, *result.unread):
        world.tell(words)
    if result.code is Exit.FINE and not request.is_json:
        world.say(_within(request, result))


def _document(result: Result) -> dict[str, object]:
    return {
        "ctxheap": result.made.ctxheap,
        "passed": result.code is Exit.FINE,
        "breaches": [breach.to_json() for breach in result.breaches],
        "unknown": [each.to_json() for each in result.unknown],
        "uncompared": [each.to_json() for each in result.uncompared],
        "unread": list(result.unread),
        "sessions": len(result.made.sessions),
    }


def _within(request: Request, result: Result) -> str:
    from ctxheap_collector.report.breach_lines import bounds_words  # noqa: PLC0415 -- needs rich
    from ctxheap_collector.report.figures import plural  # noqa: PLC0415 -- keeps --help quick

    words = bounds_words(request.bounds)
    if request.baseline is not None:
        new = result.uncompared
        apart = f" (not compared: figures of {plural(len(new), 'agent')})" if new else ""
        words.append(f"growth {100 * request.growth:g} % since {request.baseline}{apart}")
    return f"{plural(len(result.made.sessions), 'session')} within bounds: {', '.join(words)}"
