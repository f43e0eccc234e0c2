"""Apply the retain edges to a finished heap: what leaves together with each object (SPEC 5.3)."""

from __future__ import annotations

from collections.abc import Sequence

from ctxheap.heap.records import Heap
from ctxheap.heap.retain import edges_of, retained_at_last

# Evidence that is found in an output's text or arguments, and not merely in its coming next.
_FOUND = frozenset({"quote", "handle", "argument"})


def retained_sizes(heap: Heap, sizes: Sequence[int]) -> list[int]:
    """Return each object's retained size at its own last call; `sizes` are its tokens there."""
    return retained_at_last(heap.objects, sizes, edges_of(heap.objects, argument_sources(heap)))


def argument_sources(heap: Heap) -> dict[int, set[int]]:
    """Return, for each tool call, the objects that its arguments were found in.

    A use belongs to a whole output, so outputs with several tool calls are left out: which of
    them took up what is not known.
    """
    used: dict[int, set[int]] = {}
    for use in heap.uses:
        if use.rule in _FOUND and use.grade == "used":
            used.setdefault(use.call, set()).add(use.number)
    sources: dict[int, set[int]] = {}
    for call in heap.calls:
        calls = [number for number in call.born if heap.objects[number].kind == "tool_call"]
        if len(calls) == 1:
            sources[calls[0]] = used.get(call.number - 1, set())
    return sources
