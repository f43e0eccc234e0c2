"""Threads, tasks and greenlets are captured call by call; what is cancelled or times out is a call too."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ctxheap
from capture.server import serving
from ctxheap.testing import captured

httpx = pytest.importorskip("httpx")

GREENLETS = """
import sys
from gevent import monkey; monkey.patch_all()
import gevent
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
import ctxheap
from ctxheap.instrument import flush
exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
provider.add_span_processor(SimpleSpanProcessor(exporter))
assert ctxheap.instrument(tracer_provider=provider)
import requests
def call(n):
    body = {"model": "m", "messages": [{"role": "user", "content": f"question {n}"}]}
    return requests.post(sys.argv[1] + "/chat/completions", json=body).status_code
jobs = [gevent.spawn(call, n) for n in range(10)]
gevent.joinall(jobs)
assert [job.value for job in jobs] == [200] * 10
assert flush(60)
print(len(exporter.get_finished_spans()))
"""


def _body(text: str) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def test_threads_keep_their_own_sessions() -> None:
    def run(name: str, url: str) -> None:
        with ctxheap.session(name):
            for number in range(4):
                httpx.post(f"{url}/chat/completions", json=_body(f"{name} {number}"))

    with serving() as server, captured() as calls:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(run, [f"s{n}" for n in range(8)], [server.url] * 8))
        sessions = [call.session for call in calls]

    assert sorted(sessions) == sorted(f"s{n}" for n in range(8) for _ in range(4))


def test_tasks_keep_their_own_sessions() -> None:
    async def run(name: str, client: Any, url: str) -> None:
        with ctxheap.session(name):
            for number in range(3):
                await client.post(f"{url}/chat/completions", json=_body(f"{name} {number}"))

    async def main(url: str) -> None:
        async with httpx.AsyncClient() as client:
            await asyncio.gather(*(run(f"t{n}", client, url) for n in range(20)))

    with serving() as server, captured() as calls:
        asyncio.run(main(server.url))
        sessions = [call.session for call in calls]

    assert sorted(sessions) == sorted(f"t{n}" for n in range(20) for _ in range(3))


def test_stream_that_is_left_early_is_a_call_without_usage() -> None:
    with serving() as server, captured() as calls:
        url = f"{server.url}/chat/completions?chunked"
        with httpx.stream("POST", url, json=_body("hello")) as response:
            next(response.iter_raw(8))
        found = [(call.input_tokens, call.attributes.get("ctxheap.usage.missing")) for call in calls]

    assert found == [(None, True)]


def test_timeout_is_a_call_with_its_exception() -> None:
    with serving() as server, captured() as calls:
        with pytest.raises(httpx.TimeoutException):
            httpx.post(f"{server.url}/chat/completions?slow", json=_body("hello"), timeout=0.1)
        found = [call.error for call in calls]

    assert found == ["httpx.ReadTimeout"]


def test_cancelled_task_is_a_call_with_its_exception() -> None:
    async def main(url: str) -> None:
        async with httpx.AsyncClient() as client:
            task = asyncio.create_task(client.post(f"{url}/chat/completions?slow", json=_body("hello")))
            await asyncio.sleep(0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with serving() as server, captured() as calls:
        asyncio.run(main(server.url))
        found = [call.error for call in calls]

    assert found == ["asyncio.exceptions.CancelledError"]


def test_greenlets_are_captured(tmp_path: Path) -> None:
    pytest.importorskip("gevent")
    pytest.importorskip("requests")
    script = tmp_path / "greenlets.py"
    script.write_text(GREENLETS)

    with serving() as server:
        done = subprocess.run(
            [sys.executable, str(script), server.url],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert (done.stdout, done.returncode) == ("10\n", 0), done.stderr
