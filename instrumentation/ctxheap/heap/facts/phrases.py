"""Find telling phrases in several languages; the lists are dated data in `phrases.json`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

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
class Phrase:
    """Hold one pattern, tried only where one of its `anchors` stands, if it has some."""

    name: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]

    def is_in(self, text: str) -> bool:
        """Return whether a text in lower case says it."""
        if self.anchors and not any(anchor in text for anchor in self.anchors):
            return False
        return self.pattern.search(text) is not None


def plain(text: str) -> str:
    """Return a text as the patterns expect it: lower case, straight apostrophes."""
    return text.lower().replace("’", "'")


def phrase_in(text: str, topic: Topic) -> str:
    """Return the name of the first phrase of a topic in a plain text, "" when there is none."""
    return next((phrase.name for phrase in _phrases()[topic] if phrase.is_in(text)), "")


@cache
def _phrases() -> dict[Topic, tuple[Phrase, ...]]:
    data = json.loads((Path(__file__).parent / "phrases.json").read_text("utf-8"))
    topics: tuple[Topic, ...] = Topic.__args__  # type: ignore[attr-defined]  # get_args loses the type
    return {topic: tuple(map(_phrase, data[topic])) for topic in topics}


def _phrase(entry: _Entry) -> Phrase:
    return Phrase(entry["name"], tuple(entry.get("anchors", ())), re.compile(entry["pattern"], re.MULTILINE))
