"""Pack the heap of one call into the bytes of the span attribute `ctxheap.heap`, and read it back.

    byte 0     version
    then       zlib of: counts and usage as varints | tags | object numbers as runs | tag of each object
               | tokens of each object | births | refreshed identities | uses | supersessions | revivals

Objects are named by numbers that hold within one `heap_id` (a session in one process). The identity of
an object travels with its birth; since spans get lost, every call also repeats the identities of some
older objects, in turn, so that a reader that missed a birth learns it soon.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

VERSION = 1
MAX_BYTES = 64 * 1024 * 1024
_LEVEL = 1
_KINDS = ("text", "reasoning", "tool_call", "tool_result", "tool_definition", "media", "hidden")
_RULES = ("quote", "handle", "argument", "answer", "request")
_REASONS = (
    "superseded", "duplicate", "invalidated", "edit_done", "echo_done", "plan_replaced", "handed_over",
)  # fmt: skip
_PINNED, _ERROR, _KNOWN = 1, 2, 4
_EXTENDS, _EXACT, _USAGE, _INCOMPLETE, _COMPACTED = 1, 2, 4, 8, 16
_IDENTITY_BYTES = 16
_SCORE_SCALE = 256

Classes = tuple[int, int, int, int, int, int]


class DamagedError(ValueError):
    """Say that bytes are no packed heap, or one that this version cannot read."""


@dataclass(frozen=True, slots=True)
class Birth:
    """Hold an object that is new at a call.

    Attributes:
        number: Its number within the heap id.
        identity: 16 bytes, keyed where the sender has a key.
        kind: As `ctxheap.heap.Part.kind`.
        occurrence: 1, or more for equal contents in one prompt.
        tokens: Raw count, before it was fitted to what was billed.
        answers: Number of the tool call that this tool result answers.
        name: What a person would call it, "" unless content is captured.
        preview: The beginning of its text, "" unless content is captured.
    """

    number: int
    identity: bytes
    kind: str
    occurrence: int = 1
    tokens: int = 0
    answers: int | None = None
    is_pinned: bool = False
    is_error: bool = False
    is_known: bool = False
    name: str = ""
    preview: str = ""


@dataclass(frozen=True, slots=True)
class Used:
    """Say that the output of the call used an object; `score` is in log-odds, to 1/256."""

    number: int
    rule: str
    score: float
    is_probable: bool = False


@dataclass(frozen=True, slots=True)
class Dead:
    """Say that an object is surely dead from this call on, because of object `by`."""

    number: int
    by: int
    reason: str


@dataclass(frozen=True, slots=True)
class PackedHeap:
    """Hold what one call's prompt consists of, without content.

    Attributes:
        heap_id: 8 bytes that numbers hold within.
        call: Number of the call within the heap id, from 1.
        usage: uncached, cache_read, cache_write_5m, cache_write_1h, output, reasoning; None if unknown.
        numbers: Objects in prompt order.
        tags: Tag of each of them.
        tokens: Billed tokens of each; with `framing` and `unattributed` they add up to the input.
        refreshed: Identities of older objects, by number.
        extends: Whether the whole prompt of the call before stands unchanged in front.
        is_exact: Whether the tokenizer is the model's own.
    """

    heap_id: bytes
    call: int
    numbers: Sequence[int]
    tags: Sequence[str]
    tokens: Sequence[int]
    framing: int = 0
    unattributed: int = 0
    usage: Classes | None = None
    births: Sequence[Birth] = ()
    refreshed: Sequence[tuple[int, bytes]] = ()
    uses: Sequence[Used] = ()
    dead: Sequence[Dead] = ()
    revived: Sequence[int] = ()
    extends: bool = True
    is_exact: bool = True
    is_incomplete: bool = False
    is_compacted: bool = False


def encode(heap: PackedHeap) -> bytes:
    """Return the packed form; about 3 bytes an object before compression."""
    out = _Writer()
    out.raw(heap.heap_id)
    out.number(heap.call)
    flags = (
        _EXTENDS * heap.extends
        | _EXACT * heap.is_exact
        | _USAGE * (heap.usage is not None)
        | _INCOMPLETE * heap.is_incomplete
        | _COMPACTED * heap.is_compacted
    )
    out.number(flags)
    out.numbers(heap.usage or ())
    out.number(heap.framing)
    out.signed(heap.unattributed)
    tags = list(dict.fromkeys(heap.tags))
    place = {tag: index for index, tag in enumerate(tags)}
    out.number(len(tags))
    for tag in tags:
        out.text(tag)
    out.runs(heap.numbers)
    out.column([place[tag] for tag in heap.tags])
    out.column(heap.tokens)
    out.number(len(heap.births))
    for birth in heap.births:
        _put_birth(out, birth)
    out.number(len(heap.refreshed))
    for number, identity in heap.refreshed:
        out.number(number)
        out.raw(identity)
    out.number(len(heap.uses))
    for use in heap.uses:
        out.numbers((use.number, 2 * _RULES.index(use.rule) + use.is_probable))
        out.signed(round(use.score * _SCORE_SCALE))
    out.number(len(heap.dead))
    for dead in heap.dead:
        out.numbers((dead.number, dead.by, _REASONS.index(dead.reason)))
    out.number(len(heap.revived))
    out.numbers(heap.revived)
    return bytes((VERSION,)) + zlib.compress(bytes(out.data), _LEVEL)


def _put_birth(out: _Writer, birth: Birth) -> None:
    out.number(birth.number)
    out.raw(birth.identity)
    flags = _PINNED * birth.is_pinned | _ERROR * birth.is_error | _KNOWN * birth.is_known
    answers = 0 if birth.answers is None else birth.answers + 1
    out.numbers((_KINDS.index(birth.kind), flags, birth.occurrence, birth.tokens, answers))
    out.text(birth.name)
    out.text(birth.preview)


def decode(data: bytes) -> PackedHeap:
    """Return what `encode` packed.

    Raises:
        DamagedError: The bytes are cut, changed, or of a newer version.
    """
    if data[:1] != bytes((VERSION,)):
        raise DamagedError(f"unknown version {data[:1].hex() or 'of nothing'}")
    try:
        unpacking = zlib.decompressobj()
        body = unpacking.decompress(data[1:], MAX_BYTES)
        if unpacking.unconsumed_tail or not unpacking.eof:
            raise DamagedError("cut short, or larger than any heap")
        return _take_heap(_Reader(body))
    except (zlib.error, IndexError, UnicodeDecodeError) as error:
        raise DamagedError(str(error)) from error


def _take_heap(read: _Reader) -> PackedHeap:
    heap_id, call, flags = read.raw(8), read.number(), read.number()
    usage = read.usage() if flags & _USAGE else None
    framing, unattributed = read.number(), read.signed()
    tags = [read.text() for _ in range(read.count())]
    numbers = read.runs()
    return PackedHeap(
        heap_id=heap_id,
        call=call,
        numbers=numbers,
        tags=[tags[place] for place in read.column(len(numbers))],
        tokens=read.column(len(numbers)),
        framing=framing,
        unattributed=unattributed,
        usage=usage,
        births=[_take_birth(read) for _ in range(read.count())],
        refreshed=[(read.number(), read.raw(_IDENTITY_BYTES)) for _ in range(read.count())],
        uses=[_take_use(read) for _ in range(read.count())],
        dead=[Dead(read.number(), read.number(), _REASONS[read.number()]) for _ in range(read.count())],
        revived=[read.number() for _ in range(read.count())],
        extends=bool(flags & _EXTENDS),
        is_exact=bool(flags & _EXACT),
        is_incomplete=bool(flags & _INCOMPLETE),
        is_compacted=bool(flags & _COMPACTED),
    )


def _take_birth(read: _Reader) -> Birth:
    number, identity, kind, flags = (
        read.number(),
        read.raw(_IDENTITY_BYTES),
        _KINDS[read.number()],
        read.number(),
    )
    occurrence, tokens, answers = read.number(), read.number(), read.number()
    return Birth(
        number=number,
        identity=identity,
        kind=kind,
        occurrence=occurrence,
        tokens=tokens,
        answers=answers - 1 if answers else None,
        is_pinned=bool(flags & _PINNED),
        is_error=bool(flags & _ERROR),
        is_known=bool(flags & _KNOWN),
        name=read.text(),
        preview=read.text(),
    )


def _take_use(read: _Reader) -> Used:
    number, coded, score = read.number(), read.number(), read.signed()
    return Used(number, _RULES[coded // 2], score / _SCORE_SCALE, bool(coded % 2))


@dataclass(slots=True)
class _Writer:
    data: bytearray = field(default_factory=bytearray)

    def raw(self, value: bytes) -> None:
        self.data += value

    def number(self, value: int) -> None:
        """Append a whole number from 0 as a varint."""
        while value > 127:
            self.data.append(value & 127 | 128)
            value >>= 7
        self.data.append(value)

    def numbers(self, values: Iterable[int]) -> None:
        for value in values:
            self.number(value)

    def signed(self, value: int) -> None:
        self.number(2 * value if value >= 0 else -2 * value - 1)

    def text(self, value: str) -> None:
        encoded = value.encode("utf-8", "replace")
        self.number(len(encoded))
        self.data += encoded

    def runs(self, values: Sequence[int]) -> None:
        """Append numbers as (start, length) of their rising runs: most prompts are a few."""
        starts = [0, *(i for i in range(1, len(values)) if values[i] != values[i - 1] + 1)] if values else []
        self.number(len(starts))
        for start, end in zip(starts, [*starts[1:], len(values)], strict=True):
            self.numbers((values[start], end - start))

    def column(self, values: Sequence[int]) -> None:
        """Append one fixed-width number a row, little-endian, of the least width that fits."""
        code = next(code for code, bits in _WIDTHS.items() if max(values, default=0) < 1 << bits)
        column = array(code, values)
        if sys.byteorder == "big":
            column.byteswap()
        self.data.append(ord(code))
        self.data += column.tobytes()


_WIDTHS = {"B": 8, "H": 16, "I": 32, "Q": 64}


@dataclass(slots=True)
class _Reader:
    data: bytes
    at: int = 0

    def raw(self, length: int) -> bytes:
        if self.at + length > len(self.data):
            raise IndexError("cut short")
        self.at += length
        return self.data[self.at - length : self.at]

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise IndexError("a number too large")

    def usage(self) -> Classes:
        take = self.number
        return take(), take(), take(), take(), take(), take()

    def count(self) -> int:
        """Return how many entries follow; each takes at least a byte."""
        count = self.number()
        if count > len(self.data) - self.at:
            raise IndexError("cut short")
        return count

    def signed(self) -> int:
        value = self.number()
        return value // 2 if value % 2 == 0 else -(value + 1) // 2

    def text(self) -> str:
        return self.raw(self.number()).decode()

    def runs(self) -> list[int]:
        return [number for start, length in self._runs() for number in range(start, start + length)]

    def _runs(self) -> Iterator[tuple[int, int]]:
        total = 0
        for _ in range(self.count()):
            start, length = self.number(), self.number()
            total += length
            if total > MAX_BYTES:
                raise IndexError("more objects than any heap has")
            yield start, length

    def column(self, rows: int) -> Sequence[int]:
        code = chr(self.raw(1)[0])
        if code not in _WIDTHS:
            raise IndexError("unknown width")
        column = array(code)
        column.frombytes(self.raw(rows * _WIDTHS[code] // 8))
        if sys.byteorder == "big":
            column.byteswap()
        return column.tolist()
