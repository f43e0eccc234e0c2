"""Read AWS event streams, the framing of Bedrock's streaming operations.

    total length · headers length · CRC │ headers │ payload │ CRC        all numbers big-endian, 4 bytes
    header: name length (1) · name · type (1) · value

The connection has checked the bytes already, so the checksums are not looked at; lengths are.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator

import orjson

from ctxheap.pace import breathe
from ctxheap.providers.json_fields import Fields, fields, string

MAX_FRAME_BYTES = 24 * 1024 * 1024
MAX_HEADER_BYTES = 128 * 1024
"""The bounds of botocore's own reader."""
_PRELUDE = struct.Struct(">III")
_CHECKSUM_BYTES = 4
_STRING = 7
# Bytes of the values of each type: true, false, byte, short, int, long, bytes, string, timestamp, uuid.
_SIZES = (0, 0, 1, 2, 4, 8, None, None, 8, 16)


def events(body: bytes) -> Iterator[Fields]:
    """Yield the events of the frames that came whole, up to the first damaged one.

    An event is `{its type: its payload}`; a `chunk`, which wraps a model's own event, is that event.
    """
    for kind, payload in frames(body):
        breathe()
        value = _object(payload)
        if kind == "chunk":
            yield _unwrapped(value)
        elif kind:
            yield {kind: value}


def frames(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield event type ("" for exceptions) and payload of each whole frame, up to the first damaged one."""
    at = 0
    while at + _PRELUDE.size <= len(body):
        total, headers, _ = _PRELUDE.unpack_from(body, at)
        start = at + _PRELUDE.size + headers
        end = at + total - _CHECKSUM_BYTES
        if total > MAX_FRAME_BYTES or headers > MAX_HEADER_BYTES or not at < start <= end < len(body):
            return
        yield _event_type(body[at + _PRELUDE.size : start]), body[start:end]
        at += total


def _event_type(headers: bytes) -> str:
    at = 0
    while at < len(headers):
        name_end = at + 1 + headers[at]
        name = headers[at + 1 : name_end]
        if name_end >= len(headers) or headers[name_end] >= len(_SIZES):
            return ""
        kind, at = headers[name_end], name_end + 1
        size = _SIZES[kind]
        if size is None:
            size = int.from_bytes(headers[at : at + 2], "big")
            at += 2
        if name == b":event-type" and kind == _STRING:
            return headers[at : at + size].decode("utf-8", "replace")
        at += size
    return ""


def _unwrapped(chunk: Fields) -> Fields:
    try:
        return _object(base64.b64decode(string(chunk.get("bytes"))))
    except binascii.Error:
        return {}


def _object(payload: bytes) -> Fields:
    try:
        return fields(orjson.loads(payload))
    except ValueError:
        return {}
