"""No SDK at all: httpx, httpx2, requests, urllib3 and aiohttp, as hand-written agents use them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import aiohttp
import httpx
import httpx2
import orjson
import pytest
import requests
import urllib3

from ctxheap.providers.json_fields import fields
from wire.compare import Agent, check, inferences, run_bare, run_captured, usage_of
from wire.provider import Fault
from wire.script import MODEL, QUESTION, SYSTEM, TOOLS, run_tool, schema

HEADERS = {"authorization": "Bearer none", "content-type": "application/json"}
Json = dict[str, Any]
Post = Callable[[str, bytes], bytes]


def start(*, stream: bool = False) -> Json:
    tools = [{"type": "function", "function": {"name": name, "parameters": schema(name)}} for name in TOOLS]
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    return {
        "model": MODEL,
        "messages": messages,
        "tools": tools,
        **({"stream": True, "stream_options": {"include_usage": True}} if stream else {}),
    }


def loop(url: str, post: Post, *, stream: bool) -> object:
    """Run the loop of every example on the web; return all bytes that came back."""
    request, answers = start(stream=stream), list[str]()
    while True:
        body = post(f"{url}/v1/chat/completions", json.dumps(request).encode())
        answers.append(body.decode())
        message = _assembled(body) if stream else orjson.loads(body)["choices"][0]["message"]
        request["messages"].append(message)
        if not message.get("tool_calls"):
            return answers
        for call in message["tool_calls"]:
            function = call["function"]
            result = run_tool(function["name"], fields(orjson.loads(function["arguments"])))
            request["messages"].append({"role": "tool", "tool_call_id": call["id"], "content": result})


def _assembled(body: bytes) -> Json:
    message: Json = {"role": "assistant", "content": ""}
    for delta in _deltas(body.split(b"\n\n")):
        message["content"] += delta.get("content") or ""
        for piece in delta.get("tool_calls") or ():
            calls = message.setdefault("tool_calls", [])
            if "id" in piece:
                calls.append({key: piece[key] for key in ("id", "type", "function")})
            else:
                calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
    return message


def _deltas(events: Iterable[bytes]) -> Iterable[Json]:
    for event in events:
        data = event.removeprefix(b"data: ")
        if data and data != b"[DONE]":
            for choice in orjson.loads(data)["choices"]:
                yield choice["delta"]


def httpx_plain(url: str) -> object:
    with httpx.Client(headers=HEADERS) as client:
        return loop(url, lambda to, body: client.post(to, content=body).content, stream=False)


def httpx_streamed(url: str) -> object:
    def post(to: str, body: bytes) -> bytes:
        with httpx.stream("POST", to, content=body, headers=HEADERS) as response:
            return b"".join(response.iter_bytes())

    return loop(url, post, stream=True)


def httpx_lines(url: str) -> object:
    def post(to: str, body: bytes) -> bytes:
        with httpx.stream("POST", to, content=body, headers=HEADERS) as response:
            return "\n".join(response.iter_lines()).encode()

    return loop(url, post, stream=True)


def httpx2_plain(url: str) -> object:
    return loop(url, lambda to, body: httpx2.post(to, content=body, headers=HEADERS).content, stream=False)


def httpx2_streamed(url: str) -> object:
    def post(to: str, body: bytes) -> bytes:
        with httpx2.stream("POST", to, content=body, headers=HEADERS) as response:
            return b"".join(response.iter_raw())

    return loop(url, post, stream=True)


def httpx_async(url: str) -> object:
    async def one(to: str, body: bytes) -> bytes:
        async with (
            httpx.AsyncClient(headers=HEADERS) as client,
            client.stream("POST", to, content=body) as response,
        ):
            return b"".join([piece async for piece in response.aiter_bytes()])

    return loop(url, lambda to, body: asyncio.run(one(to, body)), stream=True)


def requests_plain(url: str) -> object:
    with requests.Session() as client:
        client.headers.update(HEADERS)
        return loop(url, lambda to, body: client.post(to, json=orjson.loads(body)).content, stream=False)


def requests_streamed(url: str) -> object:
    def post(to: str, body: bytes) -> bytes:
        with requests.post(to, data=body, headers=HEADERS, stream=True, timeout=10) as response:
            return b"\n".join(response.iter_lines())

    return loop(url, post, stream=True)


def urllib3_plain(url: str) -> object:
    with urllib3.PoolManager() as pool:
        return loop(
            url, lambda to, body: pool.request("POST", to, body=body, headers=HEADERS).data, stream=False
        )


def urllib3_streamed(url: str) -> object:
    def post(to: str, body: bytes) -> bytes:
        with urllib3.PoolManager() as pool:
            response = pool.request("POST", to, body=body, headers=HEADERS, preload_content=False)
            found = b"".join(response.stream(64))
            response.release_conn()
            return found

    return loop(url, post, stream=True)


def aiohttp_plain(url: str) -> object:
    async def one(to: str, body: bytes) -> bytes:
        async with (
            aiohttp.ClientSession(headers=HEADERS) as client,
            client.post(to, json=orjson.loads(body)) as response,
        ):
            return await response.read()

    return loop(url, lambda to, body: asyncio.run(one(to, body)), stream=False)


def aiohttp_streamed(url: str) -> object:
    async def one(to: str, body: bytes) -> bytes:
        async with aiohttp.ClientSession(headers=HEADERS) as client, client.post(to, data=body) as response:
            return b"".join([line async for line in response.content])

    return loop(url, lambda to, body: asyncio.run(one(to, body)), stream=True)


def aiohttp_chunks(url: str) -> object:
    async def one(to: str, body: bytes) -> bytes:
        async with aiohttp.ClientSession(headers=HEADERS) as client, client.post(to, data=body) as response:
            return b"".join([chunk async for chunk in response.content.iter_any()])

    return loop(url, lambda to, body: asyncio.run(one(to, body)), stream=True)


AGENTS: Mapping[str, Agent] = {
    agent.__name__: agent
    for agent in (
        httpx_plain,
        httpx_streamed,
        httpx_lines,
        httpx_async,
        httpx2_plain,
        httpx2_streamed,
        requests_plain,
        requests_streamed,
        urllib3_plain,
        urllib3_streamed,
        aiohttp_plain,
        aiohttp_streamed,
        aiohttp_chunks,
    )
}


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("gzip", [False, True], ids=["identity", "gzip"])
def test_every_call_of_a_loop_is_captured_and_nothing_else_changes(name: str, *, gzip: bool) -> None:
    check(AGENTS[name], f"raw-{name}", gzip=gzip)


def test_a_request_that_nobody_answers_in_time_is_a_span_without_usage() -> None:
    def agent(url: str) -> object:
        with pytest.raises(httpx.ReadTimeout) as raised:
            httpx.post(f"{url}/v1/chat/completions", json=start(), timeout=0.1)
        return str(raised.value)

    bare = run_bare(agent, "raw-hung", Fault(hang=True))
    run = run_captured(agent, "raw-hung", Fault(hang=True))

    assert run.result == bare.result
    (span,) = inferences(run.spans)
    assert usage_of(span) is None
    assert (span.attributes or {})["error.type"] == "httpx.ReadTimeout"


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/v1/files", b'{"messages": []}'),
        ("/v1/chat/completions", b"not json"),
        ("/v1/chat/completions", b""),
        ("/v1/embeddings", b'{"input": "x", "model": "m"}'),
    ],
)
def test_what_is_no_call_to_a_model_is_left_alone(path: str, content: bytes) -> None:
    def agent(url: str) -> object:
        try:
            return httpx.post(f"{url}{path}", content=content, headers=HEADERS).status_code
        except httpx.HTTPError as error:
            return str(error)

    bare = run_bare(agent, "raw-others")
    run = run_captured(agent, "raw-others")

    assert run.result == bare.result
    assert run.spans == ()


def test_multipart_bodies_are_left_alone() -> None:
    def agent(url: str) -> object:
        files = {"file": ("a.jsonl", b"{}")}
        return [
            httpx.post(f"{url}/v1/files", files=files).status_code,
            requests.post(f"{url}/v1/files", files=files, timeout=10).status_code,
        ]

    run = run_captured(agent, "raw-multipart")

    assert run.result == b"[404, 404]"
    assert run.spans == ()
