"""Decide what content leaves the process, and in which form."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

from ctxheap.capture.guard import faults
from ctxheap.heap.model import IDENTITY_BYTES, Part
from ctxheap.heap.names import name_of
from ctxheap.settings import CaptureMode, Redact

PREVIEW_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Content:
    """Let through what the settings allow.

    Attributes:
        mode: `off`, `preview` or `full`.
        redact: The application's own function, None for none.
        key: What identities are keyed with, None to leave them as they are.
    """

    mode: CaptureMode = "off"
    redact: Redact | None = None
    key: bytes | None = None

    def identity(self, identity: bytes) -> bytes:
        """Return the identity that leaves the process."""
        if self.key is None:
            return identity
        return hmac.digest(self.key, identity, "sha256")[:IDENTITY_BYTES]

    def text(self, text: str, tag: str) -> str | None:
        """Return the text as it may leave, None when it may not."""
        if self.redact is None:
            return text
        try:
            return self.redact(text, tag)
        except Exception as error:
            faults.note("redact", error)
            if faults.strict:
                raise
            return None

    def preview(self, part: Part, request: Part | None) -> tuple[str, str]:
        """Return name and beginning of a new object, both "" unless previews may leave."""
        if self.mode == "off":
            return "", ""
        if self.redact is not None:
            text = self.text(part.text, part.tag) or ""
            return "", text[:PREVIEW_CHARACTERS]
        return name_of(part, request), part.text[:PREVIEW_CHARACTERS]

    def messages(self, parts: Sequence[Part], finish_reason: str = "") -> str:
        """Return messages as JSON in the form of the GenAI conventions."""
        messages: list[dict[str, object]] = []
        for part in parts:
            made = self._part(part)
            if made is None:
                continue
            role = "tool" if part.kind == "tool_result" else part.role
            if not messages or messages[-1]["role"] != role:
                messages.append({"role": role, "parts": [made]})
            else:
                _append(messages[-1], made)
        if finish_reason:
            for message in messages:
                message["finish_reason"] = finish_reason
        return _json(messages)

    def instructions(self, parts: Iterable[Part]) -> str:
        """Return system instructions as JSON."""
        return _json([made for part in parts if (made := self._part(part)) is not None])

    def definitions(self, parts: Iterable[Part]) -> str:
        """Return tool definitions as JSON."""
        made: list[object] = []
        for part in parts:
            text = self.text(part.text, part.tag)
            if text is not None:
                made.append({"type": "function", "name": part.tool, "schema": text})
        return _json(made)

    def _part(self, part: Part) -> dict[str, object] | None:
        text = self.text(part.text, part.tag)
        if text is None:
            return None
        if part.kind == "tool_call":
            return {"type": "tool_call", "id": part.call_id, "name": part.tool, "arguments": text}
        if part.kind == "tool_result":
            return {"type": "tool_call_response", "id": part.call_id, "response": text}
        return {"type": "reasoning" if part.kind == "reasoning" else "text", "content": text}


def _append(message: dict[str, object], part: dict[str, object]) -> None:
    parts = message["parts"]
    if isinstance(parts, list):
        parts.append(part)


def _json(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError):  # half a surrogate pair
        return orjson.dumps(_repaired(value)).decode()


def _repaired(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_repaired(item) for item in value]
    if isinstance(value, dict):
        return {key: _repaired(item) for key, item in value.items()}
    return value
