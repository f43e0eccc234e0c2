"""Follow a running session: after every call, what was in its prompt and who owns the billed tokens.

    exchange ──▶ LiveHeap.add ──▶ Snapshot: objects in prompt order, births, uses, supersessions

A `Heap` keeps every call to look back on. Here only the newest is kept, so that a session may run for
weeks; sizes are those known at the call, not what later calls say about them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ctxheap import pace
from ctxheap.heap.attribution import Attribution, attribute
from ctxheap.heap.counts import TokenCounter
from ctxheap.heap.evidence import Use
from ctxheap.heap.model import Exchange, Part
from ctxheap.heap.owners import FRAMING_PER_MESSAGE, SOFT_KINDS
from ctxheap.heap.records import Call, HeapObject
from ctxheap.heap.session import HeapBuilder
from ctxheap.heap.supersession import Superseded


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Hold one call of a running session.

    Attributes:
        call: The call; `tokens` are filled in.
        objects: All objects of the session so far, by number; they live on with the session.
        born: The objects that are new at this call, in prompt order.
        parts: The parts they were made of.
        split: How the billed tokens were shared out.
        uses: What the call's output used.
        superseded: What is surely dead from this call on.
        revived: Objects that are not, after all, since their copies left.
        tag_names: The tags of the session so far.
        tag_places: For each object, by number, the place of its tag among them.
    """

    call: Call
    objects: Sequence[HeapObject]
    born: tuple[int, ...]
    parts: Sequence[Part]
    split: Attribution
    uses: Sequence[Use]
    superseded: Sequence[Superseded]
    revived: Sequence[int]
    tag_names: Sequence[str]
    tag_places: Sequence[int]


class LiveHeap(HeapBuilder):
    """Build the heap of one running session; not synchronised."""

    def __init__(self, *, session: str, counter_for: Callable[[str, str], TokenCounter]) -> None:
        super().__init__(session=session, counter_for=counter_for)
        self._fresh: list[Part] = []
        # Columns by object number: passes over a long prompt read these, not thousands of objects.
        self._places: dict[str, int] = {}
        self._tag_places = array("I")
        self._raw = array("q")
        self._soft = bytearray()

    @property
    def calls(self) -> int:
        """Return how many calls were added."""
        return len(self._heap.calls)

    def follow(self, exchange: Exchange) -> Snapshot | None:
        """Add the next call and return it, None when it was added before."""
        heap = self._heap
        known = len(heap.calls)
        self._fresh = []
        self.add(exchange)
        if len(heap.calls) == known:
            return None
        pace.breathe()
        self._batch.flush()
        call = heap.calls[-1]
        split = self._share(call)
        pace.breathe()
        call.tokens = array("q", split.tokens)
        call.factor = split.factor
        snapshot = Snapshot(
            call,
            heap.objects,
            call.born,
            self._fresh,
            split,
            tuple(heap.uses),
            tuple(heap.superseded),
            tuple(number for number, when in heap.revived if when == call.number),
            list(self._places),
            self._tag_places,
        )
        self._forget()
        return snapshot

    def _object(self, number: int, part: Part, occurrence: int, call: int) -> HeapObject:
        pace.breathe()
        self._fresh.append(part)
        self._tag_places.append(self._places.setdefault(part.tag, len(self._places)))
        self._soft.append(part.kind in SOFT_KINDS)
        return super()._object(number, part, occurrence, call)

    def _supersede(self, number: int, part: Part, call: int) -> None:
        pace.breathe()
        super()._supersede(number, part, call)

    def _share(self, call: Call) -> Attribution:
        self._raw.extend(item.raw for item in self._heap.objects[len(self._raw) :])
        raw, soft = self._raw, self._soft
        return attribute(
            call.usage.input if call.usage else None,
            [raw[number] for number in call.numbers],
            exact=call.exact,
            soft=[bool(soft[number]) for number in call.numbers],
            overhead=FRAMING_PER_MESSAGE * (call.messages + 1) if call.exact else 0,
        )

    def _forget(self) -> None:
        """Drop what is only of use in hindsight."""
        heap = self._heap
        heap.uses.clear()
        heap.superseded.clear()
        heap.revived.clear()
        self._fresh = []
        if len(heap.calls) > 1:
            before = heap.calls[-2]
            before.numbers, before.tokens, before.born = array("I"), array("q"), ()
