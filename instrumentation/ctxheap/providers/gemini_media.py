"""Size what Gemini is shown besides text, on its own scale (ai.google.dev, "Understand and count tokens")."""

from __future__ import annotations

import base64
import binascii

from ctxheap.heap.model import Part, Role
from ctxheap.providers.json_fields import Fields, fields, json_text, string
from ctxheap.providers.openai_blocks import ASSUMED
from ctxheap.providers.openai_media import image_size, media_part

TILE_TOKENS = 258
SMALL_PIXELS = 384
CROP = 1.5
ASSUMED_TOKENS = {"image": 1_032, "file": 516, "audio": 960, "video": 7_890}
"""Sizes where none can be seen: an image of 4 tiles, two pages, 30 s of 32 or of 263 tokens each."""


def media_parts(piece: Fields, *, role: Role, where: str) -> list[Part]:
    """Return the part of an inline or stored file, none for a piece that is neither."""
    inline = fields(piece.get("inlineData")) or fields(piece.get("inline_data"))
    stored = fields(piece.get("fileData")) or fields(piece.get("file_data"))
    body = inline or stored
    if not body:
        return []
    media_type = string(body.get("mimeType")) or string(body.get("mime_type"))
    data = string(inline.get("data"))
    if data and media_type.startswith("text/"):
        text = _decoded(data)
        return [Part(role, "media", "media:document", text, where=where)] if text else []
    kind = media_type.partition("/")[0]
    kind = kind if kind in ASSUMED_TOKENS else "file"
    size = image_size(f"data:{media_type};base64,{data}") if kind == "image" else None
    tokens = image_tokens(*size) if size else ASSUMED_TOKENS[kind]
    place = where if size else where + ASSUMED
    return [media_part(role, kind, data or json_text(body), tokens=tokens, where=place)]


def image_tokens(width: int, height: int) -> int:
    """Return 258 a tile: one for a small image, else squares of the short side divided by 1.5."""
    if max(width, height) <= SMALL_PIXELS:
        return TILE_TOKENS
    unit = max(1, int(min(width, height) / CROP))
    return TILE_TOKENS * -(-width // unit) * -(-height // unit)


def _decoded(data: str) -> str:
    try:
        return base64.b64decode(data).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""
