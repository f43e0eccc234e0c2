"""Time `ctxheap profile` on CC20 beside a plain `json.loads` pass over the same file, whole processes.

    benchmarks/profile.py [--json] [--runs N] [--growth]

Prints the ratio of medians, the peak memory of the profiler and, with --growth, how time grows from
5 to 40 MB. Absolute times mean nothing on a shared machine: quote the ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
GENERATOR = ROOT.parent / "shared" / "eval" / "gen_transcript.py"
START = 1795910400  # the epoch of the first line, part of what names CC20
LOADS = "import json,sys\nfor line in open(sys.argv[1], encoding='utf-8'):\n    json.loads(line)\n"
CALLS = 1652
RATIO_LIMIT, MEMORY_LIMIT_MB = 25.0, 250.0


@dataclass(frozen=True, slots=True)
class Run:
    """Hold one process: CPU and wall seconds, and its peak memory in MB."""

    cpu_seconds: float
    wall_seconds: float
    peak_mb: float


def main() -> int:
    """Run the benchmark and print its figures; exit 1 when a limit is passed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--runs", type=int, default=3, help="counted runs of each command (default 3)")
    parser.add_argument("--growth", action="store_true", help="also time 5, 10, 20 and 40 MB")
    options = parser.parse_args()
    if not GENERATOR.is_file():
        print(f"skipped: {GENERATOR.name} of the shared corpus is not there", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        figures = compare(generate(Path(folder), 20), options.runs)
        if options.growth:
            figures |= growth(Path(folder))
    show(figures, as_json=options.json)
    return int(figures["ratio"] > RATIO_LIMIT or figures["peak_mb"] > MEMORY_LIMIT_MB)


def generate(folder: Path, megabytes: int) -> Path:
    """Return a generated transcript of about that size."""
    path = folder / f"CC{megabytes}.jsonl"
    command = [
        sys.executable,
        str(GENERATOR),
        "--target-mb",
        str(megabytes),
        "--start",
        str(START),
        "-o",
        str(path),
    ]
    subprocess.run(command, check=True)
    return path


def compare(path: Path, runs: int) -> dict[str, float]:
    """Return the figures of both commands, run in turn after one warm-up each."""
    plain_command = [sys.executable, "-c", LOADS, str(path)]
    ours_command = profile_command(path)
    timed(plain_command)
    output = subprocess.run(ours_command, check=True, capture_output=True).stdout
    if [item["calls"] for item in json.loads(output)["sessions"]] != [CALLS]:
        raise SystemExit(f"the profile does not hold the {CALLS} calls of CC20")
    pairs = [(timed(plain_command), timed(ours_command)) for _ in range(runs)]
    plain = median(pair[0].wall_seconds for pair in pairs)
    ours = median(pair[1].wall_seconds for pair in pairs)
    return {
        "json_loads_seconds": plain,
        "profile_seconds": ours,
        "profile_cpu_seconds": median(pair[1].cpu_seconds for pair in pairs),
        "ratio": median(pair[1].wall_seconds / pair[0].wall_seconds for pair in pairs),
        "peak_mb": max(pair[1].peak_mb for pair in pairs),
    }


def growth(folder: Path) -> dict[str, float]:
    """Return seconds per MB by size: a flat row means linear growth."""
    seconds = {size: timed(profile_command(generate(folder, size))).wall_seconds for size in (5, 10, 20, 40)}
    return {f"seconds_per_mb_at_{size}": value / size for size, value in seconds.items()}


def profile_command(path: Path) -> list[str]:
    """Return the command that profiles a file with full liveness, all objects listed."""
    ctxheap = str(Path(sys.executable).with_name("ctxheap"))
    return [ctxheap, "profile", "--json", "--top", "0", str(path)]


def timed(command: Sequence[str]) -> Run:
    """Run a command and return what the operating system says of it."""
    with Path(os.devnull).open("wb") as sink:
        before = os.times().elapsed
        process = subprocess.Popen(command, stdout=sink)
        _, status, usage = os.wait4(process.pid, 0)
        wall = os.times().elapsed - before
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command[:6])} … ended with {process.returncode}")
    return Run(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024)


def show(figures: dict[str, float], *, as_json: bool) -> None:
    """Print the figures for a machine or for a person."""
    if as_json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:24} {round(value, 3)}")
    print(f"limits: ratio {RATIO_LIMIT}, peak {MEMORY_LIMIT_MB} MB")


if __name__ == "__main__":
    sys.exit(main())
