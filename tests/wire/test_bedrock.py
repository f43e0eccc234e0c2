"""boto3's Converse, whole and streaming, against a local server that speaks AWS's event streams."""

from __future__ import annotations

import importlib
import json
import struct
import threading
import zlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ctxheap.instrument import flush
from wire.compare import FLUSH_SECONDS, captured, check_conserved, inferences, strings, usage_of
from wire.speech import Truth

MODEL = "us.amazon.nova-2-lite-v1:0"
USAGE = {"inputTokens": 400, "outputTokens": 20, "totalTokens": 1420, "cacheReadInputTokens": 1000}
CALL = {"toolUseId": "t1", "name": "read_file"}
TOOL = {"toolSpec": {"name": "read_file", "inputSchema": {"json": {"type": "object"}}}}


class Bedrock(BaseHTTPRequestHandler):
    """Answer the first call with a tool call and the second with a text."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_first = len(request["messages"]) == 1
        body = streamed(is_first) if self.path.endswith("-stream") else whole(is_first)
        kind = "vnd.amazon.eventstream" if self.path.endswith("-stream") else "json"
        self.send_response(200)
        self.send_header("Content-Type", f"application/{kind}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name of the base class
        """Say nothing."""


def whole(is_first: bool) -> bytes:
    block: dict[str, object] = (
        {"toolUse": {**CALL, "input": {"path": "a.py"}}} if is_first else {"text": "Done."}
    )
    return json.dumps(
        {
            "output": {"message": {"role": "assistant", "content": [block]}},
            "stopReason": "tool_use" if is_first else "end_turn",
            "usage": USAGE,
            "metrics": {"latencyMs": 1},
        }
    ).encode()


def streamed(is_first: bool) -> bytes:
    piece: dict[str, object] = {"toolUse": {"input": '{"path": "a.py"}'}} if is_first else {"text": "Done."}
    events: list[tuple[str, dict[str, object]]] = [("messageStart", {"role": "assistant"})]
    if is_first:
        events.append(("contentBlockStart", {"contentBlockIndex": 0, "start": {"toolUse": CALL}}))
    rest: list[tuple[str, dict[str, object]]] = [
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": piece}),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("messageStop", {"stopReason": "tool_use" if is_first else "end_turn"}),
        ("metadata", {"usage": USAGE, "metrics": {"latencyMs": 1}}),
    ]
    return b"".join(frame(kind, payload) for kind, payload in (*events, *rest))


def frame(kind: str, payload: object) -> bytes:
    named = {":message-type": "event", ":event-type": kind, ":content-type": "application/json"}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in named.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return message + struct.pack(">I", zlib.crc32(message))


@contextmanager
def serving() -> Generator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Bedrock) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def agent(url: str, *, stream: bool) -> list[Any]:
    """Run a loop of two calls; return what the client was given."""
    client: Any = importlib.import_module("boto3").client(  # it has no types
        "bedrock-runtime",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="none",
        aws_secret_access_key="none",
    )
    messages: list[Mapping[str, Any]] = [{"role": "user", "content": [{"text": "Read a.py."}]}]
    given: list[Any] = []
    for _ in range(2):
        options = {"modelId": MODEL, "messages": messages, "toolConfig": {"tools": [TOOL]}}
        if stream:
            given.append(list(client.converse_stream(**options)["stream"]))
        else:
            given.append(client.converse(**options)["output"])
        messages.append({"role": "assistant", "content": [{"toolUse": {**CALL, "input": {"path": "a.py"}}}]})
        result = {"toolUseId": "t1", "content": [{"text": "print(1)"}]}
        messages.append({"role": "user", "content": [{"toolResult": result}]})
    client.close()
    return given


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_every_call_is_captured_and_nothing_else_changes(*, stream: bool) -> None:
    with serving() as url:
        bare = agent(url, stream=stream)
        with captured() as exporter:
            seen = agent(url, stream=stream)
            assert flush(FLUSH_SECONDS)
            spans = inferences(exporter.get_finished_spans())

    assert seen == bare
    assert [usage_of(span) for span in spans] == [Truth(1400, 20, 1000, 0, 0)] * 2
    assert [(span.attributes or {})["gen_ai.request.model"] for span in spans] == [MODEL] * 2
    assert (spans[0].attributes or {})["gen_ai.provider.name"] == "aws.bedrock"
    assert "tool_result:read_file" in strings(spans[1], "ctxheap.tags")
    for span in spans:
        check_conserved(span)
