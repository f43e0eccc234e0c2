"""Score sessions called spiralling, or ended without the change asked for, against labels made by reading.

    python benchmarks/spirals.py --labels ../shared/labels/leaks.json --data ../shared/data --json

Misses and false calls are named, to be read. Sessions of formats that nothing here reads are counted.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import cast

from label_sessions.spiral_scores import Label, judge, report


def main() -> int:
    """Score the labels and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=Path, required=True, help="a file in the layout of leaks.json")
    parser.add_argument("--data", type=Path, required=True, help="the folder that its paths start from")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    labels = cast("list[Label]", json.loads(options.labels.read_text("utf-8"))["sessions"])
    figures = report(*judge(labels, options.data))
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name}: {value}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
