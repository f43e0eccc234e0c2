"""Calls are captured once and unchanged, whichever HTTP library carries them and however it is read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator
from typing import Any

import pytest

from capture.server import OPENAI, Server, serving
from ctxheap.testing import captured

aiohttp = pytest.importorskip("aiohttp")
httpx = pytest.importorskip("httpx")
httpx2 = pytest.importorskip("httpx2")
requests = pytest.importorskip("requests")
urllib3 = pytest.importorskip("urllib3")

BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "How much is 1 + 1?"}]}
Send = Callable[[str], Any]


@pytest.fixture
def server() -> Generator[Server]:
    with serving() as running:
        yield running


def _aiohttp(read: Callable[[Any], Any]) -> Send:
    async def send(url: str) -> Any:
        async with aiohttp.ClientSession() as session, session.post(url, json=BODY) as response:
            return json.loads(await read(response))

    return lambda url: asyncio.run(send(url))


async def _pieces(response: Any) -> bytes:
    return b"".join([piece async for piece in response.content.iter_any()])


def _streamed(module: Any) -> Send:
    def send(url: str) -> Any:
        with module.stream("POST", url, json=BODY) as response:
            return json.loads(b"".join(response.iter_bytes()))

    return send


def _async_streamed(module: Any) -> Send:
    async def send(url: str) -> Any:
        async with module.AsyncClient() as client, client.stream("POST", url, json=BODY) as response:
            return json.loads(b"".join([piece async for piece in response.aiter_bytes()]))

    return lambda url: asyncio.run(send(url))


def _async_plain(module: Any) -> Send:
    async def send(url: str) -> Any:
        async with module.AsyncClient() as client:
            return (await client.post(url, json=BODY)).json()

    return lambda url: asyncio.run(send(url))


def _unread(url: str, **options: Any) -> Any:
    return urllib3.PoolManager().request("POST", url, json=BODY, preload_content=False, **options)


SENDERS: dict[str, Send] = {
    "httpx": lambda url: httpx.post(url, json=BODY).json(),
    "httpx stream": _streamed(httpx),
    "httpx async": _async_plain(httpx),
    "httpx async stream": _async_streamed(httpx),
    "httpx2": lambda url: httpx2.post(url, json=BODY).json(),
    "httpx2 stream": _streamed(httpx2),
    "httpx2 async": _async_plain(httpx2),
    "httpx2 async stream": _async_streamed(httpx2),
    "requests": lambda url: requests.post(url, json=BODY).json(),
    "requests text body": lambda url: requests.post(url, data=json.dumps(BODY)).json(),
    "requests stream": lambda url: json.loads(
        b"".join(requests.post(url, json=BODY, stream=True).iter_content(7))
    ),
    "requests lines": lambda url: json.loads(
        b"".join(requests.post(url, json=BODY, stream=True).iter_lines())
    ),
    "urllib3": lambda url: urllib3.PoolManager().request("POST", url, json=BODY).json(),
    "urllib3 read": lambda url: json.loads(_unread(url).read(decode_content=True)),
    "urllib3 stream": lambda url: json.loads(b"".join(_unread(url).stream(11, decode_content=True))),
    "aiohttp": _aiohttp(lambda response: response.read()),
    "aiohttp pieces": _aiohttp(_pieces),
}


@pytest.mark.parametrize("form", ["", "?gzip", "?chunked", "?gzip&chunked"])
@pytest.mark.parametrize("sender", SENDERS)
def test_call_is_captured_once_and_its_answer_is_unchanged(server: Server, sender: str, form: str) -> None:
    url = f"{server.url}/chat/completions{form}"

    with captured() as calls:
        answer = SENDERS[sender](url)
        found = [(call.input_tokens, call.output_tokens, call.total, call.attempts) for call in calls]

    assert answer == OPENAI
    assert found == [(100, 5, 100, 1)]
    assert server.requests == [BODY]


def test_other_requests_are_left_alone(server: Server) -> None:
    with captured() as calls:
        httpx.post(f"{server.url}/embeddings", json={"model": "e", "input": "x"})
        httpx.post(f"{server.url}/chat/completions", content=b"[1]")
        requests.post(f"{server.url}/other", json=BODY)

        assert len(calls) == 0


def test_uninstrumenting_restores_every_function() -> None:
    before = _functions()

    with captured():
        during = _functions()

    assert _functions() == before
    assert not set(during) & set(before)


def _functions() -> list[object]:
    return [
        httpx.Client.send,
        httpx.AsyncClient.send,
        httpx2.Client.send,
        httpx2.AsyncClient.send,
        urllib3.connectionpool.HTTPConnectionPool.urlopen,
        aiohttp.ClientSession._request,
        aiohttp.ClientRequest.__init__,
    ]
