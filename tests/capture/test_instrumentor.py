"""`opentelemetry-instrument` finds the capture by its entry point, as it does every instrumentor."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from capture.server import serving
from ctxheap.instrument import flush

httpx = pytest.importorskip("httpx")


def test_entry_point_switches_the_capture_on_and_off() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    (entry,) = entry_points(group="opentelemetry_instrumentor", name="ctxheap")
    instrumentor = entry.load()()
    before = httpx.Client.send

    instrumentor.instrument(skip_dep_check=True, tracer_provider=provider)
    with serving() as server:
        httpx.post(f"{server.url}/chat/completions", json={"model": "m", "messages": []})
    assert flush(60)
    instrumentor.uninstrument()

    assert [span.name for span in exporter.get_finished_spans()] == ["chat m"]
    assert httpx.Client.send is before
