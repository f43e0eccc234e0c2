"""Undo the compression of a response's body, as far as what undoes it is installed."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, cast

MAX_BYTES = 128 * 1024 * 1024
_ANY_HEADER = 32 + zlib.MAX_WBITS  # gzip or zlib, by its first bytes
_NO_HEADER = -zlib.MAX_WBITS


class UnknownEncodingError(ValueError):
    """Say that nothing here can undo a compression."""


def plain(body: bytes, encoding: str) -> bytes:
    """Return a body without its compressions, as much of it as came.

    Raises:
        UnknownEncodingError: Nothing installed can undo it, or the bytes are damaged.
    """
    for name in reversed([part.strip().lower() for part in encoding.split(",")]):
        if name in ("", "identity"):
            continue
        if name not in _UNDO:
            raise UnknownEncodingError(f"content-encoding {name!r}")
        try:
            body = _UNDO[name](body)
        except UnknownEncodingError:
            raise
        except Exception as error:
            raise UnknownEncodingError(f"damaged {name}: {error}") from error
    return body


def _gzip(body: bytes) -> bytes:
    return zlib.decompressobj(_ANY_HEADER).decompress(body, MAX_BYTES)


def _deflate(body: bytes) -> bytes:
    try:
        return _gzip(body)
    except zlib.error:  # servers send either form under this name
        return zlib.decompressobj(_NO_HEADER).decompress(body, MAX_BYTES)


def _brotli(body: bytes) -> bytes:
    return _by("Decompressor", "process", ("brotli", "brotlicffi"))(body)


def _zstd(body: bytes) -> bytes:
    if find_spec("zstandard"):
        decompressor = cast("Callable[[], Any]", _attribute("zstandard", "ZstdDecompressor"))()
        return cast("bytes", decompressor.decompressobj().decompress(body))
    return _by("ZstdDecompressor", "decompress", ("compression.zstd", "backports.zstd"))(body)


def _by(maker: str, method: str, modules: tuple[str, ...]) -> Callable[[bytes], bytes]:
    """Return the method of a decompressor of the first module that is installed."""
    for name in modules:
        try:
            made = cast("Callable[[], object]", _attribute(name, maker))()
        except ImportError:
            continue
        return cast("Callable[[bytes], bytes]", getattr(made, method))
    raise UnknownEncodingError(f"needs one of {', '.join(modules)}")


def _attribute(module: str, name: str) -> object:
    return getattr(importlib.import_module(module), name)


_UNDO: dict[str, Callable[[bytes], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
