"""Estimate what images cost on OpenAI's tile scale, from the few bytes of a file that say how large it is."""

from __future__ import annotations

import base64
import binascii
import struct
from dataclasses import replace

from ctxheap.heap.model import Part, Role, identity_of

LOW_DETAIL_TOKENS = 85
TILE_TOKENS = 170
TILE_PIXELS = 512
LONG_SIDE_PIXELS = 2048
SHORT_SIDE_PIXELS = 768
HEADER_CHARACTERS = 64 << 10


def media_part(role: Role, kind: str, payload: str, *, tokens: int | None, where: str) -> Part:
    """Return a block whose identity is its payload (data or address) but whose text is never counted."""
    keyed = Part(role, "media", f"media:{kind}", text=payload, tokens=tokens, where=where)
    return replace(keyed, text="", identity=identity_of(keyed))


def image_tokens(url: str, detail: str) -> int | None:
    """Return the tokens of an image; None when its size cannot be seen (a remote address)."""
    if detail == "low":
        return LOW_DETAIL_TOKENS
    size = image_size(url)
    return tile_tokens(*size) if size else None


def tile_tokens(width: int, height: int) -> int:
    """Return 85 + 170 a tile of 512 px, after scaling into 2048² and the short side to 768 px."""
    scale = min(1.0, LONG_SIDE_PIXELS / max(width, height), SHORT_SIDE_PIXELS / min(width, height))
    across = max(1, -(-round(width * scale) // TILE_PIXELS))
    down = max(1, -(-round(height * scale) // TILE_PIXELS))
    return LOW_DETAIL_TOKENS + TILE_TOKENS * across * down


def image_size(url: str) -> tuple[int, int] | None:
    """Return width and height in pixels of a PNG, GIF, JPEG or WebP data URL, None for anything else."""
    head, comma, body = url[: HEADER_CHARACTERS + 100].partition(",")
    if not comma or not head.startswith("data:") or not head.endswith("base64"):
        return None
    whole = body[: min(len(body), HEADER_CHARACTERS) // 4 * 4]
    try:
        size = _size(base64.b64decode(whole))
    except (binascii.Error, ValueError, struct.error):
        return None
    return size if size and min(size) > 0 else None


def _size(data: bytes) -> tuple[int, int] | None:
    if data.startswith(b"\x89PNG"):
        return struct.unpack(">II", data[16:24])
    if data.startswith(b"GIF8"):
        return struct.unpack("<HH", data[6:10])
    if data.startswith(b"\xff\xd8"):
        return _jpeg_size(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _webp_size(data)
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        # Start-of-frame markers, less the three in their range that say something else.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    if data[12:16] == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if data[12:16] == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if data[12:16] == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None
