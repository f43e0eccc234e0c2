"""Serve a scripted model on loopback and write down the truth: every request as it came, every answer.

    POST …/chat/completions   OpenAI, Groq (/openai/…), Mistral (/mistral/…)      plain and SSE
    POST …/responses          OpenAI Responses                                     plain and SSE
    POST …/messages           Anthropic                                            plain and SSE
    POST …:generateContent    Gemini, and …:streamGenerateContent?alt=sse
    POST …/embeddings         what is not to be counted

The model answers by the turns that the request already holds, so that retries and concurrent sessions
get what they should. Ids depend on the provider's name alone: two runs under one name are told the
same, byte for byte.
"""

from __future__ import annotations

import gzip
import re
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self, cast
from urllib.parse import urlsplit

import orjson

from ctxheap.providers.json_fields import Fields, fields, string
from wire.script import SCRIPT, Answer
from wire.speak_anthropic import Anthropic
from wire.speak_chat import Chat
from wire.speak_gemini import Gemini
from wire.speak_responses import Responses
from wire.speech import Dialect, Json, Reply, Truth, dumps

HANG_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Fault:
    """Say how one request goes wrong.

    Attributes:
        status: HTTP status of an error to answer with, 0 for none.
        pause_seconds: Wait before the head, and before every event of a stream.
        cut_after: Break the connection after so many events of a stream, or bytes of a plain body.
        hang: Never answer, until the client gives up or the provider stops.
        garbage: Answer 200 with a body that is not what the API promises.
    """

    status: int = 0
    pause_seconds: float = 0.0
    cut_after: int | None = None
    hang: bool = False
    garbage: bytes | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """Hold one request and what was answered; `truth` is None where no usage was sent."""

    path: str
    headers: dict[str, str]
    body: bytes
    status: int
    truth: Truth | None
    started: float
    ended: float


@dataclass
class _Plan:
    faults: list[Fault] = field(default_factory=list[Fault])
    seen: list[Seen] = field(default_factory=list[Seen])


class ScriptedProvider:
    """Serve the script while entered; `url` is where, without a trailing slash.

    Args:
        name: Goes into all ids.
        gzip: Compress for clients that accept it.
        script: What the model answers, by turn; the last answer repeats.
    """

    def __init__(
        self, name: str = "scripted", *, gzip: bool = False, script: Sequence[Answer] = SCRIPT
    ) -> None:
        self.gzip = gzip
        self.name = re.sub(r"\W+", "", name)
        self.script = script
        self.stopping = threading.Event()
        self._plan = _Plan()
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        """Start to serve."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, hung requests included."""
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def fail(self, *faults: Fault) -> None:
        """Let the next requests go wrong, in this order."""
        with self._lock:
            self._plan.faults += faults

    @property
    def seen(self) -> list[Seen]:
        """Return the requests in the order in which they were answered."""
        with self._lock:
            return list(self._plan.seen)

    @property
    def calls(self) -> list[Seen]:
        """Return the requests that a model answered."""
        return [each for each in self.seen if each.truth is not None]

    def bodies(self) -> list[bytes]:
        """Return the bodies of all requests."""
        return [each.body for each in self.seen]

    def next_fault(self) -> Fault:
        """Take the next fault off the plan."""
        with self._lock:
            return self._plan.faults.pop(0) if self._plan.faults else Fault()

    def note(self, seen: Seen) -> None:
        """Write a request down."""
        with self._lock:
            self._plan.seen.append(seen)

    def reply(self, dialect: Dialect, request: Fields, body: bytes, model: str) -> Reply:
        """Return what the model says to a request."""
        turn = dialect.turn(request)
        answer = self.script[min(turn, len(self.script) - 1)]
        truth = dialect.truth(_usage(body, answer, turn))
        name = f"{self.name}{zlib.crc32(body):08x}"
        return Reply(name, model or string(request.get("model")), answer, truth, request)


