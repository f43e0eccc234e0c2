"""Measure use evidence on labelled pairs and on labelled last uses.

    python benchmarks/evidence.py --labels ../shared/labels/use_coding.json --data ../shared/data --json

Each pair is judged from what was in context before the output. `unclear` labels are left out.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ctxheap.heap.evidence import EvidenceTracker, Use
from label_sessions import bare
from label_sessions.judged import Judged, Row, Session, judge, session_of, tracks_of

Report = dict[str, object]


@dataclass(frozen=True, slots=True)
class Pair:
    """Hold a labelled pair and what was said about it."""

    row: Row
    is_used: bool
    use: Use | None

    @property
    def is_called_used(self) -> bool:
        """Say whether the tracker called the object used."""
        return self.use is not None and self.use.grade == "used"


@dataclass(frozen=True, slots=True)
class LastUse:
    """Hold the labelled and the found last use as calls; one before birth means never."""

    labelled: int
    found: int
    end: int
    tokens: float


def pairs(rows: Iterable[Row], judged: dict[Session, list[Judged]]) -> tuple[list[Pair], int]:
    """Return the decided pairs, and how many name an object or output that is not there."""
    found: list[Pair] = []
    missing = 0
    for row in rows:
        if row["label"] not in ("used", "not_used") or session_of(row) not in judged:
            continue
        tracks = judged[session_of(row)]
        key, output = str(row["object_index"]), bare(str(row["output_index"]))
        places = [
            (track, span)
            for track in tracks
            if output in track.calls and (span := track.span(key)) and span.birth <= track.calls[output]
        ]
        if not places:
            missing += 1
            continue
        track, span = places[0]
        found.append(Pair(row, row["label"] == "used", track.use(span, track.calls[output])))
    return found, missing


def last_uses(rows: Iterable[Row], judged: dict[Session, list[Judged]]) -> tuple[list[LastUse], int]:
    """Return labelled and found last uses, and how many rows could not be placed."""
    found: list[LastUse] = []
    missing = 0
    for row in rows:
        if session_of(row) not in judged:
            continue
        placed = [one for track in judged[session_of(row)] if (one := _last_use(row, track))]
        missing += not placed
        found.extend(placed[:1])
    return found, missing


def _last_use(row: Row, track: Judged) -> LastUse | None:
    span = track.span(str(row["object_index"]))
    if span is None:
        return None
    label = row["last_use"]
    if label in (None, "never"):
        labelled = span.birth - 1
    elif (key := bare(str(label))) in track.calls:
        labelled = track.calls[key]
    else:
        return None
    calls = range(span.birth, span.last + 1)
    used = [k for k in calls if (use := track.use(span, k)) and use.grade == "used"]
    return LastUse(labelled, used[-1] if used else span.birth - 1, span.last, span.tokens)


def precision_recall(found: Sequence[Pair]) -> Report:
    """Return precision and recall with the numbers behind them."""
    right = sum(pair.is_used and pair.is_called_used for pair in found)
    called = sum(pair.is_called_used for pair in found)
    used = sum(pair.is_used for pair in found)
    return {
        "precision": _ratio(right, called),
        "recall": _ratio(right, used),
        "n": len(found),
        "used": used,
        "called_used": called,
    }


def by_kind(found: Sequence[Pair]) -> Report:
    """Return recall for each kind of use; for pairs that are no use the rate of false calls."""
    report: Report = {}
    for kind, group in _grouped(
        found, lambda pair: str(pair.row.get("kind", "")) if pair.is_used else "none"
    ):
        rate = _ratio(sum(pair.is_called_used for pair in group), len(group))
        report[kind] = {"n": len(group), "false_rate" if kind == "none" else "recall": rate}
    return report


def by_rule(found: Sequence[Pair]) -> Report:
    """Return the precision of the calls each rule was named for."""
    called = [pair for pair in found if pair.is_called_used]
    report: Report = {}
    for rule, group in _grouped(called, lambda pair: pair.use.rule if pair.use else ""):
        precision = _ratio(sum(pair.is_used for pair in group), len(group))
        report[rule] = {"n": len(group), "precision": precision}
    return report


def _grouped(found: Sequence[Pair], name: Callable[[Pair], str]) -> list[tuple[str, list[Pair]]]:
    groups: dict[str, list[Pair]] = {}
    for pair in found:
        groups.setdefault(name(pair), []).append(pair)
    return sorted(groups.items())


def last_use_report(found: Sequence[LastUse]) -> Report:
    """Return how far the found last use is from the labelled one, in calls."""
    errors = [abs(one.found - one.labelled) for one in found]
    return {
        "exact": _ratio(sum(error == 0 for error in errors), len(errors)),
        "within_1": _ratio(sum(error <= 1 for error in errors), len(errors)),
        "mae_calls": _ratio(sum(errors), len(errors)),
        "n": len(errors),
    }


def dead_report(found: Sequence[LastUse]) -> Report:
    """Return the token-calls called dead: their sum against the labels', and the share that is right."""
    called = sum(one.tokens * (one.end - one.found) for one in found)
    labelled = sum(one.tokens * (one.end - one.labelled) for one in found)
    right = sum(one.tokens * (one.end - max(one.found, one.labelled)) for one in found)
    return {"dead_ratio": _ratio(called, labelled), "dead_right": _ratio(right, called)}


def _ratio(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def measure(labels: Report, data: Path) -> Report:
    """Return the whole report for one file of labels."""
    listed = [*_rows(labels, "pairs"), *_rows(labels, "pairs_extra")]
    ends = _rows(labels, "last_use")
    tracks, skipped = tracks_of([*listed, *ends], data)
    started = time.perf_counter()
    judged = {key: [judge(track, EvidenceTracker()) for track in found] for key, found in tracks.items()}
    seconds = time.perf_counter() - started
    found, missing = pairs(listed, judged)
    last, missing_ends = last_uses(ends, judged)
    return {
        **precision_recall(found),
        "random": precision_recall([pair for pair in found if pair.row.get("sample") == "random"]),
        "by_kind": by_kind(found),
        "by_rule": by_rule(found),
        "last_use": last_use_report(last),
        **dead_report(last),
        "missing": missing + missing_ends,
        "skipped": skipped,
        "seconds": round(seconds, 3),
    }


def _rows(labels: Report, name: str) -> list[Row]:
    return cast("list[Row]", labels.get(name, []))


def table(report: Report) -> str:
    """Return the figures as lines for people."""
    lines: list[str] = []
    for name, value in report.items():
        if isinstance(value, dict) and name in ("by_kind", "by_rule"):
            inner = cast("dict[str, object]", value)
            lines += [f"{name:12} {key:14} {inner[key]}" for key in inner]
        else:
            lines.append(f"{name:12} {value}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the report of one file of labels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--labels", type=Path, required=True, help="file of labels")
    parser.add_argument("--data", type=Path, required=True, help="folder that the labels' paths start from")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args(argv)
    labels = cast("Report", json.loads(arguments.labels.read_text(encoding="utf-8")))
    report = measure(labels, arguments.data)
    print(json.dumps(report) if arguments.json else table(report))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
