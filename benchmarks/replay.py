"""Replay sessions under a policy and add up what each trigger saves, and what it regrets.

    benchmarks/replay.py [--policy FILE] [--budget TOKENS] [--idle CALLS] PATH…

Money is in uncached input tokens (SPEC 7), so that sessions without a price count as well.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from ctxheap.reclaim.policy import Match, Policy, Rule, Trigger, When, default_policy, load_policy
from ctxheap_collector.report.replays import replays

TRIGGERS: tuple[Trigger, ...] = ("on_demand", "economic", "eager")


def main() -> None:
    """Print one JSON document with sums by trigger."""
    parser = argparse.ArgumentParser(description="Add up replays by trigger.")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--policy", type=Path)
    parser.add_argument("--budget", type=int)
    parser.add_argument("--idle", type=int, help="also evict results that no call used for so many calls")
    args = parser.parse_args()
    policy = load_policy(args.policy) if args.policy else default_policy()
    if args.idle:
        results = Match(tags=("tool_result:*", "retrieval:*"))
        policy = replace(policy, rules=(*policy.rules, Rule("evict", results, When(idle_calls=args.idle))))
    if args.budget:
        policy = replace(policy, budget_tokens=args.budget)
    print(json.dumps(sums(args.paths, policy), indent=1))


def sums(paths: list[str], policy: Policy) -> dict[str, dict[str, float]]:
    """Return calls, tokens, savings and regrets by trigger."""
    totals = {trigger: Counter[str]() for trigger in TRIGGERS}
    begun = time.perf_counter()
    for reports in replays(paths, policy, triggers=TRIGGERS).sessions:
        for report in reports:
            totals[report.trigger].update(
                sessions=1,
                calls=report.calls,
                input_before=report.baseline.input,
                input_after=report.bill.input,
                bill_before=round(report.baseline.equivalents),
                gross=round(report.baseline.equivalents - report.bill.equivalents),
                regret=round(report.regret_equivalents),
                net=round(report.net_equivalents),
                freed=len(report.freed),
                regrets=sum(regret.is_certain for regret in report.regrets),
                refused=len(report.refusals),
            )
    totals["on_demand"]["seconds_for_all"] = round(time.perf_counter() - begun)
    return {trigger: dict(found) for trigger, found in totals.items()}


if __name__ == "__main__":
    main()
