"""A packed heap survives the way, damage is told, and two thousand objects stay small."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.telemetry.packed import Birth, DamagedError, Dead, PackedHeap, Used, decode, encode

NUMBER = st.integers(0, 2**40)
TOKENS = st.integers(0, 2**31)
IDENTITY = st.binary(min_size=16, max_size=16)
RULE = st.sampled_from(["quote", "handle", "argument", "answer", "request"])
REASON = st.sampled_from(["superseded", "duplicate", "invalidated", "edit_done", "handed_over"])
KIND = st.sampled_from(["text", "reasoning", "tool_call", "tool_result", "tool_definition", "media"])
TAG = st.text(st.characters(codec="utf-8"), max_size=20)
BIRTH = st.builds(
    Birth,
    number=NUMBER,
    identity=IDENTITY,
    kind=KIND,
    occurrence=st.integers(1, 9),
    tokens=TOKENS,
    answers=st.none() | NUMBER,
    is_pinned=st.booleans(),
    is_error=st.booleans(),
    is_known=st.booleans(),
    name=TAG,
    preview=TAG,
)
USED = st.builds(Used, NUMBER, RULE, st.integers(-5_000, 5_000).map(lambda n: n / 256), st.booleans())


@st.composite
def heaps(draw: st.DrawFn) -> PackedHeap:
    names = draw(st.lists(TAG, min_size=1, max_size=5, unique=True))
    rows = draw(st.lists(st.tuples(NUMBER, st.integers(0, len(names) - 1), TOKENS), max_size=30))
    return PackedHeap(
        heap_id=draw(st.binary(min_size=8, max_size=8)),
        call=draw(NUMBER),
        numbers=[row[0] for row in rows],
        tag_names=names,
        tag_places=[row[1] for row in rows],
        tokens=[row[2] for row in rows],
        framing=draw(TOKENS),
        unattributed=draw(st.integers(-(2**31), 2**31)),
        usage=draw(st.none() | st.tuples(*[TOKENS] * 6)),
        births=draw(st.lists(BIRTH, max_size=4)),
        refreshed=draw(st.lists(st.tuples(NUMBER, IDENTITY), max_size=4)),
        uses=draw(st.lists(USED, max_size=4)),
        dead=draw(st.lists(st.builds(Dead, NUMBER, NUMBER, REASON), max_size=4)),
        revived=draw(st.lists(NUMBER, max_size=4)),
        extends=draw(st.booleans()),
        is_exact=draw(st.booleans()),
        is_incomplete=draw(st.booleans()),
        is_compacted=draw(st.booleans()),
    )


@given(heaps())
def test_decoding_returns_what_was_encoded(heap: PackedHeap) -> None:
    assert decode(encode(heap)) == heap


@given(heaps(), st.data())
def test_damaged_bytes_raise_the_error_that_says_so(heap: PackedHeap, data: st.DataObject) -> None:
    packed = encode(heap)
    cut = data.draw(st.integers(0, len(packed) - 1))

    with pytest.raises(DamagedError):
        decode(packed[:cut])


@given(st.binary(max_size=200))
def test_foreign_bytes_raise_the_error_that_says_so(data: bytes) -> None:
    with pytest.raises(DamagedError):
        decode(b"\1" + data)


def test_two_thousand_objects_take_less_than_ten_kilobytes() -> None:
    heap = PackedHeap(
        heap_id=bytes(8),
        call=700,
        numbers=range(2_000),
        tag_names=[f"tool_result:{n}" for n in range(20)],
        tag_places=[n * 7 % 20 for n in range(2_000)],
        tokens=[int.from_bytes(hashlib.sha256(b"%d" % n).digest()[:2]) % 3_000 for n in range(2_000)],
        refreshed=[(n, hashlib.sha256(b"%d" % n).digest()[:16]) for n in range(96)],
    )

    assert len(encode(heap)) < 10_000
