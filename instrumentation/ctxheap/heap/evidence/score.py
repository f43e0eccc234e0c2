"""Turn the terms of an object and an output into a score and the name of the evidence.

The constants were fitted by `benchmarks/fit_evidence.py` on the labelled development sessions; what
was measured is in `docs/evidence.md`.
"""

from __future__ import annotations

from operator import mul
from typing import Literal

from .terms import Credit, Terms

Rule = Literal["quote", "handle", "argument", "answer", "request"]
Grade = Literal["used", "probable"]

INTERCEPT = -1.53
WEIGHTS = Terms(
    novel=2.11,
    share=1.36,
    facts=2.72,
    breadth=0.82,
    echo=1.11,
    cover=1.53,
    turn=2.83,
    next=1.81,
    ignored=-0.27,
    bulk=-0.3,
)
USED = 0.0
PROBABLE = -0.9

NAMES: tuple[str, ...] = Terms._fields
_MENTION_FACTORS = WEIGHTS[: NAMES.index("turn")]
"""The terms before this one speak of something mentioned."""


def score(terms: Terms) -> float:
    """Return the log-odds of use, shifted so that 0 is the threshold of *used*."""
    return sum(map(mul, WEIGHTS, terms), start=INTERCEPT)


def grade(value: float) -> Grade | None:
    """Return the grade of a score, None where nothing speaks for use."""
    if value >= USED:
        return "used"
    return "probable" if value >= PROBABLE else None


def rule(terms: Terms, credit: Credit) -> Rule:
    """Return the rule of SPEC 5.1 that the strongest evidence stands for."""
    mentioned = sum(map(mul, _MENTION_FACTORS, terms))
    turn, answer = WEIGHTS.turn * terms.turn, WEIGHTS.next * terms.next
    if turn >= max(mentioned, answer) and turn > 0:
        return "request"
    if answer >= mentioned and answer > 0:
        return "answer"
    if 2 * credit.argued > credit.count:
        return "argument"
    return "handle" if 2 * credit.named > credit.count else "quote"
