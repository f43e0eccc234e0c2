"""Read Claude Code transcripts (JSON Lines, one line a content block)."""

from __future__ import annotations

from collections.abc import Iterator

from ctxheap.heap.model import Exchange
from ctxheap_collector.transcripts.source import Head, Source

FORMAT = "claude-code"
GLOBAL_CALL_IDS = True


def looks_like(head: Head) -> bool:
    """Say whether a source that opens like this is a Claude Code transcript."""
    return '"sessionId"' in head.text


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls of a transcript."""
    yield from ()
