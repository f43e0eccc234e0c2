"""Fit the constants of `ctxheap.heap.evidence.score` on labelled pairs, and cross-validate them.

    python benchmarks/fit_evidence.py --data ../shared/data --labels ../shared/labels/use_*.json

A third of the sessions is set aside by a fixed rule and never fitted on; `--aside` measures the fit
on it.

The fit is a logistic regression with a ridge of 1/C on every weight but the intercept. The penalty
on bulk is not fitted: pairs do not speak about it (measured: neutral), last uses do.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp
from operator import mul
from pathlib import Path
from typing import cast

from ctxheap.heap.evidence import EvidenceTracker
from ctxheap.heap.evidence.score import NAMES, WEIGHTS, score
from ctxheap.heap.evidence.terms import Output, Terms
from ctxheap.heap.evidence.tracker import Candidate
from label_sessions import bare
from label_sessions.judged import Judged, Row, Session, Span, judge, session_of, tracks_of

FOLDS = 10
SEEDS = 8
STEPS = 50
C = 1.0
FIXED = NAMES.index("bulk")
ABSENT = -9.0
"""Score of a pair whose object was no candidate."""


@dataclass(slots=True)
class Pair:
    """Hold a labelled pair: the terms of its object's parts, none where nothing spoke for it."""

    row: Row
    labels: str
    terms: list[Terms]


@dataclass(slots=True)
class End:
    """Hold a labelled last use: terms by call, labelled call, first and last call, tokens."""

    row: Row
    labels: str
    span: Span
    labelled: int
    terms: list[tuple[int, Terms]]


class Recorder(EvidenceTracker):
    """Keep the terms of every candidate by number and turn."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[tuple[int, int], Terms] = {}

    def candidates(self, output: Output) -> Iterator[Candidate]:
        """Yield the candidates and keep their terms; calls of labelled tracks are turns + 1."""
        for found in super().candidates(output):
            self.seen[found.item.number, output.turn + 1] = found.terms
            yield found


def is_aside(session: Session) -> bool:
    """Say whether a session is in the third that is never fitted on."""
    return hashlib.sha256(f"{session[0]}#{session[1]}".encode()).digest()[0] % 3 == 0


def sessions_of(pairs: Sequence[Pair], ends: Sequence[End]) -> dict[Session, str]:
    """Return the sources of all labelled sessions."""
    rows = [*(pair.row for pair in pairs), *(end.row for end in ends)]
    return {session_of(row): str(row["source"]) for row in rows}


def collect(files: Sequence[Path], data: Path) -> tuple[list[Pair], list[End]]:
    """Return the decided pairs and the last uses of label files."""
    found: list[Pair] = []
    ends: list[End] = []
    for file in files:
        labels = cast("dict[str, list[Row]]", json.loads(file.read_text(encoding="utf-8")))
        rows = [*labels["pairs"], *labels.get("pairs_extra", [])]
        tracks, _ = tracks_of([*rows, *labels.get("last_use", [])], data)
        recorded: dict[Session, list[tuple[Judged, Recorder]]] = {}
        for session, listed in tracks.items():
            recorders = [(track, Recorder()) for track in listed]
            recorded[session] = [(judge(track, recorder), recorder) for track, recorder in recorders]
        found += [
            Pair(row, file.stem, _terms(row, recorded[session_of(row)]))
            for row in rows
            if row["label"] != "unclear" and session_of(row) in recorded
        ]
        for row in labels.get("last_use", []):
            ends += _end(row, file.stem, recorded.get(session_of(row), []))[:1]
    return found, ends


def _terms(row: Row, tracks: list[tuple[Judged, Recorder]]) -> list[Terms]:
    for judged, recorder in tracks:
        span = judged.span(str(row["object_index"]))
        call = judged.calls.get(bare(str(row["output_index"])))
        if span and call:
            keys = [(number, call) for number in span.numbers]
            return [recorder.seen[key] for key in keys if key in recorder.seen]
    return []


def _end(row: Row, labels: str, tracks: list[tuple[Judged, Recorder]]) -> list[End]:
    ends: list[End] = []
    for judged, recorder in tracks:
        span = judged.span(str(row["object_index"]))
        if span is None:
            continue
        is_never = row["last_use"] in (None, "never")
        labelled = span.birth - 1 if is_never else judged.calls[bare(str(row["last_use"]))]
        calls = range(span.birth, span.last + 1)
        listed = [(k, recorder.seen[n, k]) for k in calls for n in span.numbers if (n, k) in recorder.seen]
        ends.append(End(row, labels, span, labelled, listed))
    return ends


def fitted(rows: Sequence[Sequence[float]], used: Sequence[bool]) -> list[float]:
    """Return the weights of a ridge logistic regression by Newton's method; column 0 is constant."""
    size = len(rows[0])
    ridge = [1e-6, *[1 / C] * (size - 1)]
    weights = [0.0] * size
    for _ in range(STEPS):
        chances = [_logistic(sum(map(mul, row, weights))) for row in rows]
        gradient = [ridge[k] * weights[k] for k in range(size)]
        hessian = [[ridge[k] if k == m else 0.0 for m in range(size)] for k in range(size)]
        for row, chance, is_used in zip(rows, chances, used, strict=True):
            _add_row(gradient, hessian, row, chance, is_used)
        step = solved(hessian, gradient)
        weights = [weight - change for weight, change in zip(weights, step, strict=True)]
        if max(map(abs, step)) < 1e-7:
            break
    return weights


