"""Free one object: dedupe, truncate, evict, pin and compact, as pure functions on parts (SPEC 8).

    dedupe, evict   result ──▶ receipt in the same place: the pair of call and result stays whole
    truncate        text   ──▶ beginning … mark … end
    compact         turns  ──▶ one record of what was done

Nothing here decides whether something may go: see `collector` and `invariants`. A recorded session
and a running agent use the very same functions.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ctxheap.heap.model import Part

Count = Callable[[str], int]
"""Tokens of a text; must not fall when the text gets longer."""

PURPOSE_CHARS: Final = 160
RECORD_LINES: Final = 40
DIGEST_CHARS: Final = 12


def evict(part: Part, *, tokens: int, request: Part | None = None, reason: str = "") -> Part:
    """Return the receipt that takes an object's place.

    Args:
        part: The object.
        tokens: Its size, in tokens.
        request: The tool call that it answers: says what it was for, and which range it held.
        reason: Why it goes, in a few words.
    """
    what = f"Result of {part.tool or 'a tool'}" if part.kind == "tool_result" else part.tag
    words = f"{what}{_purpose(request)}, {tokens:,} tokens, sha256 {part.identity.hex()[:DIGEST_CHARS]}"
    return _receipt(part, f"{words}: removed from this context{f' ({reason})' if reason else ''}.")


def dedupe(part: Part, *, tokens: int, request: Part | None = None, reason: str = "") -> Part:
    """Return the receipt of an object whose newer copy or version stays in the context; as `evict`."""
    what = f"Result of {part.tool or 'a tool'}" if part.kind == "tool_result" else part.tag
    because = reason or "superseded"
    words = f"{what}{_purpose(request)}, {tokens:,} tokens: removed, a newer one follows ({because})."
    return _receipt(part, words)


def _receipt(part: Part, words: str) -> Part:
    again = " Calling the tool again is allowed." if part.kind in {"tool_result", "tool_call"} else ""
    text = f"[receipt] {words} The text is not here.{again}"
    if part.kind == "tool_call":
        # Arguments must stay an object: providers parse them.
        text = json.dumps({"receipt": text})
    kind = part.kind if part.kind in {"tool_call", "tool_result"} else "text"
    return replace(part, kind=kind, tag="receipt", text=text, tokens=None, identity=b"")


def _purpose(request: Part | None) -> str:
    if request is None or not request.text:
        return ""
    words = " ".join(request.text.split())
    return f" {words if len(words) <= PURPOSE_CHARS else words[:PURPOSE_CHARS] + '…'}"


def truncate(part: Part, *, max_tokens: int, count: Count) -> Part:
    """Return an object cut to a budget: the largest beginning and end that fit, with a mark between.

    The object itself comes back where it fits, or where the mark alone would not.
    """
    text = part.text
    if part.kind == "tool_call" or count(text) <= max_tokens:
        return part
    low, high = 0, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        if count(_shortened(text, middle)) <= max_tokens:
            low = middle
        else:
            high = middle
    cut = _shortened(text, low)
    if count(cut) > max_tokens or len(cut) >= len(text):
        return part
    return replace(part, text=cut, tokens=None, identity=b"")


def _shortened(text: str, kept: int) -> str:
    """Return a text with `kept` characters left, two thirds of them from its beginning."""
    head, tail = kept - kept // 3, kept // 3
    gone = text[head : len(text) - tail]
    mark = f"\n[… {len(gone):,} characters in {gone.count(chr(10)) + 1:,} lines cut here …]\n"
    return text[:head] + mark + text[len(text) - tail :]


def pin(part: Part) -> Part:
    """Return an object marked to stay."""
    return part if part.pinned else replace(part, pinned=True)


def compact(parts: Sequence[Part]) -> Part:
    """Return the stand-in record of whole turns: what is known without asking a model.

    A run-time collector fills the other fields from a model's answer; replay needs the size and the
    place of a record, not its wisdom. Pinned objects are not compacted and need no copy here.
    """
    results = {part.call_id: part for part in parts if part.kind == "tool_result" and part.call_id}
    outcomes = Counter(
        f"{part.tool}{_purpose(part)} → {_outcome(results.get(part.call_id))}"
        for part in parts
        if part.kind == "tool_call"
    )
    lines = [f"{line} ×{times}" if times > 1 else line for line, times in outcomes.items()]
    record: dict[str, object] = {
        "decisions_made": [],
        "constraints_learned": [],
        "tools_used_with_outcomes": lines[-RECORD_LINES:],
        "open_tasks": [],
        "facts": [],
        "turns_left_out": max(0, len(lines) - RECORD_LINES),
    }
    return Part(
        "user", "text", "summary", "[record of earlier turns] " + json.dumps(record, ensure_ascii=False)
    )


def _outcome(result: Part | None) -> str:
    if result is None:
        return "no answer"
    return "failed" if result.error else f"ok, {len(result.text):,} characters"
