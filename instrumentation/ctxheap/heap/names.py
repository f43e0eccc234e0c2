"""Name objects as a person would: `read_file src/a.py#1-80`, `user "Please find why…"`."""

from __future__ import annotations

from ctxheap.heap.access import LAST_LINE, Range
from ctxheap.heap.model import Part
from ctxheap.heap.resources import Access, accesses

MAX_CHARS = 60
_HIDDEN = "hidden system prompt and tools"


def name_of(part: Part, request: Part | None = None) -> str:
    """Return the human name of a part; `request` is the tool call that a tool result answers."""
    if part.kind == "hidden":
        return _HIDDEN
    if part.kind == "tool_definition":
        return part.tool
    if part.kind == "tool_call":
        return _action(part)
    if part.kind == "tool_result":
        return _action(request) if request else f"{part.tool} {_opening(part.text)}".strip()
    return f"{part.tag.partition(':')[2] or part.tag} {_opening(part.text)}".strip()


def _action(call: Part) -> str:
    touched = accesses(call.tool, call.text)
    what = _place(touched[0]) if touched and touched[0].resource != call.tool else _short(call.text)
    return f"{call.tool} {what}".strip()


def _place(access: Access) -> str:
    lines = f"#{_lines(access.range)}" if access.range else ""
    path = access.resource
    return (path if len(path) <= MAX_CHARS else "…" + path[-MAX_CHARS + 1 :]) + lines


def _lines(lines: Range) -> str:
    """Return lines as a person says them: `3-9`, `20-end`, `last 20`, `end` and `start` for what is added."""
    first, last = lines
    if first < 0:
        return f"last {-first}"
    if first == 0:
        return "start"
    if last >= LAST_LINE:
        return "end" if first >= LAST_LINE else f"{first}-end"
    return f"{first}-{last}"


def _opening(text: str) -> str:
    return f'"{_short(text)}"' if text.strip() else ""


def _short(text: str) -> str:
    line = " ".join(text[: 4 * MAX_CHARS].split())
    return line if len(line) <= MAX_CHARS else line[: MAX_CHARS - 1] + "…"
