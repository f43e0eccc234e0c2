"""Measure what the hook costs an agent, beside OpenInference and the official OpenAI instrumentation.

    benchmarks/overhead.py [--json] [--rounds N]

At 20, 200 and 2,000 messages (30 kB to 3 MB), the openai SDK against a server in another process:
`caller_ms` is what a call gets longer on the caller's thread (wall time, median, the worker busy with
the call before; `caller_low_ms` and `caller_high_ms` its 90 % interval), `hook_ms` the same for the
hook alone, without SDK, network and busy worker; `cpu_ms` is all CPU time added a call, threads
included; `span_bytes` the OTLP bytes of a span. Content is on in the peers, as their users have it,
and off in ours.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

from overhead_runs.calls import Samples, added_ms, measure
from overhead_runs.hook import hook_ms
from overhead_runs.loop_lag import p99_lag_ms
from overhead_runs.server import serving
from overhead_runs.variants import variants

SIZES = (20, 200, 2_000)
LIMITS = {"caller_ms": 0.2, "span_bytes": 12_000, "loop_lag_added_ms": 2.0, "import_ms": 60.0}
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


def run(sizes: list[int], rounds: int) -> dict[str, object]:
    """Measure everything and return the document."""
    known = variants()
    figures: dict[str, dict[str, Figures]] = {name: {} for name in known if name != "none"}
    with serving() as url:
        for size in sizes:
            samples = measure(url, known, messages=size, rounds=rounds)
            for name, by_size in figures.items():
                by_size[str(size)] = _figures(samples["none"], samples[name])
            figures["ours"][str(size)]["hook_ms"] = round(hook_ms(known["ours"], size), 4)
    with serving(ANSWER_SECONDS) as url:
        lag = p99_lag_ms(url, known, rounds=max(2, rounds // 3))
    ours = figures.pop("ours")
    added = {"loop_lag_added_ms": round(lag["ours"] - lag["none"], 3)}
    return {
        "ours": ours,
        "peers": figures,
        "loop": {f"{name}_p99_ms": round(value, 3) for name, value in lag.items()} | added,
        "import_ms": import_ms(),
        "limits": LIMITS,
    }


def _figures(bare: Samples, samples: Samples) -> Figures:
    middle, low, high = added_ms(bare.wall, samples.wall)
    return {
        "caller_ms": round(middle, 3),
        "caller_low_ms": round(low, 3),
        "caller_high_ms": round(high, 3),
        "cpu_ms": round((statistics.median(samples.cpu) - statistics.median(bare.cpu)) * 1e3, 3),
        "span_bytes": round(statistics.median(samples.span_bytes)),
    }


def import_ms() -> float:
    """Return the median milliseconds that `import ctxheap` takes in a fresh interpreter."""
    code = "import time; t = time.perf_counter(); import ctxheap; print((time.perf_counter() - t) * 1e3)"
    command = [sys.executable, "-c", code]
    times = [
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(7)
    ]
    return round(statistics.median(times), 1)


def show(found: dict[str, object]) -> None:
    """Print the table, the limits in its last lines."""
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
