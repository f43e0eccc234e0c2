from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.providers.openai_media import image_size, image_tokens, media_part, tile_tokens


def data_url(kind: str, data: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 1024, 768) + bytes(40)
GIF = b"GIF89a" + struct.pack("<HH", 300, 200) + bytes(40)
JPEG = (
    b"\xff\xd8\xff\xe0\0\x10" + bytes(14) + b"\xff\xc0\0\x11\x08" + struct.pack(">HH", 480, 640) + bytes(40)
)
WEBP_LOSSY = b"RIFF\0\0\0\0WEBPVP8 " + bytes(10) + struct.pack("<HH", 550, 368) + bytes(40)
WEBP_LOSSLESS = (
    b"RIFF\0\0\0\0WEBPVP8L" + bytes(5) + struct.pack("<I", (386 - 1) | (395 - 1) << 14) + bytes(40)
)
WEBP_EXTENDED = (
    b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + (99).to_bytes(3, "little") + (49).to_bytes(3, "little") + bytes(40)
)


@pytest.mark.parametrize(
    ("kind", "data", "size"),
    [
        ("png", PNG, (1024, 768)),
        ("gif", GIF, (300, 200)),
        ("jpeg", JPEG, (640, 480)),
        ("webp", WEBP_LOSSY, (550, 368)),
        ("webp", WEBP_LOSSLESS, (386, 395)),
        ("webp", WEBP_EXTENDED, (100, 50)),
    ],
)
def test_sizes_are_read_from_the_header(kind: str, data: bytes, size: tuple[int, int]) -> None:
    assert image_size(data_url(kind, data)) == size


@pytest.mark.parametrize(
    ("size", "tokens"),
    # The examples of the provider's own documentation: 1024² is scaled to 768², 2048×4096 to 768×1536.
    [((1024, 1024), 765), ((2048, 4096), 1105), ((512, 512), 255), ((1, 1), 255)],
)
def test_images_cost_85_and_170_a_tile(size: tuple[int, int], tokens: int) -> None:
    assert tile_tokens(*size) == tokens


def test_low_detail_has_one_price_and_a_remote_image_none() -> None:
    assert image_tokens("https://example.org/a.png", "low") == 85
    assert image_tokens("https://example.org/a.png", "high") is None
    assert image_tokens(data_url("png", PNG), "auto") == 765


def test_media_are_told_apart_by_content_that_is_never_counted() -> None:
    one = media_part("user", "image", data_url("png", PNG), tokens=765, where="0")
    other = media_part("user", "image", data_url("gif", GIF), tokens=255, where="0")

    assert (one.text, one.tag, one.tokens) == ("", "media:image", 765)
    assert one.identity != other.identity
    assert one.identity == media_part("user", "image", data_url("png", PNG), tokens=765, where="9").identity


@given(st.binary(max_size=200))
def test_no_header_can_stop_the_reading(data: bytes) -> None:
    image_size(data_url("png", data))
    image_size(f"data:image/png;base64,{data.hex()}!")


@given(st.integers(1, 10**5), st.integers(1, 10**5))
def test_every_size_costs_at_least_one_tile(width: int, height: int) -> None:
    assert tile_tokens(width, height) >= 255
