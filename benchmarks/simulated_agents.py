"""Show that dead series tell healthy agents from stale ones, where live series flag both.

    python benchmarks/simulated_agents.py --sessions 60 --seed 7 --json

Both kinds of agent only ever append. A healthy one goes back to everything it holds, at most ten calls
apart; a stale one uses a result once and carries it to the end.
"""

from __future__ import annotations

import argparse
import json
import random
from array import array
from collections.abc import Callable, Sequence

from ctxheap.analysis import series
from ctxheap.analysis.study import Study, study
from ctxheap.analysis.verdicts import verdicts
from ctxheap.heap.evidence import Use
from ctxheap.heap.model import Kind
from ctxheap.heap.records import Call, Heap, HeapObject

MIN_CALLS, MAX_CALLS = 80, 160
LONGEST_GAP = 10
TAGS = ("tool_result:read", "tool_result:search", "tool_result:shell")
RULES: dict[str, Callable[[int], float] | None] = {
    "product": None,
    "none": lambda calls: 0,
    "three calls": lambda calls: 3,
    "half the session": lambda calls: calls // 2,
}
"""Idle rules to compare: how long an object must lie idle to count as dead, by the calls of a session."""


def session(rng: random.Random, *, is_stale: bool) -> Study:
    """Return one simulated session of 80 to 160 calls that adds up to three results a call."""
    calls = rng.randint(MIN_CALLS, MAX_CALLS)
    heap = Heap("simulated", None, "")
    heap.objects.append(_object(0, "system_prompt", birth=1, last=calls))
    sizes = [2_000]
    for number in range(1, calls + 1):
        first = len(heap.objects)
        for _ in range(rng.randint(1, 3)):
            heap.objects.append(_object(len(heap.objects), rng.choice(TAGS), birth=number, last=calls))
            sizes.append(round(rng.lognormvariate(6.3, 0.8)))
        heap.calls.append(_call(number, sizes, born=range(first if number > 1 else 0, len(sizes))))
    for item in heap.objects[1:]:
        uses = [item.birth] if is_stale else _reuses(rng, item.birth, calls)
        heap.uses.extend(Use(item.number, call, "quote", 1.0, "used") for call in uses)
    return study(heap, lambda call: None)


def _reuses(rng: random.Random, birth: int, last: int) -> list[int]:
    found = [birth]
    while found[-1] <= last:
        found.append(found[-1] + rng.randint(1, LONGEST_GAP))
    return found[:-1]


def _object(number: int, tag: str, *, birth: int, last: int) -> HeapObject:
    kind: Kind = "text" if tag == "system_prompt" else "tool_result"
    return HeapObject(number, f"{number:032x}", kind, tag, tag, birth, last, 0, pinned=False, error=False)


def _call(number: int, sizes: Sequence[int], *, born: Sequence[int]) -> Call:
    return Call(
        number=number,
        id=str(number),
        model="",
        provider="",
        started_ns=None,
        usage=None,
        numbers=array("I", range(len(sizes))),
        tokens=array("q", sizes),
        born=tuple(born),
        extends=True,
        exact=True,
        implied=False,
        incomplete=False,
        compaction=None,
        messages=0,
    )


def flagged(sessions: Sequence[Study], rule: Callable[[int], float] | None = None) -> int:
    """Return in how many sessions some tag leaks; `rule` replaces the idle rule of the product."""
    found = 0
    for item in sessions:
        bound = None if rule is None else rule(len(item.heap.calls))
        theta = None if bound is None else _constant(bound)
        found += any(leak.verdict == "leak" for leak in verdicts(item, theta=theta))
    return found


def _constant(bound: float) -> series.ThetaOf:
    return lambda tag: int(bound)


def main() -> None:
    """Print how many sessions of each kind were flagged, by idle rule, and by live tokens."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    kinds = {
        kind: [session(rng, is_stale=kind == "stale") for _ in range(options.sessions)]
        for kind in ("healthy", "stale")
    }
    report = {
        kind: {
            "sessions": len(sessions),
            "flagged": {name: flagged(sessions, rule) for name, rule in RULES.items()},
            "growing": sum(
                any(leak.verdict == "growing" or leak.verdict == "leak" for leak in verdicts(item))
                for item in sessions
            ),
        }
        for kind, sessions in kinds.items()
    }
    print(json.dumps(report, indent=None if options.json else 2))


if __name__ == "__main__":
    main()
