"""Hold what reading a request leaves behind for reading the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ctxheap.heap.model import Part
from ctxheap.providers.increment import Decoded


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
        tools: Tool names by call id.
        outputs: What the model returned, by identity; it comes back as the very same parts.
        items: What the model returned, by the ids that a request may refer to it with.
        is_incomplete: Whether parts of the history are known to be missing.
    """

    decoded: Decoded
    opening: tuple[Part, ...]
    parts: tuple[Part, ...]
    ends: Sequence[int]
    stored: tuple[Part, ...]
    answer: tuple[Part, ...]
    tools: Mapping[str, str]
    outputs: Mapping[bytes, Part]
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
    """Hold what a request is read with, and what reading it adds; the fields are those of `Prefix`."""

    tools: dict[str, str] = field(default_factory=dict[str, str])
    outputs: dict[bytes, Part] = field(default_factory=dict[bytes, Part])
    items: dict[str, Sequence[Part]] = field(default_factory=dict[str, Sequence[Part]])
    is_incomplete: bool = False

    def learn(self, prefix: Prefix | None) -> None:
        """Take over what an earlier call knew."""
        if prefix is not None:
            self.tools.update(prefix.tools)
            self.outputs.update(prefix.outputs)
            self.items.update(prefix.items)
            self.is_incomplete = self.is_incomplete or prefix.is_incomplete
