"""Whatever goes wrong in the hook or its worker, the agent's calls go on unchanged; losses are counted."""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import linecache
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import httpx2
import pytest
import requests
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import ctxheap
from ctxheap.capture.guard import faults
from ctxheap.instrument import counts, flush
from wire.compare import Agent, inferences
from wire.injection import PACKAGE, InjectedError, Line, recording, throwing_at
from wire.provider import Fault, ScriptedProvider
from wire.test_raw_http import start

CHAT = "/v1/chat/completions"
FLUSH_SECONDS = 5.0
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


@pytest.fixture(autouse=True)
def no_fault_is_left() -> Iterator[None]:
    yield
    faults.counts.clear()
    ctxheap.uninstrument()


def httpx_agent(url: str) -> object:
    with httpx2.Client() as client:
        plain = client.post(url + CHAT, json=start()).content
        with client.stream("POST", url + CHAT, json=start(stream=True)) as response:
            return plain, b"".join(response.iter_bytes())


def httpx_async_agent(url: str) -> object:
    async def run() -> object:
        async with httpx2.AsyncClient() as client:
            plain = (await client.post(url + CHAT, json=start())).content
            async with client.stream("POST", url + CHAT, json=start(stream=True)) as response:
                return plain, b"".join([piece async for piece in response.aiter_bytes()])

    return asyncio.run(run())


def requests_agent(url: str) -> object:
    with requests.Session() as client:
        plain = client.post(url + CHAT, json=start()).content
        with client.post(url + CHAT, json=start(stream=True), stream=True) as response:
            return plain, list(response.iter_lines())


def aiohttp_agent(url: str) -> object:
    async def run() -> object:
        async with aiohttp.ClientSession() as client:
            async with client.post(url + CHAT, json=start()) as response:
                plain = await response.read()
            async with client.post(url + CHAT, json=start(stream=True)) as response:
                return plain, b"".join([piece async for piece in response.content.iter_any()])

    return asyncio.run(run())


CALLS = 2
SHARDS = 8  # for xdist: the lines of the whole pipeline take a minute
AGENTS: Mapping[str, Agent] = {
    "httpx": httpx_agent,
    "httpx_async": httpx_async_agent,
    "requests": requests_agent,
    "aiohttp": aiohttp_agent,
}
OWN_FILES = {
    "httpx_async": ("capture/httpx_hook.py", "capture/flight.py"),
    "requests": ("capture/urllib3_hook.py",),
    "aiohttp": ("capture/aiohttp_hook.py",),
}
WHOLE = ("capture/", "telemetry/", "instrument.py", "settings.py", "pace.py")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Hold what became of one run with the hook."""

    result: object
    spans: int
    counted: int


def observed(agent: Agent, url: str) -> Outcome:
    """Run an agent with the hook, in a context of its own; say what was captured and what counted as lost."""
    exporter = InMemorySpanExporter()
    tracing = TracerProvider(shutdown_on_exit=False)
    tracing.add_span_processor(SimpleSpanProcessor(exporter))
    before = faults.counts.total()
    ctxheap.instrument(tracer_provider=tracing, capture="off")
    try:
        result = contextvars.copy_context().run(agent, url)
        flush(FLUSH_SECONDS)
        lost = counts().dropped + counts().lost
    finally:
        ctxheap.uninstrument()
    return Outcome(
        result, len(inferences(exporter.get_finished_spans())), lost + faults.counts.total() - before
    )


def lines_of(agent: Agent, url: str, files: Sequence[str]) -> list[Line]:
    """Return the lines of ours that a run reaches: all of `files`, of the rest the first of each function."""
    into: set[Line] = set()
    observed(agent, url)
    with recording(into):
        observed(agent, url)
    seen = into.copy()  # the worker may still be ending
    first = {line.function: line for line in sorted(seen, reverse=True)}
    return sorted(
        line
        for line in seen
        if not is_seam(line) and (line[0].startswith(tuple(files)) or line in first.values())
    )


def is_seam(line: Line) -> bool:
    """Say whether a line stands between the host and guarded functions of ours: nothing there can fail."""
    is_wrapper = line[0].endswith("_hook.py") and ("<locals>" in line[2] or line[2].endswith("__init__"))
    is_try = linecache.getline(f"{PACKAGE}/{line[0]}", line[1]).strip() == "try:"
    return is_wrapper or is_try or line[0] == "capture/guard.py"


@pytest.mark.parametrize(
    ("name", "shard"), [("httpx", shard) for shard in range(SHARDS)] + [(name, 0) for name in OWN_FILES]
)
def test_a_fault_at_any_line_leaves_the_agent_alone_and_is_counted(name: str, shard: int) -> None:
    agent, harm = AGENTS[name], list[str]()
    with ScriptedProvider(name) as provider:
        bare = agent(provider.url)
        lines = lines_of(agent, provider.url, OWN_FILES.get(name, WHOLE))
        if name in OWN_FILES:
            lines = [line for line in lines if line[0] in OWN_FILES[name]]
        else:
            lines = lines[shard::SHARDS]
        for line in lines:
            with throwing_at(line) as thrown:
                try:
                    outcome = observed(agent, provider.url)
                except InjectedError:
                    harm.append(f"{line}: the agent was hit")
                    ctxheap.uninstrument()
                    continue
            if outcome.result != bare:
                harm.append(f"{line}: the agent got something else")
            if thrown and outcome.spans < CALLS and not outcome.counted:
                harm.append(f"{line} on {thrown}: {outcome.spans} spans, nothing counted")
            if outcome.spans > CALLS:
                harm.append(f"{line}: {outcome.spans} spans")
        after = observed(agent, provider.url)

    assert harm == []
    assert len(lines) > 20
    assert (after.result, after.spans, after.counted) == (bare, CALLS, 0)


@pytest.mark.parametrize(
    "garbage",
    [b"", b"{", b"[]", b"null", b'{"choices": 7}', b"\xff\xfe", b'{"usage": {"prompt_tokens": "x"}}'],
)
def test_answers_that_are_no_json_reach_the_agent_as_they_are(garbage: bytes) -> None:
    def agent(url: str) -> object:
        return httpx2.post(url + CHAT, json=start()).content

    with ScriptedProvider("garbage") as provider:
        provider.fail(Fault(garbage=garbage))
        outcome = observed(agent, provider.url)

    assert outcome.result == garbage
    assert outcome.spans <= 1


def test_a_body_larger_than_the_queue_is_dropped_whole_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXHEAP_QUEUE_BYTES", "100000")
    huge = {**start(), "user": "x" * 1_000_000}

    def agent(url: str) -> object:
        return [httpx2.post(url + CHAT, json=body).status_code for body in (huge, start())]

    with ScriptedProvider("huge") as provider:
        outcome = observed(agent, provider.url)

    assert outcome == Outcome([200, 200], spans=1, counted=1)


class BrokenExporter(SpanExporter):
    """Raise as an exporter does whose disk is full or whose host has a bug."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        raise self._error


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), RuntimeError("bug"), MemoryError()]
)
def test_an_exporter_that_raises_is_not_felt(error: Exception) -> None:
    tracing = TracerProvider(shutdown_on_exit=False)
    tracing.add_span_processor(SimpleSpanProcessor(BrokenExporter(error)))
    with ScriptedProvider("exporter") as provider:
        bare = httpx_agent(provider.url)
        ctxheap.instrument(tracer_provider=tracing)
        result = httpx_agent(provider.url)
        is_done = flush(FLUSH_SECONDS)

    assert result == bare
    assert is_done


