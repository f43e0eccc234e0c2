"""Count the texts of new objects in batches, equal texts once (SPEC 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

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


@runtime_checkable
class PatientCounter(Protocol):
    """Count somewhere else, while the caller goes on."""

    def submit(self, texts: Sequence[str]) -> Callable[[], list[int]]:
        """Take texts in and return what gives the tokens of each, waiting if it has to."""
        ...


class Batch:
    """Hold objects whose tokens are still to be counted; `raw` is filled in by `flush`.

    Texts go to their counter a million characters at a time and are not kept here after that.
    """

    def __init__(self) -> None:
        self._counter: TokenCounter | None = None
        self._answers: list[Callable[[], list[int]]] = []
        self._waiting: list[tuple[HeapObject, int]] = []
        self._fresh: list[str] = []
        self._chars = 0
        self._texts = 0
        # A text is known by hash and length: it need not be kept to be recognised.
        self._known: dict[tuple[int, int], int] = {}

    def add(self, item: HeapObject, part: Part, counter: TokenCounter) -> None:
        """Take in an object: known sizes are taken as they are, hidden content has none yet."""
        if part.tokens is not None:
            item.raw, item.known = part.tokens, True
        elif part.kind != "hidden":
            if counter != self._counter:
                self._send()
                self._counter, self._known = counter, {}
            text = part.tool + part.text if part.kind == "tool_call" else part.text
            self._waiting.append((item, self._place(text)))
            if self._chars > BATCH_CHARS:
                self._send()

    def flush(self) -> None:
        """Count all that waits, and wait for what is counted somewhere else."""
        self._send()
        counted = [tokens for answer in self._answers for tokens in answer()]
        for item, place in self._waiting:
            item.raw = counted[place]
        self._answers, self._waiting, self._texts, self._known = [], [], 0, {}

    def _place(self, text: str) -> int:
        """Return the place of a text among all that are counted, a new one for a new text."""
        key = hash(text), len(text)
        place = self._known.get(key)
        if place is None:
            place = self._known[key] = self._texts
            self._texts += 1
            self._fresh.append(text)
            self._chars += len(text)
        return place

    def _send(self) -> None:
        if self._counter is None or not self._fresh:
            return
        self._answers.append(_ask(self._counter, self._fresh))
        self._fresh, self._chars = [], 0


def _ask(counter: TokenCounter, texts: Sequence[str]) -> Callable[[], list[int]]:
    if isinstance(counter, PatientCounter):
        return counter.submit(texts)
    counted = counter.count(texts)
    return lambda: counted
