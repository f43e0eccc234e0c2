"""Hold what reading a request leaves behind for reading the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ctxheap.heap.model import Part
from ctxheap.providers.increment import Decoded

MAX_ITEMS = 1_000


@dataclass(frozen=True, slots=True)
class Prefix:
    """Hold what the next request may have in common with this one; opaque to the capture.

    Attributes:
        decoded: The request, for finding where the next one goes on.
        opening: Parts of tool definitions and system prompt.
        parts: Parts of the messages, flat.
        ends: For each message, the number of parts up to its end.
        stored: Parts that a stateful API keeps in front of the messages.
        answer: Parts of the response.
        items: What the model returned, by the ids that a request may refer to it with.
        is_incomplete: Whether parts of the history are known to be missing.
    """

    decoded: Decoded
    opening: tuple[Part, ...]
    parts: tuple[Part, ...]
    ends: Sequence[int]
    stored: tuple[Part, ...]
    answer: tuple[Part, ...]
    items: Mapping[str, Sequence[Part]] = field(default_factory=dict[str, Sequence[Part]])
    is_incomplete: bool = False

    @property
    def raw(self) -> bytes:
        """Return the request's body."""
        return self.decoded.raw


class Stored(Protocol):
    """Find what a stateful API keeps."""

    def __call__(self, name: str) -> Prefix | None:
        """Return the prefix of the call with that response id or conversation, None if unknown."""
        ...


@dataclass(slots=True)
class Memory:
    """Hold what a request is read with, and what reading it adds.

    Attributes:
        tools: Tool names by call id.
        parts: Parts that were seen before, by identity: what stayed is the very same part.
        items: As for `Prefix`; so is `is_incomplete`.
    """

    tools: dict[str, str] = field(default_factory=dict[str, str])
    parts: dict[bytes, Part] = field(default_factory=dict[bytes, Part])
    items: dict[str, Sequence[Part]] = field(default_factory=dict[str, Sequence[Part]])
    is_incomplete: bool = False

    def learn(self, parts: Sequence[Part]) -> None:
        """Take over parts that may come again."""
        self.parts.update((part.identity, part) for part in parts)
        self.name_calls(parts)

    def name_calls(self, parts: Sequence[Part]) -> None:
        """Take over the calls among parts: their results may be still to come."""
        self.tools.update((part.call_id, part.tool) for part in parts if part.kind == "tool_call")

    def keep(self, items: Mapping[str, Sequence[Part]]) -> None:
        """Take over items, the oldest dropped where there are too many."""
        self.items.update(items)
        while len(self.items) > MAX_ITEMS:
            del self.items[next(iter(self.items))]
