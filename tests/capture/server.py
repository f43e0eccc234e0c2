"""Answer like a model, over HTTP on this machine."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OPENAI: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o-2024-08-06",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Two."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105},
}


@dataclass
class Server:
    """Hold what the server was asked and how it answers."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    answers: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    statuses: list[int] = field(default_factory=list[int])


@contextmanager
def serving() -> Generator[Server]:
    """Serve; queries choose the form: `?gzip`, `?chunked`. `statuses` are used up one a request."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            server.requests.append(json.loads(body))
            status = server.statuses.pop(0) if server.statuses else 200
            answer = server.answers.pop(0) if server.answers else OPENAI
            data = json.dumps(answer if status == 200 else {"error": {"message": "no"}}).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            if "gzip" in self.path:
                data = gzip.compress(data)
                self.send_header("content-encoding", "gzip")
            if "chunked" in self.path:
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for at in range(0, len(data), 40):
                    piece = data[at : at + 40]
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                self.wfile.write(b"0\r\n\r\n")
            else:
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{httpd.server_port}/v1"
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()