def test_a_worker_that_is_killed_is_replaced() -> None:
    exporter = InMemorySpanExporter()
    tracing = TracerProvider(shutdown_on_exit=False)
    tracing.add_span_processor(SimpleSpanProcessor(exporter))
    with ScriptedProvider("killed") as provider:
        bare = httpx_agent(provider.url)
        ctxheap.instrument(tracer_provider=tracing)
        first = httpx_agent(provider.url)
        flush(FLUSH_SECONDS)
        for _ in range(20):  # what hits it between two items ends it, else only the item is lost
            kill_worker()
            time.sleep(0.1)
        second = httpx_agent(provider.url)
        flush(FLUSH_SECONDS)

    assert first == second == bare
    assert len(inferences(exporter.get_finished_spans())) == 2 * CALLS


def kill_worker() -> None:
    """Raise `SystemExit` in the worker, wherever it is."""
    for thread in threading.enumerate():
        if thread.name == "ctxheap" and thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)
            )


AGENT_SCRIPT = """
import json, sys, time
sys.path.insert(0, {tests!r})
import ctxheap
ctxheap.instrument()
from wire.test_faults import httpx_agent
print(repr(httpx_agent(sys.argv[1])))
"""


@pytest.mark.parametrize(
    "environment",
    [
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "CTXHEAP_EXIT_SECONDS": "1"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
        {"OTEL_TRACES_EXPORTER": "nonsense"},
        {"CTXHEAP_CAPTURE": "nonsense"},
    ],
    ids=["dead", "dead-grpc", "unknown-exporter", "bad-setting"],
)
def test_a_dead_collector_or_a_bad_setting_changes_nothing_and_ends_in_time(
    environment: dict[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "agent.py"
    script.write_text(AGENT_SCRIPT.format(tests=str(Path(__file__).parents[1])))
    with ScriptedProvider("dead") as provider:
        bare = httpx_agent(provider.url)
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, str(script), provider.url],
            env={"PATH": "", **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        took = time.monotonic() - began

    assert done.returncode == 0
    assert done.stdout.strip() == repr(bare)
    assert done.stderr == ""
    assert took < 60