def _logistic(value: float) -> float:
    return 1.0 / (1.0 + exp(-max(-500.0, value)))


def _add_row(
    gradient: list[float], hessian: list[list[float]], row: Sequence[float], chance: float, is_used: bool
) -> None:
    spread = chance * (1 - chance)
    for k, value in enumerate(row):
        if value:
            gradient[k] += (chance - is_used) * value
            line, factor = hessian[k], spread * value
            for m, other in enumerate(row):
                line[m] += factor * other


def solved(matrix: list[list[float]], right: Sequence[float]) -> list[float]:
    """Return the solution of a positive definite system by elimination."""
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for k in range(size):
        for m in range(k + 1, size):
            factor = rows[m][k] / rows[k][k]
            rows[m] = [a - factor * b for a, b in zip(rows[m], rows[k], strict=True)]
    found = [0.0] * size
    for k in reversed(range(size)):
        known = sum(rows[k][m] * found[m] for m in range(k + 1, size))
        found[k] = (rows[k][size] - known) / rows[k][k]
    return found


@dataclass(frozen=True, slots=True)
class Model:
    """Hold an intercept and one factor for each term."""

    intercept: float
    factors: tuple[float, ...]

    def score(self, one: Terms) -> float:
        """Return the log-odds of use."""
        return sum(map(mul, self.factors, one.values()), start=self.intercept)

    def best(self, listed: Sequence[Terms]) -> float:
        """Return the score of the strongest part, or that of a pair without a candidate."""
        return max(map(self.score, listed), default=ABSENT)


def fit(pairs: Sequence[Pair], without: Sequence[str] = ()) -> Model:
    """Return the model fitted on the pairs that have a candidate, on their strongest part."""
    known = [pair for pair in pairs if pair.terms]
    free = [k for k, name in enumerate(NAMES) if k != FIXED and name not in without]
    strongest = [max(pair.terms, key=score).values() for pair in known]
    rows = [[1.0, *(one[k] for k in free)] for one in strongest]
    # the fixed penalty stays outside: fitting around it would give it back through other terms
    intercept, *weights = fitted(rows, [pair.row["label"] == "used" for pair in known])
    factors = [0.0] * len(NAMES)
    for k, weight in zip(free, weights, strict=True):
        factors[k] = weight
    factors[FIXED] = 0.0 if NAMES[FIXED] in without else WEIGHTS.values()[FIXED]
    return Model(intercept, tuple(factors))


def folds(sessions: Sequence[Session], seed: int) -> dict[Session, int]:
    """Return the fold of each session."""
    shuffled = sorted(set(sessions))
    random.Random(seed).shuffle(shuffled)
    return {session: place % FOLDS for place, session in enumerate(shuffled)}


def out_of_fold(
    pairs: Sequence[Pair], ends: Sequence[End], seed: int, without: Sequence[str] = ()
) -> dict[Session, Model]:
    """Return for each session the model fitted without its fold."""
    fold = folds(list(sessions_of(pairs, ends)), seed)
    models = [fit([p for p in pairs if fold[session_of(p.row)] != k], without) for k in range(FOLDS)]
    return {session: models[place] for session, place in fold.items()}


def left_out(pairs: Sequence[Pair], ends: Sequence[End], without: Sequence[str] = ()) -> dict[Session, Model]:
    """Return for each session the model fitted without its source."""
    sources = sessions_of(pairs, ends)
    models = {
        source: fit([p for p in pairs if str(p.row["source"]) != source], without)
        for source in sorted(set(sources.values()))
    }
    return {session: models[source] for session, source in sources.items()}


