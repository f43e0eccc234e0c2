"""Follow one HTTP exchange on the caller's thread: keep references, take times, parse nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, cast

from ctxheap.capture.guard import guarded
from ctxheap.capture.scope import Scope, scope
from ctxheap.providers.wire import Endpoint, Response, recognise

MAX_RESPONSE_BYTES = 32 * 1024 * 1024
CALL_BYTES = 2_000
"""What a call weighs beside its bodies."""


class Sink(Protocol):
    """Take finished calls in."""

    @property
    def session_header(self) -> str:
        """Return the request header that names the session, "" for none."""
        ...

    @property
    def now_ns(self) -> Callable[[], int]:
        """Return the clock, in nanoseconds since the epoch."""
        ...

    def wake(self) -> None:
        """Get ready for a call that has begun."""
        ...

    def offer(self, call: Call) -> bool:
        """Take a call without blocking; False when it was dropped and counted."""
        ...


class Headers(Protocol):
    """Look a header up without regard to case, as all HTTP libraries do."""

    def get(self, key: str, default: str = "", /) -> str | None:
        """Return the value, or the default."""
        ...


@dataclass(slots=True)
class Call:
    """Hold one finished HTTP exchange with a model, as references to what went over the wire.

    Attributes:
        endpoint: Where it went.
        body: What was sent, as the HTTP library held it.
        status: HTTP status, 0 when nothing came back.
        content_type: Of the response; so is `content_encoding`.
        chunks: The response's body as it came.
        cut: Whether the body was not read to its end.
        started_ns: Start, in nanoseconds since the epoch; so are `ended_ns` and `first_ns`.
        first_ns: When the first bytes of a streamed body arrived, else 0.
        context: The caller's OpenTelemetry context, None where OpenTelemetry is not in use.
        scope: What the application said about the call.
        error: Qualified name of the exception that the HTTP library raised, "" for none.
        attempts: HTTP requests that make up this call.
        failures: What went wrong at those before the last.
        model: The model that was asked for, once the body of a failed call was dropped.
    """

    endpoint: Endpoint
    body: bytes | str
    status: int
    content_type: str
    content_encoding: str
    chunks: list[bytes]
    cut: bool
    started_ns: int
    ended_ns: int
    first_ns: int
    context: object | None
    scope: Scope
    error: str = ""
    attempts: int = 1
    failures: list[str] = field(default_factory=list[str])
    model: str = ""

    @property
    def weight(self) -> int:
        """Return the bytes that the call keeps alive, a character counted as one."""
        return CALL_BYTES + len(self.body) + sum(map(len, self.chunks))

    @property
    def request(self) -> bytes:
        """Return the body that was sent."""
        return self.body.encode("utf-8", "surrogatepass") if isinstance(self.body, str) else self.body

    @property
    def response(self) -> Response:
        """Return what came back."""
        body = b"".join(self.chunks)
        return Response(self.status, self.content_type, self.content_encoding, body, self.cut)

    @property
    def is_answered(self) -> bool:
        """Say whether the provider accepted the request."""
        return 200 <= self.status < 300


class Flight:
    """Follow one exchange; every method is safe to call, in any order and more than once."""

    __slots__ = (
        "_body", "_chunks", "_content_encoding", "_content_type", "_context", "_endpoint", "_error",
        "_first_ns", "_is_done", "_scope", "_sink", "_size", "_started_ns", "_status",
    )  # fmt: skip

    def __init__(self, sink: Sink, endpoint: Endpoint, body: bytes | str, said: Scope) -> None:
        self._sink = sink
        self._endpoint = endpoint
        self._body = body
        self._scope = said
        self._context = otel_context()
        self._status = 0
        self._content_type = ""
        self._content_encoding = ""
        self._chunks: list[bytes] = []
        self._size = 0
        self._first_ns = 0
        self._error = ""
        self._is_done = False
        self._started_ns = sink.now_ns()

    @guarded("flight.answer", None)
    def answer(self, status: int, headers: Headers, *, is_decoded: bool = False) -> None:
        """Note the head of the response; `is_decoded` says that the body comes decompressed."""
        self._status = status
        self._content_type = headers.get("content-type") or ""
        self._content_encoding = "" if is_decoded else headers.get("content-encoding") or ""

    @guarded("flight.feed", None)
    def feed(self, chunk: bytes) -> None:
        """Keep a reference to a piece of the body."""
        if not self._first_ns:
            self._first_ns = self._sink.now_ns()
        self._size += len(chunk)
        if self._size <= MAX_RESPONSE_BYTES:
            self._chunks.append(chunk)

    @guarded("flight.fail", None)
    def fail(self, error: BaseException) -> None:
        """Finish a call that raised instead of answering, or while it was read."""
        self._error = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
        self.finish(cut=True)

    @guarded("flight.finish", None)
    def finish(self, *, cut: bool = False) -> None:
        """Hand the call over; `cut` says that nobody read to the end."""
        if self._is_done:
            return
        self._is_done = True
        call = Call(
            self._endpoint,
            self._body,
            self._status,
            self._content_type,
            self._content_encoding,
            self._chunks,
            cut or self._size > MAX_RESPONSE_BYTES,
            self._started_ns,
            self._sink.now_ns(),
            self._first_ns,
            self._context,
            self._scope,
            self._error,
        )
        self._chunks = []
        self._sink.offer(call)


class Capture:
    """Hold the sink that the hooks feed; None while nothing is captured."""

    def __init__(self) -> None:
        self.sink: Sink | None = None


capture = Capture()


@guarded("flight.begin", None)
def begin(method: str, url: Callable[[], str], body: object, headers: Headers | None = None) -> Flight | None:
    """Return a flight for a request to a model, None for any other request.

    Args:
        method: HTTP method.
        url: Gives the URL; called for POSTs with a JSON body only.
        body: What is sent; anything but bytes or text is left alone.
        headers: Of the request.
    """
    sink = capture.sink
    if sink is None or method != "POST":
        return None
    data = _kept(body)
    if data is None:
        return None
    endpoint = recognise(url(), data if isinstance(data, bytes) else b"{")
    if endpoint is None:
        return None
    sink.wake()
    said = scope.get()
    if headers is not None and not said.session and sink.session_header:
        said = Scope(headers.get(sink.session_header) or "", said.agent, said.parent, said.activity)
    return Flight(sink, endpoint, data, said)


def _kept(body: object) -> bytes | str | None:
    """Return a body that nobody can change any more; only JSON is of interest."""
    if isinstance(body, bytes) or (isinstance(body, str) and body[:1] == "{"):
        return body
    return bytes(body) if isinstance(body, bytearray) else None


def otel_context() -> object | None:
    """Return the caller's context without being the one who imports OpenTelemetry."""
    get_current = getattr(sys.modules.get("opentelemetry.context"), "get_current", None)
    return cast("Callable[[], object]", get_current)() if get_current else None
