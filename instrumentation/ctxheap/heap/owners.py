"""Give every billed token of every call its one owner (SPEC 3.3)."""

from __future__ import annotations

from array import array

from ctxheap.heap.attribution import attribute
from ctxheap.heap.records import Call, Heap, HeapObject

SOFT_KINDS = frozenset({"tool_definition", "media", "reasoning"})
FRAMING_PER_MESSAGE = 3  # OpenAI's chat format: 3 tokens a message and 3 to prime the reply


def own_every_token(heap: Heap) -> None:
    """Fill `tokens` and `factor` of every call: its objects add up to the billed input, exactly."""
    rest = _Rest(heap)
    # Plain lists by number: what follows runs once an object and call.
    raws = [item.raw for item in heap.objects]
    softs = [item.kind in SOFT_KINDS for item in heap.objects]
    hiddens = {item.number for item in heap.objects if item.kind == "hidden"}
    for call in heap.calls:
        raw = [raws[n] for n in call.numbers]
        hidden = next((i for i, n in enumerate(call.numbers) if n in hiddens), None) if hiddens else None
        if call.usage is not None and hidden is not None:
            # What was billed beyond the visible parts is what the capture cannot hold.
            raw[hidden] = max(0, call.usage.input - sum(raw))
        split = attribute(
            call.usage.input if call.usage else None,
            raw,
            exact=call.exact,
            soft=[softs[n] for n in call.numbers] if call.exact else (),
            overhead=FRAMING_PER_MESSAGE * (call.messages + 1) if call.exact else 0,
        )
        call.factor = split.factor
        call.tokens = array("q", split.tokens)
        rest.append(call, "framing", split.framing)
        rest.append(call, "unattributed", split.unattributed)


class _Rest:
    """Give what no part of a prompt owns to one object a tag, last in prompt order."""

    def __init__(self, heap: Heap) -> None:
        self._heap = heap
        self._items: dict[str, HeapObject] = {}

    def append(self, call: Call, tag: str, tokens: int) -> None:
        if not tokens:
            return
        item = self._items.get(tag)
        if item is None:
            item = self._items[tag] = HeapObject(
                len(self._heap.objects), tag, "hidden", tag, tag, call.number, call.number, 0, False, False
            )
            self._heap.objects.append(item)
            call.born = (*call.born, item.number)
        item.last, item.raw = call.number, tokens
        call.numbers.append(item.number)
        call.tokens.append(tokens)