def figures(
    pairs: Sequence[Pair], ends: Sequence[End], models: dict[Session, Model], threshold: float
) -> dict[str, float]:
    """Return precision, recall, average precision, last uses and dead sums at a threshold."""
    scored = [(models[session_of(p.row)].best(p.terms), p.row["label"] == "used") for p in pairs]
    right = sum(used and value >= threshold for value, used in scored)
    called = sum(value >= threshold for value, _ in scored)
    report = {
        "precision": right / max(1, called),
        "recall": right / max(1, sum(used for _, used in scored)),
        "average_precision": _average_precision(scored),
    }
    return report | _last(ends, models, threshold)


def _average_precision(scored: Sequence[tuple[float, bool]]) -> float:
    hits, total = 0, 0.0
    for rank, (_, used) in enumerate(sorted(scored, key=lambda one: -one[0]), start=1):
        hits += used
        total += used * hits / rank
    return total / max(1, hits)


def _last(ends: Sequence[End], models: dict[Session, Model], threshold: float) -> dict[str, float]:
    errors: list[int] = []
    called = labelled = right = 0.0
    for end in ends:
        model = models[session_of(end.row)]
        used = [call for call, one in end.terms if model.score(one) >= threshold]
        found = max(used, default=end.span.birth - 1)
        errors.append(abs(found - end.labelled))
        called += end.span.tokens * (end.span.last - found)
        labelled += end.span.tokens * (end.span.last - end.labelled)
        right += end.span.tokens * (end.span.last - max(found, end.labelled))
    n = max(1, len(errors))
    return {
        "exact": sum(error == 0 for error in errors) / n,
        "within_1": sum(error <= 1 for error in errors) / n,
        "mae_calls": sum(errors) / n,
        "dead_ratio": called / max(1.0, labelled),
        "dead_right": right / max(1.0, called),
    }


def averaged(reports: Sequence[dict[str, float]]) -> str:
    """Return the means of several reports as one line."""
    return " ".join(f"{key} {sum(one[key] for one in reports) / len(reports):.3f}" for key in reports[0])


def show(
    title: str, pairs: list[Pair], ends: list[End], models: Sequence[dict[Session, Model]], threshold: float
) -> None:
    """Print the figures of all labels and of each file of labels."""
    for labels in ("", *sorted({pair.labels for pair in pairs})):
        chosen = [pair for pair in pairs if labels in ("", pair.labels)]
        last = [end for end in ends if labels in ("", end.labels)]
        line = averaged([figures(chosen, last, one, threshold) for one in models])
        print(f"{title:14} {labels or 'all':12} n {len(chosen):4} {len(last):4} {line}")


def main(argv: Sequence[str] | None = None) -> int:
    """Print the fitted constants and what they are worth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--labels", type=Path, nargs="+", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--threshold", type=float, default=0.35, help="log-odds from which an object is used")
    parser.add_argument("--without", nargs="*", default=[], help="terms to leave out")
    parser.add_argument("--ablate", action="store_true", help="leave out each term in turn")
    parser.add_argument("--aside", action="store_true", help="measure the fit on the sessions set aside")
    options = parser.parse_args(argv)
    pairs, ends = collect(options.labels, options.data)
    dev = [pair for pair in pairs if not is_aside(session_of(pair.row))]
    dev_ends = [end for end in ends if not is_aside(session_of(end.row))]
    model = fit(dev, options.without)
    print("intercept less threshold", round(model.intercept - options.threshold, 2))
    for name, factor in zip(NAMES, model.factors, strict=True):
        print(f"  {name:10} {factor:6.2f}")
    for without in [options.without, *([name] for name in NAMES if options.ablate)]:
        title = "without " + " ".join(without) if without else "folds"
        models = [out_of_fold(dev, dev_ends, seed, without) for seed in range(SEEDS)]
        show(title[:14], dev, dev_ends, models, options.threshold)
    show("sources", dev, dev_ends, [left_out(dev, dev_ends, options.without)], options.threshold)
    if options.aside:
        rest = [pair for pair in pairs if is_aside(session_of(pair.row))]
        rest_ends = [end for end in ends if is_aside(session_of(end.row))]
        models = [dict.fromkeys(sessions_of(rest, rest_ends), model)]
        show("set aside", rest, rest_ends, models, options.threshold)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
