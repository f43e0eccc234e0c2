"""Judge labelled sessions for spirals and for the change they were asked for, and score that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ctxheap.analysis.spirals import spirals, zero_write
from ctxheap.analysis.study import study

from .heaps import labelled

Label = Mapping[str, object]
Report = dict[str, object]


@dataclass(frozen=True, slots=True)
class Judged:
    """Hold one session: what the label says and what was found, with the kinds of spirals."""

    session: str
    spiral: bool
    zero_write: bool
    found_spirals: tuple[str, ...]
    found_zero_write: bool


def judge(labels: Iterable[Label], data: Path) -> tuple[list[Judged], list[str]]:
    """Return the judged sessions, and the names of those that could not be read."""
    found: list[Judged] = []
    unread: list[str] = []
    for label in labels:
        session = labelled(label, data)
        if session is None:
            unread.append(str(label["session"]))
            continue
        studied = study(session.heap, lambda call: None)
        kinds = tuple(spiral.kind for spiral in spirals(studied))
        is_zero = zero_write(studied) is not None
        found.append(
            Judged(str(label["session"]), bool(label["spiral"]), bool(label["zero_write"]), kinds, is_zero)
        )
    return found, unread


def score(rows: Sequence[tuple[str, bool, bool]]) -> Report:
    """Return precision and recall of rows (session, labelled, found); None where nothing can be divided."""
    right = sum(is_labelled and is_found for _, is_labelled, is_found in rows)
    called = sum(is_found for _, _, is_found in rows)
    wanted = sum(is_labelled for _, is_labelled, _ in rows)
    return {
        "precision": right / called if called else None,
        "recall": right / wanted if wanted else None,
        "n": len(rows),
        "labelled": wanted,
        "found": called,
        "missed": [name for name, is_labelled, is_found in rows if is_labelled and not is_found],
        "false": [name for name, is_labelled, is_found in rows if is_found and not is_labelled],
    }


def report(found: Sequence[Judged], unread: Sequence[str]) -> Report:
    """Return the scores of both verdicts."""
    return {
        "spiral": score([(each.session, each.spiral, bool(each.found_spirals)) for each in found]),
        "zero_write": score([(each.session, each.zero_write, each.found_zero_write) for each in found]),
        "kinds": {each.session: each.found_spirals for each in found if each.found_spirals},
        "unread": list(unread),
    }
