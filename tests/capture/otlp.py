"""Take OTLP over HTTP in, as a collector does."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass
class Collected:
    """Hold the spans that came, as dicts of their attributes with the service's name."""

    url: str = ""
    spans: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


@contextmanager
def collecting() -> Generator[Collected]:
    """Collect spans."""
    collected = Collected()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                data = gzip.decompress(data)
            if self.path == "/v1/traces":
                collected.spans += _spans(data)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collected.url = f"http://127.0.0.1:{httpd.server_port}"
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield collected
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()


def _spans(data: bytes) -> Generator[dict[str, Any]]:
    request = ExportTraceServiceRequest.FromString(data)
    for resource in request.resource_spans:
        about = {each.key: each.value.string_value for each in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                found = {each.key: _value(each.value) for each in span.attributes}
                yield {**found, "name": span.name, "service": about.get("service.name", "")}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    found = getattr(value, kind)
    return [_value(each) for each in found.values] if kind == "array_value" else found
