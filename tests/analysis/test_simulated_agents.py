"""Check that dead series tell healthy agents from stale ones."""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from simulated_agents import flagged, session


def test_agents_that_go_back_to_everything_are_healthy() -> None:
    rng = random.Random(11)

    assert flagged([session(rng, is_stale=False) for _ in range(15)]) == 0


def test_agents_that_carry_what_they_used_once_are_stale() -> None:
    rng = random.Random(12)

    assert flagged([session(rng, is_stale=True) for _ in range(15)]) == 15
