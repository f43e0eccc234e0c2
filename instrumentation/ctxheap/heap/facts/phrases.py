"""Find telling phrases in several languages; the lists are dated data in `phrases.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, NotRequired, TypedDict, cast, get_args

Topic = Literal[
    "lost_sight",
    "refusal",
    "hand_over",
    "request",
    "goodbye",
    "change_asked",
    "withdrawn",
    "change_forbidden",
]


class _Entry(TypedDict):
    name: str
    pattern: str
    anchors: NotRequired[list[str]]


@dataclass(frozen=True, slots=True)
class _List:
    """Hold the patterns of one topic.

    Attributes:
        anchors: Words one of which stands in every text that a pattern fits, ASCII ones first: a cheap
            look before the dear one. Empty when texts are short enough to go without.
        ascii_anchors: Those that may stand in a text of ASCII characters.
    """

    patterns: tuple[tuple[str, re.Pattern[str]], ...]
    anchors: tuple[str, ...]
    ascii_anchors: tuple[str, ...]

    def first(self, text: str) -> str:
        """Return the name of the first pattern that fits a plain text, "" when none does."""
        if self.anchors:
            for anchor in self.ascii_anchors if text.isascii() else self.anchors:
                if anchor in text:
                    break
            else:
                return ""
        return next((name for name, pattern in self.patterns if pattern.search(text)), "")


def plain(text: str) -> str:
    """Return a text as the patterns expect it: lower case, straight apostrophes."""
    lowered = text.lower()
    return lowered if lowered.isascii() else lowered.replace("’", "'")


def phrase_in(text: str, topic: Topic) -> str:
    """Return the name of the first phrase of a topic in a plain text, "" when there is none."""
    return _lists()[topic].first(text)


@cache
def _lists() -> dict[Topic, _List]:
    data = json.loads((Path(__file__).parent / "phrases.json").read_text("utf-8"))
    return {topic: _list(data[topic]) for topic in cast("tuple[Topic, ...]", get_args(Topic))}


def _list(entries: Sequence[_Entry]) -> _List:
    named = {anchor for entry in entries for anchor in entry.get("anchors", ())}
    anchors = sorted(named, key=lambda anchor: (not anchor.isascii(), anchor))
    return _List(
        patterns=tuple((entry["name"], re.compile(entry["pattern"], re.MULTILINE)) for entry in entries),
        anchors=tuple(anchors),
        ascii_anchors=tuple(filter(str.isascii, anchors)),
    )