def _usage(body: bytes, answer: Answer, turn: int) -> Truth:
    """Count four bytes a token; from the second turn on most of the input comes from the cache."""
    said = len(answer.text) + len(answer.reasoning) + sum(len(use.json) for use in answer.tools)
    count = -(-len(body) // 4)
    cached = count * 3 // 4 if turn else 0
    written = count // 8 if turn else count // 2
    return Truth(count, 8 + said // 4 + len(answer.reasoning), cached, written, len(answer.reasoning))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, provider: ScriptedProvider) -> None:
        self.provider = provider
        self.dialects: list[tuple[re.Pattern[str], Dialect]] = [
            (re.compile(r"^/openai/v1/chat/completions$"), Chat(stream_usage="groq")),
            (re.compile(r"^/mistral/.*/chat/completions$"), Chat(stream_usage="last")),
            (re.compile(r"/chat/completions$"), Chat()),
            (re.compile(r"/responses$"), Responses()),
            (re.compile(r"/messages$"), Anthropic()),
            (re.compile(r"/models/([^/:]+):(generateContent|streamGenerateContent)$"), Gemini()),
        ]
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that hang up: tests make them do it."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Keep quiet."""

    def do_POST(self) -> None:
        started = time.time()
        provider = cast("_Server", self.server).provider
        body = self._request_body()
        fault = provider.next_fault()
        if fault.hang:
            provider.stopping.wait(HANG_SECONDS)
            self.close_connection = True
            return
        provider.stopping.wait(fault.pause_seconds)
        status, truth = self._answer(provider, body, fault)
        headers = {key.lower(): value for key, value in self.headers.items()}
        provider.note(Seen(self.path, headers, body, status, truth, started, time.time()))
        self._send()

    def _answer(self, provider: ScriptedProvider, body: bytes, fault: Fault) -> tuple[int, Truth | None]:
        """Prepare the answer; return its status and the usage that it reports."""
        path = urlsplit(self.path).path
        dialect, model, is_stream = self._dialect(path)
        self._fault, self._events, self._plain, self._status = fault, None, b"", 200
        if dialect is None:
            self._status, self._plain = (200, _EMBEDDING) if path.endswith("/embeddings") else (404, b"{}")
            return self._status, None
        if fault.status:
            self._status, self._plain = fault.status, dumps(dialect.error(fault.status))
            return fault.status, None
        if fault.garbage is not None:
            self._plain = fault.garbage
            return 200, None
        request = fields(orjson.loads(body))
        reply = provider.reply(dialect, request, body, model)
        if is_stream or request.get("stream") is True:
            self._events = dialect.events(reply)
        else:
            self._plain = dumps(dialect.whole(reply))
        return 200, reply.truth

    def _dialect(self, path: str) -> tuple[Dialect | None, str, bool]:
        for pattern, dialect in cast("_Server", self.server).dialects:
            if match := pattern.search(path):
                model = match.group(1) if pattern.groups else ""
                return dialect, model, path.endswith(":streamGenerateContent")
        return None, "", False

    def _request_body(self) -> bytes:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            return b"".join(self._chunks())
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        return gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().strip() or b"0", 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _send(self) -> None:
        zipped = cast("_Server", self.server).provider.gzip and "gzip" in self.headers.get(
            "accept-encoding", ""
        )
        if self._events is None:
            self._send_plain(gzip.compress(self._plain, mtime=0) if zipped else self._plain, zipped=zipped)
        else:
            self._send_stream(self._events, zipped=zipped)

    def _head(self, kind: str, *, zipped: bool) -> None:
        self.send_response(self._status)
        self.send_header("content-type", kind)
        self.send_header("request-id", "req_scripted")
        if zipped:
            self.send_header("content-encoding", "gzip")
        if self._status >= 400:
            self.send_header("retry-after-ms", "1")

    def _send_plain(self, body: bytes, *, zipped: bool) -> None:
        self._head("application/json", zipped=zipped)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        cut = self._fault.cut_after
        self.wfile.write(body if cut is None else body[:cut])
        self.close_connection |= cut is not None

    def _send_stream(self, events: Iterator[bytes], *, zipped: bool) -> None:
        self._head("text/event-stream; charset=utf-8", zipped=zipped)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        packer = zlib.compressobj(wbits=31) if zipped else None
        for number, each in enumerate(events):
            if number == self._fault.cut_after:
                self.close_connection = True
                return
            cast("_Server", self.server).provider.stopping.wait(self._fault.pause_seconds)
            self._chunk(packer.compress(each) + packer.flush(zlib.Z_SYNC_FLUSH) if packer else each)
        if packer:
            self._chunk(packer.flush())
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, chunk: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))


_EMBEDDING = dumps(
    {
        "object": "list",
        "data": [{"object": "embedding", "index": 0, "embedding": [0.25, -0.5]}],
        "model": "text-embedding-3-small",
        "usage": {"prompt_tokens": 3, "total_tokens": 3},
    }
)
__all__ = ["Fault", "Json", "ScriptedProvider", "Seen"]
