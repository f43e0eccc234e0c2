"""Score leak tests on generated series, or verdicts on sessions labelled by reading.

    python benchmarks/leaks.py --generator ../shared/eval/leak_series.py --seed 1000 --per-kind 250 --json
    python benchmarks/leaks.py --labels ../shared/labels/leaks.json --data ../shared/data --json

A generator is any Python file with `corpus(per_kind, seed)` that returns mappings with `kind`, `label`
(1 for a leak), `s` (tokens of the tag at each call) and `C` (all input tokens of each call).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

from ctxheap.analysis.floor import floor_lite

ONE_SIDED_Z = 1.645
LONG_CALLS = 390

Detector = Callable[[Sequence[float], Sequence[float]], bool]
Report = dict[str, object]


def is_leak(series: Sequence[float], inputs: Sequence[float]) -> bool:
    """Return the product's verdict on one series."""
    return floor_lite(series, inputs).word == "leak"


def least_squares(series: Sequence[float], inputs: Sequence[float]) -> bool:
    """Return whether the slope of a least-squares line is significantly above 0: a naive rule."""
    del inputs
    count = len(series)
    middle, mean = (count - 1) / 2, sum(series) / count
    spread = sum((place - middle) ** 2 for place in range(count))
    slope = sum((place - middle) * value for place, value in enumerate(series)) / spread if spread else 0.0
    rest = sum((value - mean - slope * (place - middle)) ** 2 for place, value in enumerate(series))
    error = math.sqrt(rest / max(1, count - 2) / spread) if spread else 0.0
    return slope > ONE_SIDED_Z * error


def last_over_first(series: Sequence[float], inputs: Sequence[float]) -> bool:
    """Return whether the series ends higher than it began: the most naive rule."""
    del inputs
    return series[-1] > series[0]


def generator_report(path: Path, *, seed: int, per_kind: int) -> Report:
    """Return how the product and the naive rules do on the series of a generator file."""
    rows = [
        (str(row["kind"]), bool(row["label"]), _floats(row["s"]), _floats(row["C"]))
        for row in _corpus(path, per_kind=per_kind, seed=seed)
    ]
    long = [(series, inputs) for _, _, series, inputs in rows if len(series) >= LONG_CALLS]
    began = time.process_time()
    for series, inputs in long:
        is_leak(series, inputs)
    spent = time.process_time() - began
    return {
        "detector": _score(is_leak, rows),
        "naive": {
            "least_squares": _score(least_squares, rows),
            "last_over_first": _score(last_over_first, rows),
        },
        "series": len(rows),
        "seed": seed,
        "cpu_ms_per_long_series": round(1_000 * spent / len(long), 3) if long else None,
    }


def _corpus(path: Path, *, per_kind: int, seed: int) -> Sequence[Mapping[str, object]]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        sys.exit(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        sys.exit(f"{path} needs {error.name}: pip install {error.name}")
    return cast("Sequence[Mapping[str, object]]", module.corpus(per_kind=per_kind, seed=seed))


def _floats(values: object) -> list[float]:
    return [float(value) for value in cast("Iterable[float]", values)]


def _score(detector: Detector, rows: Iterable[tuple[str, bool, list[float], list[float]]]) -> Report:
    flagged: Counter[str] = Counter()
    total: Counter[str] = Counter()
    hits: Counter[tuple[bool, bool]] = Counter()
    for kind, label, series, inputs in rows:
        found = detector(series, inputs)
        flagged[kind] += found
        total[kind] += 1
        hits[label, found] += 1
    said = hits[True, True] + hits[False, True]
    leaks = hits[True, True] + hits[True, False]
    others = hits[False, True] + hits[False, False]
    return {
        "precision": _ratio(hits[True, True], said),
        "recall": _ratio(hits[True, True], leaks),
        "fpr": _ratio(hits[False, True], others),
        "kinds": {kind: _ratio(flagged[kind], total[kind]) for kind in total},
    }


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def main() -> None:
    """Print the report that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--generator", type=Path)
    parser.add_argument("--seed", type=int, default=1_000)
    parser.add_argument("--per-kind", type=int, default=250)
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument(
        "--misses", action="store_true", help="list every verdict that differs from its label"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report: Report
    if options.generator:
        report = generator_report(options.generator, seed=options.seed, per_kind=options.per_kind)
    elif options.labels and options.data:
        # Reading transcripts needs what generated series do without.
        from label_sessions.leak_labels import label_report  # noqa: PLC0415

        report = label_report(options.labels, options.data, misses=options.misses)
    else:
        parser.error("give --generator FILE, or --labels FILE and --data DIR")
    print(json.dumps(report, indent=None if options.json else 2))


if __name__ == "__main__":
    main()
