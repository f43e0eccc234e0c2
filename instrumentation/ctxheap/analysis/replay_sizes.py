"""Know the size of a part before it is billed, from its text and from the bill of the call before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ctxheap.heap.counts import TokenCounter
from ctxheap.heap.model import Part
from ctxheap.heap.records import Call

CounterFor = Callable[[str, str], TokenCounter]


@dataclass(slots=True)
class Sizes:
    """Count texts and scale them by the last bill.

    Attributes:
        factor: Billed input over raw counts at the call before.
        hidden: Tokens of content that was billed and is not in the capture, at the call before.
    """

    counter_for: CounterFor
    factor: float = 1.0
    hidden: int = 0
    _counter: TokenCounter | None = None
    _counts: dict[bytes, int] = field(default_factory=dict[bytes, int])

    def turn_to(self, call: Call) -> None:
        """Count with the tokenizer of a call's model."""
        counter = self.counter_for(call.model, call.provider)
        if counter != self._counter:
            self._counter, self._counts = counter, {}

    def count(self, text: str) -> int:
        """Return the tokens of a text as they would be billed."""
        assert self._counter is not None
        return round(self._counter.count([text])[0] * self.factor)

    def of(self, part: Part) -> int:
        """Return the size of a part."""
        return self.hidden if part.kind == "hidden" else round(self._raw(part) * self.factor)

    def billed(self, call: Call, prompt: Sequence[Part]) -> None:
        """Learn from the bill of a call."""
        if call.usage is None:
            return
        raw = sum(self._raw(part) for part in prompt if part.kind != "hidden")
        total = call.usage.input
        has_hidden = any(part.kind == "hidden" for part in prompt)
        self.hidden = max(0, total - raw) if has_hidden else 0
        self.factor = total / raw if raw and (not has_hidden or raw > total) else 1.0

    def _raw(self, part: Part) -> int:
        if part.tokens is not None:
            return part.tokens
        if part.identity not in self._counts:
            assert self._counter is not None
            text = part.tool + part.text if part.kind == "tool_call" else part.text
            self._counts[part.identity] = self._counter.count([text])[0]
        return self._counts[part.identity]
