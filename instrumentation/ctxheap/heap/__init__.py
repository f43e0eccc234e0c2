"""Model the context of LLM agents as a heap: objects, their sizes, their lives, what holds them."""

from ctxheap.heap.account import Account, Totals, account
from ctxheap.heap.model import Compaction, Exchange, Part, Usage
from ctxheap.heap.records import Call, Heap, HeapObject
from ctxheap.heap.session import HeapBuilder
from ctxheap.heap.stitch import Stitcher, canonical_order

__all__ = [
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
