"""Apply what an application marked: texts with a tag of their own, texts that must stay."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from ctxheap.capture.scope import Label
from ctxheap.heap.marks import MIN_CHARACTERS, Marks
from ctxheap.heap.model import Part

MAX_TEXTS = 1_000
MAX_MADE = 20_000


class Labels:
    """Hold the newest labels and cut parts by them; every part is looked at once."""

    def __init__(self) -> None:
        self._tagged: OrderedDict[str, str] = OrderedDict()
        self._pinned: OrderedDict[str, None] = OrderedDict()
        self._marks = Marks()
        self._made: OrderedDict[bytes, tuple[Part, ...]] = OrderedDict()

    def add(self, label: Label) -> None:
        """Take a label in; it counts for parts that were not looked at before."""
        for text in label.texts:
            kept = text.strip()
            if len(kept) < MIN_CHARACTERS and not label.tag:
                continue
            if label.tag:
                self._tagged[kept] = label.tag
                self._marks.add(kept, label.tag)
            else:
                self._pinned[kept] = None
        while len(self._pinned) > MAX_TEXTS:
            self._pinned.popitem(last=False)
        if len(self._tagged) > MAX_TEXTS:
            self._forget()

    def _forget(self) -> None:
        while len(self._tagged) > MAX_TEXTS // 2:
            self._tagged.popitem(last=False)
        self._marks = Marks()
        for text, tag in self._tagged.items():
            self._marks.add(text, tag)

    def apply(self, prompt: Sequence[Part]) -> Sequence[Part]:
        """Return the prompt with its parts cut at the marks; the same parts as it is, without any."""
        if not self._tagged and not self._pinned:
            return prompt
        cut = [part for given in prompt for part in self._cut(given)]
        return tuple(cut)

    def _cut(self, part: Part) -> tuple[Part, ...]:
        made = self._made.get(part.identity)
        if made is None:
            made = tuple(self._pin(piece) for piece in self._marks.split(part))
            self._made[part.identity] = made
            if len(self._made) > MAX_MADE:
                self._made.popitem(last=False)
        return made

    def _pin(self, part: Part) -> Part:
        if not part.pinned and any(text in part.text for text in self._pinned):
            return replace(part, pinned=True)
        return part
