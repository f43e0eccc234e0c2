"""Capture calls through urllib3, on which requests and botocore stand.

`HTTPConnectionPool.urlopen` is where every request passes. A response that was not preloaded is read in
a dozen ways, by whole, by piece, by chunk; all of them end in three functions, which are watched on
that one response.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, cast

from ctxheap.capture.flight import Flight, Headers, begin, capture
from ctxheap.capture.guard import guarded
from ctxheap.capture.patch import Function, Patches
from ctxheap.capture.scope import inside


def patch(module: ModuleType, patches: Patches) -> None:
    """Replace `urlopen` of the connection pools."""
    pool = module.connectionpool.HTTPConnectionPool
    patches.wrap(pool, "urlopen", _urlopen)


def _urlopen(original: Function) -> Function:
    def urlopen(pool: Any, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
        flight = None if capture.sink is None or inside.get() else _begin(pool, method, url, args, kwargs)
        if flight is None:
            return original(pool, method, url, *args, **kwargs)
        token = inside.set(True)
        try:
            response = original(pool, method, url, *args, **kwargs)
        except BaseException as error:
            flight.fail(error)
            raise
        finally:
            inside.reset(token)
        _attach(flight, response, is_decoded=bool(kwargs.get("decode_content", True)))
        return response

    return urlopen


@guarded("urllib3.begin", None)
def _begin(
    pool: Any, method: str, url: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Flight | None:
    body = kwargs.get("body", args[0] if args else None)
    headers = kwargs.get("headers", args[1] if len(args) > 1 else None) or pool.headers
    return begin(
        method, lambda: f"{pool.scheme}://{pool.host}:{pool.port}{url}", body, cast("Headers", headers)
    )


@guarded("urllib3.attach", None)
def _attach(flight: Flight, response: Any, *, is_decoded: bool) -> None:
    body = getattr(response, "_body", None)
    if isinstance(body, bytes) and body:
        flight.answer(response.status, response.headers, is_decoded=is_decoded)
        flight.feed(body)
        flight.finish()
        return
    flight.answer(response.status, response.headers)
    weakref.finalize(response, flight.finish, cut=True)
    response._fp_read = _watched(flight, response, response._fp_read)
    response._handle_chunk = _watched(flight, response, response._handle_chunk)
    response._update_chunk_length = _ending(flight, response, response._update_chunk_length)
    response.close = _closing(flight, response.close)
    response.release_conn = _closing(flight, response.release_conn)


def _watched(flight: Flight, response: Any, read: Callable[..., bytes]) -> Callable[..., bytes]:
    """Return a function that reads as before and keeps what came, still compressed."""

    def watched(*args: Any, **kwargs: Any) -> bytes:
        try:
            data = read(*args, **kwargs)
        except BaseException as error:
            flight.fail(error)
            raise
        if data:
            flight.feed(data)
        if not response.chunked and (not data or _is_at_end(response)):
            flight.finish()
        return data

    return watched


@guarded("urllib3.end", otherwise=False)
def _is_at_end(response: Any) -> bool:
    return bool(response._fp.isclosed())


def _ending(flight: Flight, response: Any, update: Callable[[], None]) -> Callable[[], None]:
    """Return a function that knows the last chunk, which is empty."""

    def ending() -> None:
        try:
            update()
        except BaseException as error:
            flight.fail(error)
            raise
        if response.chunk_left == 0:
            flight.finish()

    return ending


def _closing(flight: Flight, close: Callable[..., Any]) -> Callable[..., Any]:
    def closing(*args: Any, **kwargs: Any) -> Any:
        flight.finish(cut=True)
        return close(*args, **kwargs)

    return closing
