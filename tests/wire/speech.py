"""Hold what one reply is made of, and how server-sent events are written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from ctxheap.providers.json_fields import Fields
from wire.script import Answer

Json = dict[str, object]

CREATED = 1_790_000_000
PIECES = 7
"""Characters of text or arguments in one event of a stream."""


@dataclass(frozen=True, slots=True)
class Truth:
    """Hold the usage of a call: input with the cache included, output with the reasoning included."""

    input: int
    output: int
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """Hold what is to be said in answer to one request."""

    id: str
    model: str
    answer: Answer
    truth: Truth
    request: Fields


class Dialect(Protocol):
    """Speak one provider's API."""

    def turn(self, request: Fields) -> int:
        """Return how many turns of the model the request already holds."""
        ...

    def truth(self, truth: Truth) -> Truth:
        """Return what of the usage this API can report."""
        ...

    def whole(self, reply: Reply) -> Json:
        """Return the body of a plain response."""
        ...

    def events(self, reply: Reply) -> Iterator[bytes]:
        """Yield the events of a streamed response."""
        ...

    def error(self, status: int) -> Json:
        """Return the body of an error."""
        ...


def dumps(value: object) -> bytes:
    """Return compact JSON in UTF-8, as providers send it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def data(value: Mapping[str, object]) -> bytes:
    """Return an event without a name."""
    return b"data: " + dumps(value) + b"\n\n"


def event(value: Mapping[str, object]) -> bytes:
    """Return an event named by its type."""
    return b"event: " + str(value["type"]).encode() + b"\n" + data(value)


def pieces(text: str) -> Iterator[str]:
    """Cut a text as a streaming model does."""
    for start in range(0, len(text), PIECES):
        yield text[start : start + PIECES]
