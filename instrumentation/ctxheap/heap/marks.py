"""Find again what an application tagged before it entered a prompt (SPEC 2).

A retriever's chunk is pasted into a user message; marked before, it is counted under `retrieval:<source>`
and only the rest of the message under `user_turn`. Explicit marks win over the rules of `ctxheap.heap.tags`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ctxheap.heap.model import Part

MIN_CHARACTERS = 12
"""Shorter marks are found only where they are a whole part: inside others they would match by accident."""

_SPLIT_KINDS = frozenset({"text", "tool_result"})


class Marks:
    """Hold marked texts with their tags, and cut parts at them; not synchronised."""

    def __init__(self) -> None:
        self._tags: dict[str, str] = {}
        self._longest_first: list[str] | None = []

    def __len__(self) -> int:
        """Return how many different texts are marked."""
        return len(self._tags)

    def add(self, texts: str | Iterable[str], tag: str) -> None:
        """Mark one text, or the texts of several documents; the newest tag of a text counts."""
        for text in (texts,) if isinstance(texts, str) else texts:
            content = text.strip()
            if content:
                self._tags[content] = tag
                self._longest_first = None

    def split(self, part: Part) -> list[Part]:
        """Return the part cut at the marks in it (the texts joined are its text), or itself without any."""
        if not self._tags or part.kind not in _SPLIT_KINDS:
            return [part]
        whole = self._tags.get(part.text.strip())
        if whole is not None:
            return [replace(part, tag=whole)] if whole != part.tag else [part]
        spans = sorted(self._spans(part.text))
        return list(_cut(part, spans)) if spans else [part]

    def _spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and tag of every mark in the text, longest marks first and none inside another."""
        taken = bytearray(len(text))
        for mark in self._ordered():
            if len(mark) < MIN_CHARACTERS or len(mark) > len(text):
                continue
            # Inside a JSON string (a tool's result, a serialised prompt) the same text stands escaped.
            for form in {mark, json.dumps(mark)[1:-1], json.dumps(mark, ensure_ascii=False)[1:-1]}:
                start = text.find(form)
                while start >= 0:
                    end = start + len(form)
                    if not any(taken[start:end]):
                        taken[start:end] = b"\1" * len(form)
                        yield start, end, self._tags[mark]
                    start = text.find(form, end)

    def _ordered(self) -> list[str]:
        if self._longest_first is None:
            self._longest_first = sorted(self._tags, key=lambda text: (-len(text), text))
        return self._longest_first


def _cut(part: Part, spans: list[tuple[int, int, str]]) -> Iterator[Part]:
    at = 0
    for start, end, tag in spans:
        if start > at:
            yield _piece(part, part.text[at:start], part.tag)
        yield _piece(part, part.text[start:end], tag)
        at = end
    if at < len(part.text):
        yield _piece(part, part.text[at:], part.tag)


def _piece(part: Part, text: str, tag: str) -> Part:
    return replace(part, text=text, tag=tag, tokens=None, identity=b"")
