"""Describe a labelled session as turns: what entered the prompt, what left it, what came out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ctxheap.heap.model import Part


@dataclass(frozen=True, slots=True)
class Placed:
    """Hold one part under the index by which labels name it; several parts may share an index."""

    key: str
    part: Part


@dataclass(frozen=True, slots=True)
class Turn:
    """Hold one inference call: new objects in prompt order, indexes that left, the output.

    `key` is the index by which labels name the output; `dropped` holds indexes of objects that
    are no longer in the prompt of this call.
    """

    key: str
    seen: tuple[Placed, ...]
    output: tuple[Part, ...]
    dropped: tuple[str, ...] = ()


Track = list[Turn]
"""One session, or one branch of a forked one with the past it shares."""


def replay(messages: Iterable[Sequence[Placed]]) -> Track:
    """Return one turn per message of the model, each seeing everything listed before it."""
    track: Track = []
    pending: list[Placed] = []
    for message in messages:
        if is_own(message):
            output = tuple(placed.part for placed in message)
            track.append(Turn(key=bare(message[0].key), seen=tuple(pending), output=output))
            pending = []
        pending.extend(message)
    return track


def is_own(message: Sequence[Placed]) -> bool:
    """Say whether a message was made by the model."""
    return bool(message) and message[0].part.role == "assistant"


def bare(key: str) -> str:
    """Return the message's own index for the index of one of its parts ("3.1" is part of "3")."""
    return key.split(".", 1)[0]
