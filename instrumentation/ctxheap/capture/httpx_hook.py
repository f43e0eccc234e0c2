"""Capture calls through httpx and httpx2, which have the same classes under two names.

`Client.send` is where every request passes: a plain call has read its body when it returns, a
streaming one gets its stream replaced by one that keeps what goes through.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import ModuleType
from typing import Any, Protocol

from ctxheap.capture.flight import Flight, Headers, begin, capture
from ctxheap.capture.guard import guarded
from ctxheap.capture.patch import Function, Patches
from ctxheap.capture.scope import inside

Tee = Callable[[Any, Flight], Any]


class _Request(Protocol):
    method: str
    url: object
    headers: Headers
    _content: bytes


class _Response(Protocol):
    status_code: int
    headers: Headers
    stream: Any
    is_stream_consumed: bool
    is_closed: bool
    _content: bytes


def patch(module: ModuleType, patches: Patches) -> None:
    """Replace `send` of the module's two clients."""
    sync_tee, async_tee = _sync_tee(module.SyncByteStream), _async_tee(module.AsyncByteStream)
    patches.wrap(module.Client, "send", lambda original: _sync_send(original, sync_tee))
    patches.wrap(module.AsyncClient, "send", lambda original: _async_send(original, async_tee))


def _sync_send(original: Function, tee: Tee) -> Function:
    def send(client: object, request: _Request, **options: Any) -> Any:
        flight = _begin(request)
        if flight is None:
            return original(client, request, **options)
        token = inside.set(True)
        try:
            response = original(client, request, **options)
        except BaseException as error:
            flight.fail(error)
            raise
        finally:
            inside.reset(token)
        _attach(flight, response, tee)
        return response

    return send


def _async_send(original: Callable[..., Awaitable[Any]], tee: Tee) -> Function:
    async def send(client: object, request: _Request, **options: Any) -> Any:
        flight = _begin(request)
        if flight is None:
            return await original(client, request, **options)
        token = inside.set(True)
        try:
            response = await original(client, request, **options)
        except BaseException as error:
            flight.fail(error)
            raise
        finally:
            inside.reset(token)
        _attach(flight, response, tee)
        return response

    return send


def _begin(request: _Request) -> Flight | None:
    if capture.sink is None or inside.get():
        return None
    # A body that is a stream of its own is left alone: it has no `_content`.
    body = getattr(request, "_content", None)
    return begin(request.method, lambda: str(request.url), body, request.headers) if body else None


@guarded("httpx.attach", None)
def _attach(flight: Flight, response: _Response, tee: Tee) -> None:
    body = getattr(response, "_content", None)
    flight.answer(response.status_code, response.headers, is_decoded=body is not None)
    if body is not None:
        flight.feed(body)
        flight.finish()
    else:
        response.stream = tee(response.stream, flight)


def _sync_tee(base: Any) -> Tee:
    """Return a stream class; httpx wants streams to be instances of its own."""

    class SyncTee(base):  # type: ignore[misc]  # found at run time
        def __init__(self, stream: Any, flight: Flight) -> None:
            self._stream = stream
            self._flight = flight

        def __iter__(self) -> Iterator[bytes]:
            flight = self._flight
            try:
                for chunk in self._stream:
                    flight.feed(chunk)
                    yield chunk
            except GeneratorExit:
                flight.finish(cut=True)
                raise
            except BaseException as error:
                flight.fail(error)
                raise
            flight.finish()

        def close(self) -> None:
            try:
                self._stream.close()
            finally:
                self._flight.finish(cut=True)

        def __del__(self) -> None:
            self._flight.finish(cut=True)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._stream, name)

    return SyncTee


def _async_tee(base: Any) -> Tee:
    class AsyncTee(base):  # type: ignore[misc]  # found at run time
        def __init__(self, stream: Any, flight: Flight) -> None:
            self._stream = stream
            self._flight = flight

        async def __aiter__(self) -> AsyncIterator[bytes]:
            flight = self._flight
            try:
                async for chunk in self._stream:
                    flight.feed(chunk)
                    yield chunk
            except GeneratorExit:
                flight.finish(cut=True)
                raise
            except BaseException as error:
                flight.fail(error)
                raise
            flight.finish()

        async def aclose(self) -> None:
            try:
                await self._stream.aclose()
            finally:
                self._flight.finish(cut=True)

        def __del__(self) -> None:
            self._flight.finish(cut=True)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._stream, name)

    return AsyncTee
