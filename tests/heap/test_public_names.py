"""Fence the names that users may import: a change here is a change of the interface."""

from __future__ import annotations

import ctxheap
from ctxheap import heap, prices, tokens


def test_public_names_are_sorted_and_there() -> None:
    for module in (ctxheap, heap, tokens, prices):
        assert list(module.__all__) == sorted(module.__all__, key=lambda name: (name[0].islower(), name))
        assert all(hasattr(module, name) for name in module.__all__)


def test_heap_offers_these_names() -> None:
    assert heap.__all__ == [
        "Account",
        "Call",
        "Compaction",
        "Exchange",
        "Heap",
        "HeapBuilder",
        "HeapObject",
        "Part",
        "Stitcher",
        "Totals",
        "Usage",
        "account",
        "canonical_order",
    ]
