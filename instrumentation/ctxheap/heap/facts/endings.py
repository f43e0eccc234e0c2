"""Note how a session talks and ends: what it repeats, what it was asked to change, its last word.

output without tool call ──▶ Echo, when it says again what was said since the last tool call
                         └─▶ answer, question, refusal or hand-over; a goodbye leaves what was before
output with tool calls   ──▶ tool_call, hand-over, or answer when it hands in a text (`finish`)
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import cast

from ctxheap.heap.access import names
from ctxheap.heap.facts.phrases import phrase_in, plain
from ctxheap.heap.facts.records import Echo, Ending
from ctxheap.heap.facts.steps import unanswered
from ctxheap.heap.model import Part
from ctxheap.heap.subject import base_of

ECHO_SHARE = 0.6  # of 290 recorded dialogues 288 stay below it in all but two of their outputs
_REMEMBERED_OUTPUTS = 8
_LEAST_WORDS = 8
_ASKED_CHARS = 8_000
_ENDING_CHARS = 800
_LONG_CHARS = 1_500  # a longer text is an answer, with an offer at its end
_WORD = re.compile(r"\w+")
_HANDING_IN = names("submit finish done complete attempt_completion exitplanmode exit_plan_mode final_answer")


class EndingTracker:
    """Follow the words of a session, those of its tools aside."""

    def __init__(self) -> None:
        self.echoes: list[Echo] = []
        self.change_asked = 0
        self._ending: Ending = ""
        self._said: list[frozenset[str]] = []
        self._calls: list[Part] = []

    @property
    def ending(self) -> Ending:
        """Return what the last output was that said more than goodbye."""
        return self._ending

    @property
    def last_writes(self) -> tuple[str, ...]:
        """Return digests of what the tool calls of the last output are to change."""
        written = [write for part in self._calls for write in unanswered(0, part, 0).writes]
        return tuple(dict.fromkeys(written))

    def see(self, part: Part, call: int) -> None:
        """Take in an object: the words of a person may ask for a change."""
        if base_of(part.tag) == "user_turn" and part.text:
            text = plain(part.text[:_ASKED_CHARS])
            if phrase_in(text, "withdrawn"):
                self.change_asked = 0
            elif phrase_in(text, "change_asked") and not phrase_in(text, "change_forbidden"):
                self.change_asked = call

    def output(self, call: int, parts: Sequence[Part]) -> None:
        """Take in what the model returned at a call."""
        self._calls = [part for part in parts if part.kind == "tool_call"]
        text = "\n".join(part.text for part in parts if part.kind == "text")
        if self._calls:
            self._said.clear()
            self._ending = _of_calls(self._calls, text)
        elif text.strip():
            self._echo(call, text)
            self._ending = ending_of(text, before=self._ending)

    def _echo(self, call: int, text: str) -> None:
        words = frozenset(_WORD.findall(text.lower()))
        if len(words) >= _LEAST_WORDS:
            recent = self._said[-_REMEMBERED_OUTPUTS:]
            share = max((len(words & each) / len(words | each) for each in recent), default=0.0)
            if share >= ECHO_SHARE:
                self.echoes.append(Echo(call, len(self._said), share))
        self._said.append(words)


def ending_of(text: str, *, before: Ending = "") -> Ending:
    """Return what a text without tool calls is; a goodbye is what was said `before` it."""
    said = plain(text.strip())[-_ENDING_CHARS:]
    if phrase_in(said, "hand_over"):
        return "hand_over"
    asks = len(text) <= _LONG_CHARS and bool(phrase_in(said, "request"))
    if phrase_in(plain(text.strip()), "goodbye"):
        return before if before in ("refusal", "hand_over") or not asks else "question"
    if phrase_in(said, "refusal"):
        return "refusal"
    return "question" if asks else "answer"


def _of_calls(calls: Sequence[Part], text: str) -> Ending:
    if any(_hands_in(part, text) for part in calls):
        return "answer"
    is_transfer = any("transfer" in part.tool.lower() or "escalat" in part.tool.lower() for part in calls)
    return "hand_over" if is_transfer else "tool_call"


def _hands_in(part: Part, text: str) -> bool:
    """Return whether a tool call ends the session with a text, its own or the one beside it."""
    name = part.tool.lower()
    if name not in _HANDING_IN:
        return False
    if name != "submit" and text.strip():
        return True
    try:
        parsed = cast("object", json.loads(part.text or "null"))
    except ValueError:
        return bool(part.text.replace(part.tool, "", 1).strip())
    if isinstance(parsed, dict):
        values = cast("dict[str, object]", parsed).values()
        return any(isinstance(value, str) and value.strip() not in ("", part.tool) for value in values)
    return False
