"""Read recorded exchanges, and make up small ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ctxheap.heap.model import Part
from ctxheap.providers.prefix import Prefix, Stored
from ctxheap.providers.reading import Reading
from ctxheap.providers.wire import Response, recognise

DATA = Path(__file__).parents[1] / "data" / "wire"

CHAT = "https://api.openai.com/v1/chat/completions"
RESPONSES = "https://api.openai.com/v1/responses"
MESSAGES = "https://api.anthropic.com/v1/messages"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:generateContent"
CONVERSE = "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.amazon.nova-2-lite-v1%3A0/converse"
OLLAMA = "http://localhost:11434/api/chat"

SSE = "text/event-stream"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Recorded:
    """Hold one exchange as it went over the wire."""

    url: str
    request: bytes
    content_type: str
    response: bytes

    def read(self, *, known: Prefix | None = None, cut: int | None = None) -> Reading:
        """Return what it says, of the first `cut` bytes of the response only."""
        body = self.response[:cut]
        response = Response(200, self.content_type, "", body, cut=cut is not None)
        return endpoint_read(self.url, self.request, response, known=known)


def recorded(name: str) -> list[Recorded]:
    """Return the exchanges of a file."""
    return [
        Recorded(each["url"], each["request"].encode(), each["content_type"], each["response"].encode())
        for each in json.loads((DATA / f"{name}.json").read_text("utf-8"))
    ]


def endpoint_read(
    url: str,
    request: bytes,
    response: Response,
    *,
    known: Prefix | None = None,
    stored: Stored | None = None,
) -> Reading:
    """Recognise and read."""
    endpoint = recognise(url, request)
    assert endpoint is not None
    return endpoint.read(request, response, known=known, stored=stored)


def read(
    url: str,
    request: object,
    response: object = None,
    *,
    known: Prefix | None = None,
    stored: Stored | None = None,
) -> Reading:
    """Read a request and a whole response given as JSON."""
    body = json.dumps(response or {"error": {}, "usage": None}).encode()
    whole = Response(200, JSON, "", body)
    return endpoint_read(url, json.dumps(request).encode(), whole, known=known, stored=stored)


def stream(url: str, request: object, body: bytes, *, cut: bool = False) -> Reading:
    """Read a request and a streamed response."""
    return endpoint_read(url, json.dumps(request).encode(), Response(200, SSE, "", body, cut=cut))


def sse(*events: object) -> bytes:
    """Return server-sent events."""
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def seen(parts: Sequence[Part]) -> list[tuple[str, str]]:
    """Return tag and text of each part."""
    return [(part.tag, part.text) for part in parts]


def keeping(**prefixes: Prefix) -> Stored:
    """Return what finds the prefixes of stored calls."""

    def find(name: str) -> Prefix | None:
        return prefixes.get(name)

    return find
