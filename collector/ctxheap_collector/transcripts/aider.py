"""Read aider's chat history: Markdown, appended to `.aider.chat.history.md` run after run.

    # aider chat started at 2024-05-07 12:00:00     a run: a session
    #### add a test                                 what the person wrote
    > Tokens: 3.2k sent, 1.1k received. …           aider's own words; this one bills the answer above it
    anything else                                   what the model answered

Aider sends a system prompt, the repository map and the files of the chat with each call and writes none of
them down: they are one hidden part. Its counts are rounded to two figures or so, and are shown as it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ctxheap.heap.model import Exchange, Part, Usage
from ctxheap.heap.tags import text_parts
from ctxheap_collector.transcripts.message_lists import stem_of
from ctxheap_collector.transcripts.source import Head, Source
from ctxheap_collector.transcripts.source_paths import AIDER
from ctxheap_collector.transcripts.timestamps import epoch_ns
from ctxheap_collector.transcripts.wire import provider_of

FORMAT = "aider"

HIDDEN = Part(
    "system", "hidden", "system_prompt", where="not in the history: system prompt, repository map, files"
)
_START = re.compile(r"# aider chat started at (.+?)\s*$")
_MODEL = re.compile(r"> (?:Main model|Model|Models?): (\S+)")
_TOKENS = re.compile(r"> Tokens: (?P<counts>.*?(?P<left>[\d.,]+[kM]?) received)")
_COUNT = re.compile(r"(?P<count>[\d.,]+)(?P<unit>[kM]?) (?P<what>sent|received|cache write|cache hit)")
_UNITS = {"": 1, "k": 1_000, "M": 1_000_000}


def looks_like(head: Head) -> bool:
    """Say whether the source opens like a chat history."""
    return not head.records and AIDER.match(head.text.encode()) is not None


def read(source: Source) -> Iterator[Exchange]:
    """Yield one call for each answer of the model."""
    count = 0
    for _, data in source.contents():
        text = data.decode("utf-8", "replace")
        if not text.endswith("\n"):
            text, _, rest = text.rpartition("\n")
            source.skip(text.count("\n") + 2, "truncated" if rest else "empty")
        history = _History(stem_of(source))
        for number, line in enumerate(text.splitlines(), 1):
            for exchange in history.feed(number, line):
                count += 1
                yield exchange
        for exchange in history.end_answer(None):
            count += 1
            yield exchange
    if not count:
        source.skip(0, "no answer of a model, so no call")


@dataclass(slots=True)
class _Block:
    """Hold lines of one speaker; `line` is where they begin."""

    line: int = 0
    lines: list[str] = field(default_factory=list[str])

    def take(self) -> str:
        """Return the text, and begin anew."""
        text = "\n".join(self.lines).strip()
        self.lines, self.line = [], 0
        return text

    def add(self, number: int, text: str) -> None:
        """Add a line."""
        self.line = self.line or number
        self.lines.append(text)


class _History:
    """Turn lines into calls."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._session = name
        self._runs = 0
        self._model = ""
        self._started: int | None = None
        self._context = [HIDDEN]
        self._asked = _Block()
        self._answer = _Block()
        self._number = 0

    def feed(self, number: int, line: str) -> Iterator[Exchange]:
        """Take in one line and yield the call that it ends."""
        if start := _START.match(line):
            yield from self.end_answer(None)
            self._begin(start[1])
        elif line.startswith("#### "):
            yield from self.end_answer(None)
            self._asked.add(number, line.removeprefix("#### ").rstrip())
        elif line.startswith(">"):
            self._model = found[1] if (found := _MODEL.match(line)) else self._model
            if counted := _TOKENS.match(line):
                yield from self.end_answer(_usage(counted["counts"]))
        elif line.strip() or self._answer.lines:
            self._answer.add(number, line)

    def _begin(self, moment: str) -> None:
        self._runs += 1
        self._session = f"{self._name}#{self._runs}"
        self._started = epoch_ns(moment)
        self._context, self._number = [HIDDEN], 0
        self._asked.take()

    def end_answer(self, usage: Usage | None) -> Iterator[Exchange]:
        """Yield the call of the answer so far; without one, what was asked waits for it."""
        where = f"{self._answer.line}"
        said = self._answer.take()
        if not said and usage is None:
            return
        asked_at = f"{self._asked.line}"
        if asked := self._asked.take():
            self._context += text_parts("user", asked, where=asked_at)
        output = [Part("assistant", "text", "agent_output", said, where=where)] if said else []
        if output and len(self._context) == 1 and usage is None:
            # Notes above the first question are no answer.
            return
        self._number += 1
        yield Exchange(
            call_id=f"{self._session}/{self._number}",
            prompt=tuple(self._context),
            output=tuple(output),
            session=self._session,
            agent="aider",
            model=self._model,
            provider=provider_of(self._model),
            started_ns=self._started,
            usage=usage,
            implied=usage is None,
        )
        self._context += output


def _usage(counts: str) -> Usage:
    """Return rounded counts as they are; what the cache served and took is within what was sent."""
    told = {
        found["what"]: round(float(found["count"].replace(",", "") or 0) * _UNITS[found["unit"]])
        for found in _COUNT.finditer(counts)
        if found["count"].replace(",", "").replace(".", "", 1).isdigit()
    }
    sent = told.get("sent", 0)
    read = min(sent, told.get("cache hit", 0))
    written = min(sent - read, told.get("cache write", 0))
    return Usage(sent - read - written, read, written, output=told.get("received", 0))
