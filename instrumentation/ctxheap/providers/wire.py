"""Recognise the endpoints of model providers and read what went over the wire into exchanges.

    url, body ──recognise──▶ Endpoint        on the caller's thread: path and a few bytes, no parsing
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
    (re.compile(r"(?:/deployments/(?P<model>[^/]+))?/chat/completions$"), "openai"),
    (re.compile(r"/api/chat(?P<model>)$"), "ollama"),
    (re.compile(r"/responses(?P<model>)$"), "responses"),
    (re.compile(r"/v1/messages(?P<model>)$"), "anthropic"),
    (
        re.compile(r"/(?:models|tunedModels|endpoints)/(?P<model>[^/:]+):(?:g|streamG)enerateContent$"),
        "gemini",
    ),
    # Anthropic's models on Vertex AI.
    (re.compile(r"/(?P<model>[^/:]+):(?:r|streamR)awPredict$"), "anthropic"),
    (re.compile(r"/model/(?P<model>[^/]+)/converse(?:-stream)?$"), "bedrock"),
    (re.compile(r"/model/(?P<model>[^/]+)/invoke(?:-with-response-stream)?$"), "bedrock"),
)
_HOSTS = (
    ("api.openai.com", "openai"),
    (".openai.azure.com", "azure.ai.openai"),
    (".cognitiveservices.azure.com", "azure.ai.openai"),
    (".services.ai.azure.com", "azure.ai.inference"),
    ("api.anthropic.com", "anthropic"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("-aiplatform.googleapis.com", "gcp.vertex_ai"),
    (".amazonaws.com", "aws.bedrock"),
    (".api.aws", "aws.bedrock"),
    ("api.deepseek.com", "deepseek"),
    ("api.groq.com", "groq"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.x.ai", "x_ai"),
    ("api.perplexity.ai", "perplexity"),
    ("openrouter.ai", "openrouter"),
    ("ollama.com", "ollama"),
    ("api.together.xyz", "together"),
    ("api.fireworks.ai", "fireworks"),
    ("api.cerebras.ai", "cerebras"),
    ("api.moonshot.ai", "moonshot"),
    ("router.huggingface.co", "huggingface"),
)
# A request to a model names one of these near its begin or end; not every POST to such a path is one.
_KEYS = re.compile(rb'"(?:model|messages|input|contents|max_tokens|stream|tools|anthropic_version)"\s*:')
_SEEN_BYTES = 4_096
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


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
        format: `openai` (chat), `responses`, `anthropic`, `gemini`, `bedrock` or `ollama`.
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
    """Return the endpoint that a POST goes to, None for anything else; cheap at any size of body.

    A body of one byte stands for one that nobody may look at yet.
    """
    if not _may_be_request(body):
        return None
    parts = _URL.match(url)
    if parts is None:
        return None
    for pattern, name in _PATHS:
        if found := pattern.search(parts["path"]):
            host = parts["host"].lower()
            provider = _provider_of(host) or ("ollama" if name == "ollama" else "")
            # Only what clients escape in the names of Bedrock's models.
            model = (found["model"] or "").replace("%3A", ":").replace("%2F", "/")
            return Endpoint(name, provider, host, int(parts["port"]) if parts["port"] else None, model)
    return None


def _may_be_request(body: bytes) -> bool:
    if body[:1] != b"{":
        return body.startswith(_COMPRESSED)
    return len(body) == 1 or bool(_KEYS.search(body[:_SEEN_BYTES]) or _KEYS.search(body[-_SEEN_BYTES:]))


def _provider_of(host: str) -> str:
    for name, provider in _HOSTS:
        if host == name or (name[0] in ".-" and host.endswith(name)) or host.endswith(f".{name}"):
            return provider
    return ""
