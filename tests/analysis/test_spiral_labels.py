"""Hold spirals and sessions without the change asked for to what a reader says of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from label_sessions.spiral_scores import Judged, judge, report, score


def test_scores_name_what_was_missed_and_what_was_false() -> None:
    rows = [("a", True, True), ("b", True, False), ("c", False, True), ("d", False, False)]

    assert score(rows) == {
        "precision": 0.5,
        "recall": 0.5,
        "n": 4,
        "labelled": 2,
        "found": 2,
        "missed": ["b"],
        "false": ["c"],
    }


def test_nothing_found_and_nothing_labelled_has_no_scores() -> None:
    found = report([Judged("a", False, False, (), False)], ["b"])

    assert found["spiral"] == {
        "precision": None, "recall": None, "n": 1, "labelled": 0, "found": 0, "missed": [], "false": [],
    }  # fmt: skip
    assert found["unread"] == ["b"]


@pytest.mark.shared
def test_a_reader_and_the_rules_agree(shared: Path) -> None:
    labels = json.loads((shared / "labels" / "leaks.json").read_text("utf-8"))["sessions"]
    told = [label for label in labels if label["spiral"] or label["zero_write"] or label["calls"] <= 40]

    found, _ = judge(told, shared / "data")

    assert [each.session for each in found if bool(each.found_spirals) != each.spiral] == []
    assert [each.session for each in found if each.found_zero_write != each.zero_write] == []
