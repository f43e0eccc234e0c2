"""Recognise requests to models, and refuse everything else without harm."""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from contextlib import suppress
from types import SimpleNamespace

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxheap.providers.encodings import UnknownEncodingError, plain
from ctxheap.providers.wire import Endpoint, Response, UnreadableError, recognise
from providers.exchanges import (
    CHAT,
    CONVERSE,
    DATA,
    GEMINI,
    JSON,
    MESSAGES,
    OLLAMA,
    RESPONSES,
    SSE,
    endpoint_read,
    recorded,
    seen,
)

BODY = b'{"messages":[{"role":"user","content":"hi"}],"model":"m"}'
AZURE = "https://acme.openai.azure.com/openai/deployments/gpt-5-mini/chat/completions?api-version=2025-04-01"
VERTEX = "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers"
BEDROCK = "https://bedrock-runtime.eu-west-1.amazonaws.com/model"


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        (CHAT, Endpoint("openai", "openai", "api.openai.com")),
        (RESPONSES, Endpoint("responses", "openai", "api.openai.com")),
        (MESSAGES, Endpoint("anthropic", "anthropic", "api.anthropic.com")),
        (AZURE, Endpoint("openai", "azure.ai.openai", "acme.openai.azure.com", None, "gpt-5-mini")),
        ("http://localhost:8000/v1/chat/completions", Endpoint("openai", "", "localhost", 8000)),
        ("http://localhost:11434/v1/chat/completions", Endpoint("openai", "", "localhost", 11434)),
        (
            "https://x.execute-api.eu-west-1.amazonaws.com/v1/chat/completions",
            Endpoint("openai", "", "x.execute-api.eu-west-1.amazonaws.com"),
        ),
        (OLLAMA, Endpoint("ollama", "ollama", "localhost", 11434)),
        (
            "https://openrouter.ai/api/v1/chat/completions",
            Endpoint("openai", "openrouter", "openrouter.ai"),
        ),
        ("https://api.groq.com/openai/v1/chat/completions", Endpoint("openai", "groq", "api.groq.com")),
        (
            "https://api.mistral.ai/v1/chat/completions#stream",
            Endpoint("openai", "mistral_ai", "api.mistral.ai"),
        ),
        ("https://api.deepseek.com/chat/completions", Endpoint("openai", "deepseek", "api.deepseek.com")),
        (
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
            Endpoint("gemini", "gcp.gemini", "generativelanguage.googleapis.com", None, "gemini-3-pro"),
        ),
        (
            f"{VERTEX}/google/models/gemini-3-pro:generateContent",
            Endpoint(
                "gemini", "gcp.vertex_ai", "europe-west1-aiplatform.googleapis.com", None, "gemini-3-pro"
            ),
        ),
        (
            f"{VERTEX}/anthropic/models/claude-opus-4-6:streamRawPredict",
            Endpoint(
                "anthropic",
                "gcp.vertex_ai",
                "europe-west1-aiplatform.googleapis.com",
                None,
                "claude-opus-4-6",
            ),
        ),
        (
            f"{BEDROCK}/us.amazon.nova-2-lite-v1%3A0/converse-stream",
            Endpoint(
                "bedrock",
                "aws.bedrock",
                "bedrock-runtime.eu-west-1.amazonaws.com",
                None,
                "us.amazon.nova-2-lite-v1:0",
            ),
        ),
        (
            f"{BEDROCK}/anthropic.claude-v2/invoke-with-response-stream",
            Endpoint(
                "bedrock",
                "aws.bedrock",
                "bedrock-runtime.eu-west-1.amazonaws.com",
                None,
                "anthropic.claude-v2",
            ),
        ),
    ],
)
def test_requests_to_models_are_recognised(url: str, endpoint: Endpoint) -> None:
    assert recognise(url, BODY) == endpoint


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1/embeddings",
        "https://api.openai.com/v1/responses/input_tokens",
        "https://api.openai.com/v1/responses/resp_1/cancel",
        "https://api.openai.com/v1/threads/thread_1/messages",
        "https://api.anthropic.com/v1/messages/count_tokens",
        "https://api.anthropic.com/v1/messages/batches",
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:countTokens",
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-001:embedContent",
        f"{BEDROCK}/amazon.nova-lite-v1%3A0/count-tokens",
        "https://discord.com/api/v10/channels/1/messages",
        "not a url",
    ],
)
def test_other_requests_are_none(url: str) -> None:
    assert recognise(url, BODY) is None


@pytest.mark.parametrize(
    "body",
    [b"", b"--boundary\r\nContent-Disposition: form-data", b'[{"messages": []}]', b'{"content": "hello"}'],
)
def test_bodies_that_ask_no_model_are_none(body: bytes) -> None:
    assert recognise(CHAT, body) is None


def test_a_compressed_request_is_read() -> None:
    reading = endpoint_read(CHAT, gzip.compress(BODY, mtime=0), Response(200, JSON, "", b'{"choices":[]}'))

    assert seen(reading.exchange.prompt) == [("user_turn", "hi")]


