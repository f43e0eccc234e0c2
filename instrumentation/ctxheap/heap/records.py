"""Define the records of a session's heap: objects, calls and what was found about them, no content."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from ctxheap.heap.evidence import Use
from ctxheap.heap.facts import Facts
from ctxheap.heap.model import Compaction, Kind, Usage
from ctxheap.heap.subject import is_inherent
from ctxheap.heap.supersession import Superseded


@dataclass(slots=True)
class HeapObject:
    """Hold one object of a session; `birth` and `last` are call numbers, 1-based."""

    number: int
    id: str
    kind: Kind
    tag: str
    name: str
    birth: int
    last: int
    raw: int
    pinned: bool
    error: bool
    answers: int | None = None
    """Number of the tool call that this tool result answers."""
    known: bool = False
    """Whether `raw` was given by the source rather than counted."""

    @property
    def inherent(self) -> bool:
        """Return whether the object is live by its nature (SPEC 5.4)."""
        return is_inherent(self.tag, pinned=self.pinned)


@dataclass(slots=True)
class Call:
    """Hold one call without content: `numbers[i]` is billed with `tokens[i]`, in prompt order."""

    number: int
    id: str
    model: str
    provider: str
    started_ns: int | None
    usage: Usage | None
    numbers: array[int]
    tokens: array[int]
    born: tuple[int, ...]
    extends: bool
    """Whether the whole prompt of the call before stands unchanged in front."""
    exact: bool
    implied: bool
    incomplete: bool
    compaction: Compaction | None
    messages: int
    """Messages that the prompt is wrapped in; counted where the tokenizer is exact, else 0."""
    factor: float = 1.0
    """Billed input over raw counts."""
    recorded_usd: float | None = None
    """What the source itself says that the call cost."""

    @property
    def estimated(self) -> bool:
        """Return whether nothing was billed, so that the tokens are raw counts."""
        return self.usage is None


@dataclass(slots=True)
class Heap:
    """Hold a session's heap: every number of SPEC follows from it without content."""

    session: str
    parent: str | None
    agent: str
    objects: list[HeapObject] = field(default_factory=list[HeapObject])
    calls: list[Call] = field(default_factory=list[Call])
    uses: list[Use] = field(default_factory=list[Use])
    superseded: list[Superseded] = field(default_factory=list[Superseded])
    revived: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Objects that a later copy had made surely dead, with the call at which that copy was gone."""
    facts: Facts = field(default_factory=Facts)
