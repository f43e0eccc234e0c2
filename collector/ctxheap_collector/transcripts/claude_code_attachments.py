"""Read the attachments of Claude Code transcripts: what the client puts into a prompt on its own.

The transcript holds an attachment's fields, not the words that the client makes of them, so that the texts
here are near the billed ones but not equal.
"""

from __future__ import annotations

from ctxheap.heap.model import Part
from ctxheap.providers.anthropic import block_parts
from ctxheap.providers.json_fields import Fields, fields, items, string

# Shown to the person or kept for the client's own use; the model never sees them.
_UNSENT = frozenset(
    {
        "command_permissions",
        "dynamic_skill",
        "hook_cancelled",
        "hook_error_during_execution",
        "hook_non_blocking_error",
        "hook_permission_decision",
        "hook_system_message",
        "max_turns_reached",
        "structured_output",
    }
)
_NAMES = {
    "diagnostics": "ide",
    "directory": "mention",
    "file": "mention",
    "opened_file_in_ide": "ide",
    "pdf_reference": "mention",
    "selected_lines_in_ide": "ide",
}
_TEXT_FIELDS = (
    "content",
    "text",
    "prompt",
    "message",
    "blockingError",
    "file",
    "snippet",
    "addedBlocks",
    "addedLines",
    "todos",
    "tasks",
    "files",
    "memories",
    "skills",
    "planContent",
    "newDate",
    "description",
    "summary",
)


def attachment_parts(attachment: Fields, *, where: str) -> list[Part]:
    """Return what an attachment adds to the prompt; nothing for those that are not sent."""
    kind = string(attachment.get("type"))
    if kind in _UNSENT:
        return []
    if kind == "queued_command":
        return _queued_parts(attachment, where)
    text = _text(attachment)
    return [Part("user", "text", _tag(kind, attachment), text, where=where)] if text else []


def _queued_parts(attachment: Fields, where: str) -> list[Part]:
    """Return what a person typed while the agent was at work."""
    prompt = attachment.get("prompt")
    parts: list[Part] = []
    for index, block in enumerate(items(prompt) or (prompt,)):
        parts += block_parts(block, role="user", tools={}, where=f"{where}:{index}")
    return parts


def _tag(kind: str, attachment: Fields) -> str:
    if kind == "nested_memory":
        return f"memory:{string(attachment.get('path')).replace(chr(92), '/').rpartition('/')[2] or 'file'}"
    if kind == "relevant_memories":
        return "memory:recall"
    if kind.startswith(("hook_", "async_hook")):
        return "harness:hook"
    return f"harness:{_NAMES.get(kind) or kind.replace('_', '-') or 'attachment'}"


def _text(value: object) -> str:
    """Return the readable text in a value, a line each."""
    if isinstance(value, str):
        return value
    if body := fields(value):
        return "\n".join(filter(None, (_text(body[key]) for key in _TEXT_FIELDS if key in body)))
    return "\n".join(filter(None, map(_text, items(value))))
