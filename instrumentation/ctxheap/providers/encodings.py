"""Undo the compression of a body, as far as what undoes it is installed."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from typing import Any, cast

MAX_BYTES = 128 * 1024 * 1024
READ_BYTES = 1 << 20
_ANY_HEADER = 32 + zlib.MAX_WBITS  # gzip or zlib, by its first bytes
_NO_HEADER = -zlib.MAX_WBITS
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


class UnknownEncodingError(ValueError):
    """Say that nothing here can undo a compression."""


def plain(body: bytes, encoding: str) -> bytes:
    """Return a body without its compressions, as much of it as came, at most about `MAX_BYTES`.

    Raises:
        UnknownEncodingError: Nothing installed can undo it, or the bytes are damaged.
    """
    for name in reversed([part.strip().lower() for part in encoding.split(",")]):
        if name in ("", "identity") or not body:
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


def plain_by_magic(body: bytes) -> bytes:
    """Return a body without the compression that its first bytes tell of.

    Raises:
        UnknownEncodingError: As for `plain`.
    """
    return next((plain(body, name) for magic, name in _MAGIC.items() if body.startswith(magic)), body)


def _gzip(body: bytes) -> bytes:
    found = bytearray()
    # A server may end a member with each flush.
    while body and len(found) < MAX_BYTES:
        member = zlib.decompressobj(_ANY_HEADER)
        found += member.decompress(body, MAX_BYTES - len(found))
        body = member.unused_data
    return bytes(found)


def _deflate(body: bytes) -> bytes:
    try:
        return zlib.decompressobj(_ANY_HEADER).decompress(body, MAX_BYTES)
    except zlib.error:  # servers send either form under this name
        return zlib.decompressobj(_NO_HEADER).decompress(body, MAX_BYTES)


def _brotli(body: bytes) -> bytes:
    module = _first("brotli", "brotlicffi")
    return cast("bytes", module.Decompressor().process(body))


def _zstd(body: bytes) -> bytes:
    module = _first("compression.zstd", "backports.zstd", "zstandard")
    if hasattr(module, "ZstdDecompressionReader"):
        return _read_frames(module.ZstdDecompressor().stream_reader(body, read_across_frames=True))
    return cast("bytes", module.ZstdDecompressor().decompress(body, MAX_BYTES))


def _read_frames(reader: Any) -> bytes:
    found = bytearray()
    # It allocates what it is asked for.
    while len(found) < MAX_BYTES and (piece := reader.read(READ_BYTES)):
        found += piece
    return bytes(found)


def _first(*modules: str) -> Any:
    """Return the first module that is installed."""
    for name in modules:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise UnknownEncodingError(f"needs one of {', '.join(modules)}")


_UNDO: dict[str, Callable[[bytes], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
