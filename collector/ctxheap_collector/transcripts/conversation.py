"""Make the parts of successive requests so that what stays in the prompt is made, hashed and counted once.

Requests repeat their history. A message equal to the one that stood at the same place in an earlier request
keeps its `Part` objects, cache marks aside, which are not billed and move on. What the model returned comes
back as the very parts it was returned as.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxheap.heap.model import Part
from ctxheap.providers.json_fields import fields, items
from ctxheap_collector.transcripts.wire import Wire

REMEMBERED = 8
"""Conversations kept in mind, so that agents may take turns in one log."""


class Conversation:
    """Hold the last request of one conversation: its messages, and the parts made of each."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self._raw: Sequence[object] = ()
        self._made: list[list[Part]] = []
        self._tools: dict[str, str] = {}
        self._known: dict[bytes, Part] = {}

    @property
    def length(self) -> int:
        """Return the number of messages of the last request."""
        return len(self._raw)

    def common(self, messages: Sequence[object]) -> int:
        """Return how many messages at the start are those of the last request."""
        for index, (old, new) in enumerate(zip(self._raw, messages, strict=False)):
            if not _is_same(old, new):
                return index
        return min(len(self._raw), len(messages))

    def fork(self) -> Conversation:
        """Return a conversation that starts with the same memory and goes its own way."""
        other = Conversation(self.wire)
        other._raw, other._made = self._raw, self._made
        other._tools, other._known = dict(self._tools), dict(self._known)
        return other

    def parts(self, messages: Sequence[object]) -> list[Part]:
        """Return the parts of a request's messages, and remember them for the next one."""
        return [part for parts in self.parts_by_message(messages) for part in parts]

    def parts_by_message(self, messages: Sequence[object]) -> list[list[Part]]:
        """Return the same as `parts`, message by message."""
        made: list[list[Part]] = []
        for index, message in enumerate(messages):
            if index < len(self._raw) and _is_same(self._raw[index], message):
                made.append(self._made[index])
            else:
                before = self._made[index] if index < len(self._made) else []
                made.append(self._shared(message, before, where=str(index)))
        self._raw, self._made = messages, made
        return made

    def answer(self, message: object, *, where: str) -> list[Part]:
        """Return the parts of what the model returned."""
        return self.wire.message_parts(message, tools=self._tools, where=where)

    def remember(self, output: Sequence[Part]) -> None:
        """Keep the output for the request that sends it back."""
        self._known |= {part.identity: part for part in output}

    def _shared(self, message: object, before: Sequence[Part], *, where: str) -> list[Part]:
        known = {part.identity: part for part in before}
        made = self.wire.message_parts(message, tools=self._tools, where=where)
        return [known.get(part.identity) or self._known.get(part.identity, part) for part in made]


def _is_same(old: object, new: object) -> bool:
    return old is new or old == new or _unmarked(old) == _unmarked(new)


def _unmarked(message: object) -> object:
    """Return a message without the cache marks on it and on its blocks."""
    body = fields(message)
    if not body:
        return message
    plain = {key: value for key, value in body.items() if key != "cache_control"}
    if blocks := items(body.get("content")):
        plain["content"] = [
            {key: value for key, value in fields(block).items() if key != "cache_control"} or block
            for block in blocks
        ]
    return plain


class Conversations:
    """Find the conversation that a request continues."""

    def __init__(self) -> None:
        self._recent: list[Conversation] = []

    def of(self, wire: Wire, messages: Sequence[object]) -> Conversation:
        """Return the conversation with the longest common opening, or a new one."""
        same = [item for item in self._recent if item.wire is wire]
        common, best = max(((item.common(messages), item) for item in same), key=_first, default=(0, None))
        if best is None or not common:
            best = Conversation(wire)
        elif common < best.length:
            best = best.fork()
        self._recent = [best, *(item for item in self._recent if item is not best)][:REMEMBERED]
        return best


def _first(pair: tuple[int, Conversation]) -> int:
    return pair[0]
