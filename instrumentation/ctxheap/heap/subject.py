"""Say what liveness needs to know of an object, whoever keeps it (SPEC 5).

Callers hand over their own records; an object is named by its place in the sequence they pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ctxheap.heap.tags import INHERENT

OWN_TEXT = frozenset({"agent_output", "agent_reasoning"})


class Subject(Protocol):
    """Describe one object of a session; calls are counted from 1."""

    @property
    def tag(self) -> str:
        """Return the full tag, `kind` or `kind:name`."""
        ...

    @property
    def birth(self) -> int:
        """Return the first call whose prompt holds the object."""
        ...

    @property
    def last(self) -> int:
        """Return the last call whose prompt holds the object."""
        ...

    @property
    def pinned(self) -> bool:
        """Return whether an application asked to keep it."""
        ...

    @property
    def answers(self) -> int | None:
        """Return the place of the tool call that a tool result answers; None for all else."""
        ...


def base_of(tag: str) -> str:
    """Return the kind of a tag, without the name behind the colon."""
    return tag.partition(":")[0]


def is_inherent(tag: str, *, pinned: bool = False) -> bool:
    """Return whether an object is in use for as long as it is there (SPEC 5.4)."""
    return pinned or base_of(tag) in INHERENT


def answers_of(subjects: Iterable[Subject]) -> dict[int, list[int]]:
    """Return the places of all answers to each answered tool call: a result may be rewritten, or cleared."""
    answers: dict[int, list[int]] = {}
    for place, item in enumerate(subjects):
        if item.answers is not None:
            answers.setdefault(item.answers, []).append(place)
    return answers
