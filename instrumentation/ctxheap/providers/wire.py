"""Recognise the endpoints of model providers and read what went over the wire into exchanges.

    url, body ──recognise──▶ Endpoint        on the caller's thread: path and first byte, no parsing
    request, response ──Endpoint.read──▶ Reading: the exchange, and the `Prefix` for the next request

This module is imported with `ctxheap` itself, so it imports nothing of weight.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxheap.providers.reading import Prefix, Reading, Stored

# urllib.parse would take longer to import than all of this package.
_URL = re.compile(
    r"[a-z]+://(?:[^/?#@]*@)?(?P<host>\[[^\]]*\]|[^/?#:]*)(?::(?P<port>\d*))?(?P<path>[^?#]*)", re.IGNORECASE
)
_PATHS = (
    (re.compile(r"/chat/completions$"), "openai"),
    (re.compile(r"/api/chat$"), "openai"),
    (re.compile(r"/responses$"), "responses"),
    (re.compile(r"/messages$"), "anthropic"),
)
_HOSTS = (
    ("api.openai.com", "openai"),
    (".openai.azure.com", "azure.ai.openai"),
    (".services.ai.azure.com", "azure.ai.inference"),
    ("api.anthropic.com", "anthropic"),
    ("api.deepseek.com", "deepseek"),
    ("api.groq.com", "groq"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.x.ai", "x_ai"),
    ("api.perplexity.ai", "perplexity"),
    ("openrouter.ai", "openrouter"),
)


class UnreadableError(ValueError):
    """Say that a request or response is not what its endpoint promises."""


@dataclass(frozen=True, slots=True)
class Response:
    """Hold a response as it came.

    Attributes:
        status: HTTP status.
        content_type: Of the header, parameters included; "" without one.
        content_encoding: What `body` is still compressed with, "" for plain bytes.
        body: The bytes that arrived: JSON, or the events of a stream.
        cut: Whether the client stopped reading, or the connection broke, before the end.
    """

    status: int
    content_type: str
    content_encoding: str
    body: bytes
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Name a recognised endpoint.

    Attributes:
        format: `openai` (chat), `responses`, `anthropic`, `gemini` or `bedrock`.
        provider: As in the GenAI conventions, by the host; "" when the host tells nothing.
        server: Host name.
        port: Port, None for the scheme's own.
        model: The model where the path names it, else "".
    """

    format: str
    provider: str = ""
    server: str = ""
    port: int | None = None
    model: str = ""

    def read(
        self,
        request: bytes,
        response: Response,
        *,
        known: Prefix | None = None,
        stored: Stored | None = None,
    ) -> Reading:
        """Return what the call says; only what is new after `known` is parsed.

        Args:
            request: The request's body.
            response: A response with a status below 300.
            known: The prefix of the request that this one most likely goes on from.
            stored: Finds what a stateful API keeps for this request.

        Raises:
            UnreadableError: A body is not what the endpoint promises: no call of a model.
        """
        # Only the worker reads: the host that imports us need not wait for what reading takes.
        from ctxheap.providers.reading import read  # noqa: PLC0415

        return read(self, request, response, known=known, stored=stored)


def recognise(url: str, body: bytes) -> Endpoint | None:
    """Return the endpoint that a POST goes to, None for anything else; cheap at any size of body."""
    if body[:1] != b"{":
        return None
    parts = _URL.match(url)
    if parts is None:
        return None
    for pattern, name in _PATHS:
        if pattern.search(parts["path"]):
            host = parts["host"].lower()
            return Endpoint(name, _provider_of(host), host, int(parts["port"]) if parts["port"] else None)
    return None


def _provider_of(host: str) -> str:
    for name, provider in _HOSTS:
        if host == name or (name.startswith(".") and host.endswith(name)) or host.endswith(f".{name}"):
            return provider
    return ""
