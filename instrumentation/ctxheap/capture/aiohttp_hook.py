"""Capture calls through aiohttp's client.

The body that is sent exists only once aiohttp has made its request object, so the flight begins there;
the response is kept as it is fed to the reader that the application reads from, decompressed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from ctxheap.capture.flight import Flight, begin, capture
from ctxheap.capture.guard import guarded
from ctxheap.capture.patch import Function, Patches
from ctxheap.capture.scope import inside


class _Holder:
    """Hold the flight of the request that is under way in this context."""

    __slots__ = ("flight",)

    def __init__(self) -> None:
        self.flight: Flight | None = None


_holder: ContextVar[_Holder | None] = ContextVar("ctxheap_aiohttp", default=None)
_flights: dict[int, Flight] = {}
"""Flights by the identity of their reader, which has no room for an attribute."""


def patch(module: ModuleType, patches: Patches) -> None:
    """Replace the session's `_request` and the making of its requests."""
    reader = _watched_reader(module.StreamReader)

    def request(original: Callable[..., Awaitable[Any]]) -> Function:
        return _request(original, module.StreamReader, reader)

    patches.wrap(module.ClientSession, "_request", request)
    patches.wrap(module.ClientRequest, "__init__", _init)


def _request(original: Callable[..., Awaitable[Any]], plain: type, watched: type) -> Function:
    async def request(session: Any, method: str, url: Any, **options: Any) -> Any:
        if capture.sink is None or inside.get() or method.upper() != "POST":
            return await original(session, method, url, **options)
        holder = _Holder()
        token = _holder.set(holder)
        try:
            response = await original(session, method, url, **options)
        except BaseException as error:
            if holder.flight is not None:
                holder.flight.fail(error)
            raise
        finally:
            _holder.reset(token)
        if holder.flight is not None:
            _attach(holder.flight, response, plain, watched)
        return response

    return request


def _init(original: Function) -> Function:
    def init(request: Any, method: str, url: Any, **options: Any) -> None:
        original(request, method, url, **options)
        holder = _holder.get()
        if holder is not None and holder.flight is None:
            holder.flight = _begin(request, method, url)

    return init


@guarded("aiohttp.begin", None)
def _begin(request: Any, method: str, url: Any) -> Flight | None:
    body = request.body
    return begin(method, lambda: str(url), getattr(body, "_value", body), request.headers)


@guarded("aiohttp.attach", None)
def _attach(flight: Flight, response: Any, plain: type, watched: type) -> None:
    flight.answer(response.status, response.headers, is_decoded=True)
    reader: Any = response.content
    if reader.__class__ is not plain:  # of the very class, since ours has its layout
        flight.finish(cut=True)
        return
    for chunk in reader._buffer:
        flight.feed(chunk)
    if reader.is_eof():
        flight.finish()
        return
    _flights[id(reader)] = flight
    reader.__class__ = watched


def _watched_reader(plain: Any) -> type:
    """Return a reader that keeps what it is fed; the same layout, so that one can become the other."""

    class WatchedReader(plain):  # type: ignore[misc]  # the base is found at run time
        __slots__ = ()

        def feed_data(self, data: bytes, *args: Any, **kwargs: Any) -> Any:
            flight = _flights.get(id(self))
            if flight is not None and data:
                flight.feed(bytes(data))
            return super().feed_data(data, *args, **kwargs)

        def feed_eof(self) -> None:
            _finish(self, cut=False)
            super().feed_eof()

        def set_exception(self, exc: Any, *args: Any, **kwargs: Any) -> None:
            _finish(self, cut=True)
            super().set_exception(exc, *args, **kwargs)

        def __del__(self) -> None:
            _finish(self, cut=True)

    return WatchedReader


def _finish(reader: object, *, cut: bool) -> None:
    flight = _flights.pop(id(reader), None)
    if flight is not None:
        flight.finish(cut=cut)
