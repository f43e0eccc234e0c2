"""Measure what the hook costs an agent, beside OpenInference and the official OpenAI instrumentation.

    benchmarks/overhead.py [--json] [--rounds N]

At 20, 200 and 2,000 messages (30 kB to 3 MB), against a server in another process. `caller_ms` is what
a call gets longer on the caller's thread: wall time, median, with its 90 % interval in
`caller_low_ms` and `caller_high_ms`. Ours is measured at the HTTP client, where the hook sits, while the
worker is busy with the call before (`resting_ms`: while it is not); the peers' at the openai SDK,
which they wrap, and there ours again as `sdk_ms` and `sdk_cpu_ms`. `cpu_ms` is all CPU time added to a
call, threads and encoding included; `span_bytes` are the OTLP bytes of a span. The peers record content, as
their users have it, without the SDK's limit on attributes; ours does not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from overhead_runs.calls import Samples, measure
from overhead_runs.hook import Posts, added_ms, posts
from overhead_runs.loop_lag import p99_lag_ms
from overhead_runs.server import serving
from overhead_runs.variants import variants

SIZES = (20, 200, 2_000)
ANSWER_SECONDS = 0.05

Figures = dict[str, float]


def main() -> None:
    """Print a table, or one JSON document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--rounds", type=int, default=12, help="blocks of calls for each variant and size")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="messages in the context")
    options = parser.parse_args()
    found = run(options.sizes, options.rounds)
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        show(found)


def run(sizes: Sequence[int], rounds: int) -> dict[str, object]:
    """Measure everything and return the document."""
    known = variants()
    ours: dict[str, Figures] = {}
    peers: dict[str, dict[str, Figures]] = {name: {} for name in known if name not in ("none", "ours")}
    with serving() as url:
        for size in sizes:
            # A call of 2,000 messages keeps the SDK busy for a second.
            few = max(2, rounds * 200 // size) if size > 200 else rounds
            samples = measure(url, known, messages=size, rounds=few)
            for name, by_size in peers.items():
                by_size[str(size)] = _figures(samples["none"], samples[name])
            in_sdk = _figures(samples["none"], samples["ours"])
            posted = posts(url, known["ours"], messages=size, repeats=10 * rounds)
            ours[str(size)] = _our_figures(in_sdk, posted)
            print(f"{size} messages: {ours[str(size)]}", file=sys.stderr, flush=True)
    with serving(ANSWER_SECONDS) as url:
        lag = p99_lag_ms(url, known, rounds=max(2, rounds // 2))
    added = {"added_p99_ms": round(lag["ours"] - lag["none"], 3)}
    return {
        "ours": ours,
        "peers": peers,
        "loop": {f"{name}_p99_ms": round(value, 3) for name, value in lag.items()} | added,
        "import_ms": import_ms(),
    }


def _figures(bare: Samples, samples: Samples) -> Figures:
    return {
        **_added("caller", bare.wall, samples.wall),
        "cpu_ms": round((statistics.median(samples.cpu) - statistics.median(bare.cpu)) * 1e3, 3),
        "span_bytes": round(statistics.median(samples.span_bytes)),
    }


def _our_figures(in_sdk: Figures, posted: Posts) -> Figures:
    return {
        **_added("caller", posted.bare, posted.busy),
        "resting_ms": _added("resting", posted.bare, posted.resting)["resting_ms"],
        "sdk_ms": in_sdk["caller_ms"],
        "cpu_ms": round((statistics.median(posted.cpu) - statistics.median(posted.bare_cpu)) * 1e3, 3),
        "sdk_cpu_ms": in_sdk["cpu_ms"],
        "span_bytes": in_sdk["span_bytes"],
    }


def _added(name: str, bare: list[float], with_it: list[float]) -> Figures:
    middle, low, high = added_ms(bare, with_it)
    return {
        f"{name}_ms": round(middle, 3),
        f"{name}_low_ms": round(low, 3),
        f"{name}_high_ms": round(high, 3),
    }


def import_ms() -> float:
    """Return the median milliseconds that `import ctxheap` takes in a fresh interpreter."""
    code = "import time; t = time.perf_counter(); import ctxheap; print((time.perf_counter() - t) * 1e3)"
    command = [sys.executable, "-c", code]
    times = [
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(7)
    ]
    return round(statistics.median(times), 1)


def show(found: Mapping[str, Any]) -> None:
    """Print a table, each figure with its limit or its peers beside it."""
    for size, figures in found["ours"].items():
        rows = {"ours": figures} | {name: by_size[size] for name, by_size in found["peers"].items()}
        cheapest = min(by_size[size]["cpu_ms"] for by_size in found["peers"].values())
        print(f"{size} messages (limits: caller 0.2 ms, CPU {cheapest / 2:.1f} ms, span 12,000 bytes)")
        for name, row in rows.items():
            print(
                f"  {name:44} caller {row['caller_ms']:9.3f} ms   CPU {row['cpu_ms']:9.2f} ms"
                f"   span {row['span_bytes']:10,} bytes"
            )
    loop = found["loop"]
    print(
        f"event loop, 50 calls: p99 lag {loop['added_p99_ms']:+.2f} ms (limit 2)"
        f" to {loop['none_p99_ms']:.2f} ms"
    )
    print(f"import ctxheap: {found['import_ms']} ms (limit 60)")


if __name__ == "__main__":
    main()
