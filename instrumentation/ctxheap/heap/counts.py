"""Count the texts of new objects in batches, equal texts once (SPEC 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ctxheap.heap.model import Part
from ctxheap.heap.records import HeapObject

BATCH_CHARS = 1_000_000


class TokenCounter(Protocol):
    """Count texts with one model's tokenizer."""

    @property
    def exact(self) -> bool:
        """Say whether this is the model's real tokenizer."""
        ...

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text."""
        ...


class Batch:
    """Hold objects whose tokens are still to be counted; `raw` is filled in when the batch is full."""

    def __init__(self) -> None:
        self._counter: TokenCounter | None = None
        self._waiting: list[tuple[HeapObject, str]] = []
        self._chars = 0
        # A text is known by hash and length: it need not be kept to be recognised.
        self._known: dict[tuple[int, int], int] = {}

    def add(self, item: HeapObject, part: Part, counter: TokenCounter) -> None:
        """Take in an object: known sizes are taken as they are, hidden content has none yet."""
        if part.tokens is not None:
            item.raw, item.known = part.tokens, True
        elif part.kind != "hidden":
            if counter != self._counter:
                self.flush()
                self._counter, self._known = counter, {}
            text = part.tool + part.text if part.kind == "tool_call" else part.text
            self._waiting.append((item, text))
            self._chars += len(text)
            if self._chars > BATCH_CHARS:
                self.flush()

    def flush(self) -> None:
        """Count all that waits."""
        if self._counter is None:
            return
        fresh = {_key(text): text for _, text in self._waiting if _key(text) not in self._known}
        counted = self._counter.count(list(fresh.values()))
        self._known.update(zip(fresh, counted, strict=True))
        for item, text in self._waiting:
            item.raw = self._known[_key(text)]
        self._waiting.clear()
        self._chars = 0


def _key(text: str) -> tuple[int, int]:
    return hash(text), len(text)