ANSWER = b'{"id":"a","choices":[{"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}]}'


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(ANSWER, mtime=0)),
        ("gzip", gzip.compress(ANSWER[:40], mtime=0) + gzip.compress(ANSWER[40:], mtime=0)),
        ("deflate", zlib.compress(ANSWER)),
        ("deflate", zlib.compress(ANSWER)[2:-4]),
        ("zstd", zstandard.compress(ANSWER)),
        ("zstd", zstandard.compress(ANSWER[:40]) + zstandard.compress(ANSWER[40:])),
        ("gzip, zstd", zstandard.compress(gzip.compress(ANSWER, mtime=0))),
        ("identity", ANSWER),
    ],
)
def test_compressed_answers_are_read(encoding: str, body: bytes) -> None:
    reading = endpoint_read(CHAT, BODY, Response(200, JSON, encoding, body))

    assert seen(reading.exchange.output) == [("agent_output", "yes")]


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_of_a_cut_compressed_stream_is_read_what_came(encoding: str) -> None:
    (call,) = recorded("anthropic_thinking_stream")
    body = gzip.compress(call.response, mtime=0) if encoding == "gzip" else zstandard.compress(call.response)
    half = Response(200, SSE, encoding, body[: len(body) * 2 // 3], cut=True)

    reading = endpoint_read(call.url, call.request, half)

    assert reading.exchange.usage is None
    assert reading.exchange.prompt == call.read().exchange.prompt


@pytest.mark.parametrize(("encoding", "body"), [("gzip", b"no gzip"), ("zstd", b"no zstd"), ("rot13", b"x")])
def test_what_cannot_be_decompressed_is_told(encoding: str, body: bytes) -> None:
    with pytest.raises(UnknownEncodingError):
        plain(body, encoding)
    with pytest.raises(UnreadableError, match="decompressed"):
        endpoint_read(CHAT, BODY, Response(200, JSON, encoding, body))


def test_brotli_is_undone_where_a_decoder_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Reversing:
        def process(self, body: bytes) -> bytes:
            return body[::-1]

    monkeypatch.setitem(sys.modules, "brotli", SimpleNamespace(Decompressor=Reversing))

    assert plain(b"cba", "br") == b"abc"


def test_brotli_without_a_decoder_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "brotli", None)
    monkeypatch.setitem(sys.modules, "brotlicffi", None)

    with pytest.raises(UnknownEncodingError, match="needs one of brotli, brotlicffi"):
        plain(b"abc", "br")


@pytest.mark.parametrize(
    "body", [b"", b"<html>busy</html>", b"[]", b"{}", b'{"ok": true}', b"data: [DONE]\n\n"]
)
def test_an_answer_that_is_none_of_a_model_is_told(body: bytes) -> None:
    with pytest.raises(UnreadableError, match="no answer of a model"):
        endpoint_read(CHAT, BODY, Response(200, JSON, "", body))


@pytest.mark.parametrize("body", [b'{"model":', b'{"model":"m"}', b'{"model":"m","messages":"hi"'])
def test_a_request_that_is_none_to_a_model_is_told(body: bytes) -> None:
    with pytest.raises(UnreadableError, match="the request"):
        endpoint_read(CHAT, body, Response(200, JSON, "", ANSWER))


URLS = (CHAT, RESPONSES, MESSAGES, GEMINI, CONVERSE, OLLAMA)
WORDS = """
    messages input contents model role content parts text type id name arguments function tool_calls choices
    delta index message output item output_index response usage usageMetadata candidates functionCall
    functionResponse inlineData toolUse toolResult toolUseId thinking tool_use_id system tools instructions
    systemInstruction toolConfig content_block contentBlockDelta contentBlockStart metadata summary done
    context_management applied_edits cleared_tool_uses edits conversation user previous_response_id
"""
NAMES = st.sampled_from(WORDS.split())
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**20) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=30,
)
TYPES = ("tool_use", "tool_result", "thinking", "image", "document", "message_start", "content_block_delta")


@settings(max_examples=400, deadline=None)
@given(
    url=st.sampled_from(URLS),
    request=st.dictionaries(NAMES, ODD, max_size=6),
    response=st.lists(
        st.dictionaries(NAMES, ODD | st.sampled_from(TYPES), max_size=5), min_size=1, max_size=4
    ),
    shape=st.sampled_from((SSE, JSON, "application/x-ndjson")),
)
def test_odd_json_is_read_or_told_about_but_never_raises_anything_else(
    url: str, request: dict[str, object], response: list[object], shape: str
) -> None:
    texts = [json.dumps(each) for each in response]
    body = {
        SSE: "".join(f"data: {text}\n\n" for text in texts),
        JSON: texts[0],
        "application/x-ndjson": "\n".join(texts),
    }[shape]
    sent = json.dumps({"messages": [], "contents": [], "input": [], **request}).encode()

    try:
        reading = endpoint_read(url, sent, Response(200, shape, "", body.encode()))
    except UnreadableError:
        return

    assert all(isinstance(part.text, str) for part in (*reading.exchange.prompt, *reading.exchange.output))


@settings(deadline=None)
@given(
    noise=st.binary(max_size=60),
    at=st.floats(0, 1),
    name=st.sampled_from([p.stem for p in DATA.glob("*.json")]),
)
def test_damaged_bytes_are_read_or_told_about(noise: bytes, at: float, name: str) -> None:
    for call in recorded(name):
        place = int(at * len(call.response))
        body = call.response[:place] + noise + call.response[place + len(noise) :]
        try:
            endpoint_read(call.url, call.request, Response(200, call.content_type, "", body))
        except UnreadableError:
            continue


@pytest.mark.parametrize("url", [CHAT, RESPONSES, MESSAGES, GEMINI, OLLAMA])
def test_a_body_nested_too_deeply_is_read_or_told_about(url: str) -> None:
    deep = '{"function":' * 1_000 + "{}" + "}" * 1_000
    request = f'{{"model":"m","messages":[],"input":[],"contents":[],"tools":[{deep}]}}'
    body = f'data: {{"choices":[{{"delta":{deep}}}]}}\n\n'

    with suppress(UnreadableError):
        endpoint_read(url, request.encode(), Response(200, SSE, "", body.encode()))
