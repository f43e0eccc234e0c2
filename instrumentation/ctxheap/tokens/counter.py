"""Count the tokens of contents as a given model bills them: exactly, or estimated by its family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ctxheap.tokens.content import content_class
from ctxheap.tokens.engines import EngineName, engine
from ctxheap.tokens.families import Family, family_of
from ctxheap.tokens.vocabulary import EncodingName


@dataclass(frozen=True, slots=True)
class Counter:
    """Count for one model; the engine is built at the first count, not before.

    `engine_name` forces an engine; None takes the fastest installed.
    """

    family: Family
    engine_name: EngineName | None = None

    @property
    def exact(self) -> bool:
        """Return whether counts are the model's own and not estimates."""
        return self.family.exact

    @property
    def encoding(self) -> EncodingName:
        """Return the encoding that is counted with."""
        return self.family.encoding

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text as the model bills it, at least 1 for a text that has any."""
        counts = self.raw(texts)
        if self.exact:
            return counts
        return [self._scale(text, tokens) for text, tokens in zip(texts, counts, strict=True)]

    def raw(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text in the encoding, before any factor."""
        return engine(self.encoding, self.engine_name).count(texts)

    def _scale(self, text: str, tokens: int) -> int:
        if not text or not self.family.factors:
            return tokens
        return max(1, round(tokens * self.family.factor(content_class(text))))


@cache
def counter_for(model: str, provider: str = "") -> Counter:
    """Return the counter of a model; the provider helps where the model's name alone says nothing."""
    family = family_of(model)
    return Counter(family_of(provider) if family.name == "unknown" and provider else family)
