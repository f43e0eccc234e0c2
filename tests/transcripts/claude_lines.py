"""Write lines of Claude Code transcripts, with just the fields that a reader looks at."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Line = dict[str, object]

SESSION = "session-1"
MODEL = "claude-sonnet-4-5-20250929"


def line(kind: str, uuid: str, parent: str | None, **fields: object) -> Line:
    """Return a line of any type."""
    envelope: Line = {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": SESSION,
        "timestamp": "2026-11-29T10:00:00.000Z",
    }
    return envelope | fields


def user(uuid: str, parent: str | None, content: object, **fields: object) -> Line:
    """Return what a person or the client wrote."""
    return line("user", uuid, parent, message={"role": "user", "content": content}, **fields)


def result(uuid: str, parent: str, call_id: str, content: object, **fields: object) -> Line:
    """Return a tool result."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return user(uuid, parent, [block], toolUseResult={"stdout": "not what the model sees"}, **fields)


def answer(
    uuid: str,
    parent: str | None,
    message_id: str,
    *blocks: dict[str, object],
    usage: dict[str, object] | None = None,
    model: str = MODEL,
    **fields: object,
) -> Line:
    """Return one line of a response."""
    message: Line = {"id": message_id, "role": "assistant", "model": model, "content": list(blocks)}
    if usage is not None:
        message["usage"] = usage
    return line("assistant", uuid, parent, message=message, requestId=f"req_{message_id}", **fields)


def text(words: str) -> dict[str, object]:
    """Return a text block."""
    return {"type": "text", "text": words}


def thinking(words: str) -> dict[str, object]:
    """Return a thinking block."""
    return {"type": "thinking", "thinking": words, "signature": "c2lnbmVk"}


def tool_use(call_id: str, name: str, **arguments: object) -> dict[str, object]:
    """Return a tool call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def usage(input_tokens: int, output_tokens: int, *, read: int = 0, write: int = 0) -> dict[str, object]:
    """Return a usage as the provider reports it."""
    return {
        "input_tokens": input_tokens,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        "output_tokens": output_tokens,
    }


def boundary(uuid: str, parent: str | None, before: int, **metadata: object) -> Line:
    """Return the line that announces a compaction."""
    compact: Line = {"trigger": "auto", "preTokens": before} | metadata
    return line("system", uuid, parent, subtype="compact_boundary", compactMetadata=compact)


def chain(*lines: Line) -> Sequence[Line]:
    """Return lines of which each continues the one before."""
    for before, after in pairwise(lines):
        after["parentUuid"] = before["uuid"]
    return lines
