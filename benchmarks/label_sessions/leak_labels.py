"""Score verdicts, severities, dead objects, keeps and spirals against sessions labelled by reading."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ctxheap.analysis.series import ThetaOf
from ctxheap.analysis.spirals import spirals, zero_write
from ctxheap.analysis.study import Study, study
from ctxheap.analysis.verdicts import Leak, verdicts
from ctxheap.heap.subject import base_of

from .heaps import Label, Labelled, labelled
from .suggestion_labels import suggestion_scores

IDLE_RULES: dict[str, Callable[[int], int] | None] = {
    "product": None,
    "none": lambda calls: 0,
    "three calls": lambda calls: 3,
    "ten calls": lambda calls: 10,
    "half the session": lambda calls: calls // 2,
}
"""Idle rules to compare: how long an object must lie idle to count as dead, by the calls of a session."""

Report = dict[str, object]


@dataclass(frozen=True, slots=True)
class Case:
    """Hold one labelled session with what the product says of it."""

    session: Labelled
    study: Study
    leaks: Mapping[str, Leak]

    @property
    def tags(self) -> Sequence[Mapping[str, object]]:
        """Return the labelled tags that somebody could decide."""
        rows = cast("Sequence[Mapping[str, object]]", self.session.label["tags"])
        return [row for row in rows if row["label"] != "unclear"]

    def leak(self, tag: str) -> Leak:
        """Return the verdict on a labelled tag; `tool:*` stands for all tags of the kind."""
        if tag.endswith(":*"):
            found = [leak for name, leak in self.leaks.items() if base_of(name) == base_of(tag)]
            return max(found, key=lambda leak: leak.share, default=Leak(tag, "insufficient"))
        return self.leaks.get(tag, Leak(tag, "insufficient"))


def label_report(labels: Path, data: Path, *, misses: bool = False) -> Report:
    """Return how the product does on a label file; with every verdict that differs when asked for."""
    rows = cast("Sequence[Label]", json.loads(labels.read_text(encoding="utf-8"))["sessions"])
    sessions = [labelled(row, data) for row in rows]
    # Labels are shares of token-calls, so money must not weigh in.
    studies = [study(item.heap, lambda call: None) for item in sessions if item]
    known = [item for item in sessions if item]
    cases = [_case(item, found) for item, found in zip(known, studies, strict=True)]
    report: Report = {
        "sessions": len(rows),
        "read": len(cases),
        "unread": sorted({str(row["format"]) for row, item in zip(rows, sessions, strict=True) if not item}),
        **verdict_scores(cases),
        "dead": dead_scores(cases),
        "keep": keep_scores(cases),
        "suggestions": suggestion_scores((case.session, case.study) for case in cases),
        "spiral": _pairs((bool(case.session.label["spiral"]), bool(spirals(case.study))) for case in cases),
        "zero_write": _pairs(
            (bool(case.session.label["zero_write"]), zero_write(case.study) is not None) for case in cases
        ),
        "idle_rules": {
            name: verdict_scores(
                [_case(item, found, rule) for item, found in zip(known, studies, strict=True)]
            )["leak"]
            for name, rule in IDLE_RULES.items()
        },
    }
    return report | ({"misses": list(_misses(cases))} if misses else {})


def _case(session: Labelled, found: Study, rule: Callable[[int], int] | None = None) -> Case:
    theta: ThetaOf | None = None
    if rule is not None:
        bound = rule(len(found.heap.calls))
        theta = lambda tag: bound  # noqa: E731
    return Case(session, found, {leak.tag: leak for leak in verdicts(found, theta=theta)})


def verdict_scores(cases: Sequence[Case]) -> Report:
    """Return precision and recall of leak and ballast, and how many severities agree."""
    pairs = [
        (str(row["label"]), row["severity"], case.leak(str(row["tag"])))
        for case in cases
        for row in case.tags
    ]
    agreed = [(severity, leak.severity) for label, severity, leak in pairs if label == leak.verdict]
    both = [pair for pair in agreed if pair[0] is not None]
    return {
        "tags": len(pairs),
        "leak": _pairs((label == "leak", leak.verdict == "leak") for label, _, leak in pairs),
        "ballast": _pairs((label == "ballast", leak.verdict == "ballast") for label, _, leak in pairs),
        "severity": {"agreed": sum(one == other for one, other in both), "of": len(both)},
    }


def _pairs(pairs: Iterator[tuple[bool, bool]]) -> Report:
    counts = Counter(pairs)
    hits, false, missed = counts[True, True], counts[False, True], counts[True, False]
    return {
        "precision": round(hits / (hits + false), 4) if hits + false else None,
        "recall": round(hits / (hits + missed), 4) if hits + missed else None,
        "hits": hits,
        "false": false,
        "missed": missed,
    }


def dead_scores(cases: Sequence[Case]) -> Report:
    """Return how many of the labelled dead objects are dead, and from about the labelled call on."""
    found: Counter[str] = Counter()
    for case in cases:
        for row in cast("Sequence[Mapping[str, object]]", case.session.label["dead"]):
            numbers = case.session.numbers(int(str(row["index"])), str(row["tag"]))
            lives = [case.study.account.lives[number] for number in numbers]
            by = _call_of(case, int(str(row["dead_from"])))
            found["labelled"] += 1
            found["placed"] += bool(lives)
            found["dead"] += any(life.high is not None for life in lives)
            found["surely_dead"] += any(life.low is not None for life in lives)
            found["dead_in_time"] += any(life.high is not None and life.high <= by + 2 for life in lives)
    return dict(found)


def keep_scores(cases: Sequence[Case]) -> Report:
    """Return how many objects that look idle and are used later are live until that use."""
    found: Counter[str] = Counter()
    for case in cases:
        for row in cast("Sequence[Mapping[str, object]]", case.session.label["keep"]):
            numbers = case.session.numbers(int(str(row["index"])))
            lives = [case.study.account.lives[number] for number in numbers]
            used = _call_of(case, int(str(row["used_at"])))
            found["labelled"] += 1
            found["placed"] += bool(lives)
            found["live_until_used"] += any(life.high is None or life.high >= used for life in lives)
            found["surely_dead_before"] += bool(lives) and all(
                life.low is not None and life.low < used for life in lives
            )
    return dict(found)


def _call_of(case: Case, index: int) -> int:
    """Return the call whose output is a message, or that first saw it."""
    numbers = case.session.numbers(index)
    if not numbers:
        return len(case.study.heap.calls)
    first = min((case.study.heap.objects[number] for number in numbers), key=lambda item: item.birth)
    is_own = base_of(first.tag) in ("agent_output", "agent_reasoning", "tool_call")
    return first.birth - is_own


def _misses(cases: Sequence[Case]) -> Iterator[Report]:
    for case in cases:
        for row in case.tags:
            leak = case.leak(str(row["tag"]))
            label = str(row["label"])
            said = leak.verdict if leak.verdict in ("leak", "ballast") else "no_leak"
            if (label, row["severity"]) != (said, leak.severity):
                yield {
                    "session": case.session.label["session"],
                    "tag": row["tag"],
                    "label": [label, row["severity"], row["dead_rent_high"]],
                    "said": [leak.verdict, leak.severity, round(100 * leak.share, 1), leak.additions],
                }
