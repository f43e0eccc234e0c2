"""Check that the benchmark scores any generator file with the interface."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from leaks import generator_report, last_over_first, least_squares

GENERATOR = """
def corpus(per_kind, seed):
    rising = {"kind": "rising", "label": 1, "s": [100 * k for k in range(40)], "C": [9_000] * 40}
    spike = {"kind": "spike", "label": 0, "s": [5] * 10 + [9_000] + [6] * 29, "C": [20_000] * 40}
    return [rising, spike] * per_kind
"""


def test_a_generator_without_numpy_is_scored(tmp_path: Path) -> None:
    path = tmp_path / "other.py"
    path.write_text(GENERATOR, "utf-8")

    report = generator_report(path, seed=1_000, per_kind=3)

    perfect = {"precision": 1.0, "recall": 1.0, "fpr": 0.0, "kinds": {"rising": 1.0, "spike": 0.0}}
    assert (report["detector"], report["series"], report["seed"]) == (perfect, 6, 1_000)
    assert report["naive"] == {
        "least_squares": {**perfect, "kinds": {"rising": 1.0, "spike": 0.0}},
        "last_over_first": {
            "precision": 0.5,
            "recall": 1.0,
            "fpr": 1.0,
            "kinds": {"rising": 1.0, "spike": 1.0},
        },
    }


def test_a_generator_that_needs_more_says_what(tmp_path: Path) -> None:
    path = tmp_path / "needy.py"
    path.write_text("import no_such_package\n", "utf-8")

    with pytest.raises(SystemExit, match="pip install no_such_package"):
        generator_report(path, seed=1, per_kind=1)


def test_naive_rules_are_naive() -> None:
    window = [1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]

    assert least_squares(window, [9.0] * 8)
    assert last_over_first(window, [9.0] * 8)
