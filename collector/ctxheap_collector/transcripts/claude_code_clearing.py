"""Find which tool results a client cleared from a prompt without writing it down.

Claude Code 2.0 replaces old tool results by stubs once the context is large. Newer versions log this, older
ones do not: there the billed input falls although nothing but new content came. The oldest results that make
up for the missing tokens are taken as cleared; the client always keeps the newest ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxheap.heap.model import Part

MIN_MISSING_TOKENS = 10_000
"""The client clears nothing for less than 20,000 tokens; half of it leaves room for the estimate."""

KEPT_RESULTS = 3
USUAL_CHARACTERS_PER_TOKEN = 3.0
MIN_GROWTH_TOKENS = 5_000
_CLEARABLE = frozenset(
    {"Bash", "Edit", "Glob", "Grep", "MultiEdit", "Read", "WebFetch", "WebSearch", "Write"}
)


def cleared_results(
    parts: Sequence[Part], *, known: int, first: tuple[int, int], last_input: int, billed_input: int
) -> set[str]:
    """Return the call ids of results that must have been cleared; none while the input explains itself.

    Args:
        parts: The prompt as the transcript has it.
        known: How many parts the prompt before had.
        first: Input tokens and number of parts of the first prompt of this context.
        last_input: Input tokens of the prompt before.
        billed_input: Input tokens of this prompt.
    """
    if billed_input >= last_input:
        return set()
    first_input, first_length = first
    grown = last_input - first_input
    rate = _characters(parts[first_length:known]) / grown if grown >= MIN_GROWTH_TOKENS else 0.0
    rate = rate or USUAL_CHARACTERS_PER_TOKEN
    missing = last_input + _characters(parts[known:]) / rate - billed_input
    return _oldest(parts, missing, rate) if missing >= MIN_MISSING_TOKENS else set()


def _oldest(parts: Sequence[Part], missing: float, rate: float) -> set[str]:
    results = [part for part in parts if part.kind == "tool_result" and part.tool in _CLEARABLE]
    open_results = [part for part in results[:-KEPT_RESULTS] if part.tag != "receipt"]
    cleared: set[str] = set()
    freed = 0.0
    for part in open_results:
        size = len(part.text) / rate
        if freed + size - missing > missing - freed:
            break
        cleared.add(part.call_id)
        freed += size
    # What results cannot explain has another reason: a tool server that left, a memory file that changed.
    return cleared if freed >= missing / 2 else set()


def _characters(parts: Sequence[Part]) -> int:
    return sum(len(part.text) for part in parts)
