"""Speak Gemini's generateContent: parts, thought signatures, no ids of tool calls unless asked back."""

from __future__ import annotations

from collections.abc import Iterator

from ctxheap.providers.json_fields import Fields, objects
from wire.speech import Json, Reply, Truth, data, pieces

SIGNATURE = "c2NyaXB0ZWQgdGhvdWdodA=="


class Gemini:
    """Speak generateContent and streamGenerateContent."""

    def turn(self, request: Fields) -> int:
        """Return the number of contents of the model."""
        return sum(content.get("role") == "model" for content in objects(request.get("contents")))

    def truth(self, truth: Truth) -> Truth:
        """Return what is reported: no cache writes."""
        return Truth(truth.input, truth.output, truth.cache_read, 0, truth.reasoning)

    def whole(self, reply: Reply) -> Json:
        """Return a response."""
        return _response(reply, _parts(reply), finish="STOP", is_last=True)

    def events(self, reply: Reply) -> Iterator[bytes]:
        """Yield a response a piece of text, then one with the tool calls and the finish reason."""
        parts = _parts(reply)
        for part in parts:
            if "text" in part:
                for piece in pieces(str(part["text"])):
                    yield data(_response(reply, [{**part, "text": piece}], finish=None, is_last=False))
        calls = [part for part in parts if "functionCall" in part]
        yield data(_response(reply, calls or [{"text": ""}], finish="STOP", is_last=True))

    def error(self, status: int) -> Json:
        """Return an error as Google writes it."""
        name = "RESOURCE_EXHAUSTED" if status == 429 else "INTERNAL"
        return {"error": {"code": status, "message": f"scripted {status}", "status": name}}


def _response(reply: Reply, parts: list[Json], *, finish: str | None, is_last: bool) -> Json:
    candidate: Json = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": _usage(reply.truth) if is_last else {"promptTokenCount": reply.truth.input},
        "modelVersion": reply.model,
        "responseId": f"gem-{reply.id}",
    }


def _parts(reply: Reply) -> list[Json]:
    parts: list[Json] = []
    if reply.answer.reasoning:
        parts.append({"text": reply.answer.reasoning, "thought": True})
    if reply.answer.text:
        parts.append({"text": reply.answer.text})
    for use in reply.answer.tools:
        call: Json = {"name": use.name, "args": dict(use.arguments)}
        # Gemini signs the first of parallel calls.
        signed = {} if any("functionCall" in part for part in parts) else {"thoughtSignature": SIGNATURE}
        parts.append({"functionCall": call, **signed})
    return parts


def _usage(truth: Truth) -> Json:
    found: Json = {
        "promptTokenCount": truth.input,
        "candidatesTokenCount": truth.output - truth.reasoning,
        "totalTokenCount": truth.input + truth.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": truth.input}],
    }
    if truth.reasoning:
        found["thoughtsTokenCount"] = truth.reasoning
    if truth.cache_read:
        found["cachedContentTokenCount"] = truth.cache_read
        found["cacheTokensDetails"] = [{"modality": "TEXT", "tokenCount": truth.cache_read}]
    return found
