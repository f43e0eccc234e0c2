"""Read the bytes of a transcript as UTF-8 lines, whatever they are packed or encoded in.

Gzip is recognised by its magic number and UTF-16 by its byte order mark, never by a file's name. What cannot
be rewound (standard input, a pipe) is spooled first: detection looks at the opening, then reading starts
over.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

MAX_LINE_BYTES = 256 << 20
SPOOL_MEMORY_BYTES = 16 << 20
BUFFER_BYTES = 1 << 20
REPORT_BYTES = 1 << 18

SPACE = b" \t\r\n\0"

_GZIP = b"\x1f\x8b"
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_OPENINGS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"{\0": "utf-16-le", b"\0{": "utf-16-be"}

PackedError = (OSError, EOFError, zlib.error)


@dataclass(frozen=True, slots=True)
class Line:
    """Hold one line without its newline. `data` is None when it is longer than `MAX_LINE_BYTES`."""

    number: int
    data: bytes | None
    is_terminated: bool


def spool(stream: IO[bytes]) -> IO[bytes]:
    """Copy a stream to memory, or to disk once it is large, so that it can be read twice."""
    # The caller keeps the spool open for as long as its Source lives.
    spooled = tempfile.SpooledTemporaryFile(max_size=SPOOL_MEMORY_BYTES)  # noqa: SIM115
    shutil.copyfileobj(stream, spooled, BUFFER_BYTES)
    spooled.seek(0)
    return spooled


def is_regular(path: Path) -> bool:
    """Say whether a path is a plain file, which can be read from the start again."""
    return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116


def is_pipe(path: Path) -> bool:
    """Say whether a path is a pipe or a socket, which somebody writes to and closes."""
    mode = os.stat(path).st_mode  # noqa: PTH116
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def unpack(raw: IO[bytes]) -> IO[bytes]:
    """Return a stream of UTF-8 bytes without a byte order mark over `raw`, which must be rewindable."""
    opening = raw.read(2)
    raw.seek(0)
    if opening != _GZIP:
        return _decoded(raw)
    # No larger buffer around it: where the stream breaks off, that would lose what it still gives.
    return _decoded(cast("IO[bytes]", gzip.GzipFile(fileobj=raw, mode="rb")))


def _decoded(stream: IO[bytes]) -> IO[bytes]:
    opening = stream.read(3)
    stream.seek(0)
    encoding = _UTF16_OPENINGS.get(opening[:2])
    if encoding is not None:
        # Whole at once: such files come from a shell's redirection and are small.
        return io.BytesIO(stream.read().decode(encoding, "replace").encode("utf-8", "replace"))
    if opening == _UTF8_BOM:
        stream.seek(3)
    return stream


def lines(stream: IO[bytes]) -> Iterator[Line]:
    """Yield every line that is not blank; of a line past the limit nothing but its number is kept.

    Blank stretches are passed by in whole chunks, so that they cost neither time nor memory.
    """
    number, size = 1, 0
    held: list[bytes] = []
    # One raw read at a time: where a packed stream breaks off, that loses nothing of what it still gives.
    while chunk := cast("io.BufferedIOBase", stream).read1(REPORT_BYTES):
        if not size and not chunk.strip(SPACE):
            number += chunk.count(b"\n")
            continue
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            if size or end:
                yield from _line(number, [*held, end], size + len(end), is_terminated=True)
                held, size = [], 0
            number += 1
        size += len(rest)
        held.append(rest)
        if size > MAX_LINE_BYTES:
            held.clear()
    yield from _line(number, held, size, is_terminated=False)


def _line(number: int, pieces: list[bytes], size: int, *, is_terminated: bool) -> Iterator[Line]:
    if size > MAX_LINE_BYTES:
        yield Line(number, None, is_terminated=True)
        return
    data = b"".join(pieces)
    if data.strip(SPACE):
        yield Line(number, data, is_terminated)


class Meter:
    """Report how many raw bytes were read since the last report, in steps that cost nothing."""

    def __init__(self, raw: IO[bytes], report: Callable[[int], None] | None) -> None:
        self._raw = raw
        self._report = report
        self._reported = 0
        self._pending = 0

    def note(self, count: int) -> None:
        """Take note of `count` unpacked bytes."""
        self._pending += count
        if self._pending >= REPORT_BYTES:
            self.flush()

    def flush(self) -> None:
        """Report what is still unreported."""
        self._pending = 0
        at = self._raw.tell()
        if self._report is not None and at > self._reported:
            self._report(at - self._reported)
            self._reported = at
