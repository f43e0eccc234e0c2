"""Make the contexts of a long-running agent: 1.5 kB a message, two more with every call."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

BYTES_PER_MESSAGE = 1_500
_WORDS = [
    f"{stem}{end}"
    for stem in ("inv", "ord", "cust", "ship", "led", "plan")
    for end in ("er", "oice", "7", "s")
]


class Context:
    """Hold the messages of one session, as the openai SDK takes them."""

    def __init__(self, messages: int, seed: int) -> None:
        self._random = random.Random(seed)
        self._numbers = itertools.count()
        system = {"role": "system", "content": "You reconcile ledgers. " * 40}
        self.messages: list[Any] = [system, {"role": "user", "content": "Reconcile June."}]
        while len(self.messages) < messages:
            self.grow()

    def grow(self) -> None:
        """Add a tool call and its result."""
        number = next(self._numbers)
        call_id = f"call_{self._random.getrandbits(48):012x}"
        arguments = json.dumps({"path": f"ledger/{number}.csv", "note": self._text(600)})
        function = {"name": ("read_file", "search", "query")[number % 3], "arguments": arguments}
        call = {"id": call_id, "type": "function", "function": function}
        self.messages.append({"role": "assistant", "content": self._text(700), "tool_calls": [call]})
        self.messages.append({"role": "tool", "tool_call_id": call_id, "content": self._text(1_450)})

    def _text(self, size: int) -> str:
        words, length = list[str](), 0
        while length < size:
            words.append(f"{self._random.choice(_WORDS)} {self._random.randrange(100_000)}")
            length += len(words[-1]) + 1
        return "\n".join(words)[:size]
