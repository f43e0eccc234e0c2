"""Open transcripts as streams of JSON values, so that a format's reader sees values and never bytes.

    paths ──expand──▶ Found ──Source──▶ head()       a bounded look at the opening, for detection
                                        records()    one value a line (JSON Lines)
                                        documents()  one value a file (JSON)

Nothing that is wrong with one line or file ends the reading: it is listed in `Source.skipped` with its
reason.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ctxheap_collector.transcripts import source_bytes, source_values
from ctxheap_collector.transcripts.source_paths import Found, expand

__all__ = ["STDIN", "Found", "Head", "Skipped", "Source", "Unreadable", "counted", "expand"]

STDIN = Path("-")
HEAD_RECORDS = 20
HEAD_BYTES = 8 << 20
HEAD_TEXT_BYTES = 64 << 10
MAX_DOCUMENT_BYTES = 1 << 30


class Unreadable(Exception):  # noqa: N818 - it names a state of the input, as messages to people do
    """Say that an input cannot be read: which one, what was looked for, and what would help."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Name one thing that was left out. `line` counts from 1; 0 means the whole file."""

    line: int
    reason: str


@dataclass(slots=True)
class Head:
    """Hold the opening of a source.

    Attributes:
        records: The first values of JSON Lines, at most `HEAD_RECORDS`; a one-line file's value too.
        document: The value when the whole file is one JSON value, else None.
        text: The first 64 KB as text; nothing else is there when no value opens in the first 8 MB.
        is_cut: Whether the document was nested too deeply to keep the whole of it.
    """

    records: list[object] = field(default_factory=list[object])
    document: object | None = None
    text: str = ""
    is_cut: bool = False


class Source:
    """Read one transcript: a file, standard input, or several files that belong together.

    Attributes:
        name: What messages to people call it.
        files: The files in reading order; `STDIN` for standard input.
        skipped: What was left out so far, with reasons; complete once reading is.
        on_bytes: Called with the raw bytes read since the last call, for progress bars.
    """

    def __init__(
        self,
        name: str,
        files: tuple[Path, ...],
        *,
        stdin: IO[bytes] | None = None,
        on_bytes: Callable[[int], None] | None = None,
    ) -> None:
        self.name = name
        self.files = files
        self.skipped: list[Skipped] = []
        self.on_bytes = on_bytes
        self._stdin = stdin
        self._spools: dict[Path, IO[bytes]] = {}
        self._head: Head | None = None

    @classmethod
    def of(cls, path: Path | str, *, on_bytes: Callable[[int], None] | None = None) -> Source:
        """Return the source of one file; `-` is standard input."""
        name = "standard input" if str(path) == "-" else str(path)
        return cls(name, (Path(path),), on_bytes=on_bytes)

    def skip(self, line: int, reason: str) -> None:
        """List something that is left out of the reading."""
        self.skipped.append(Skipped(line, reason))

    def joined(self, files: tuple[Path, ...], name: str) -> Source:
        """Return one source over more files that starts from what this one has already parsed."""
        whole = Source(name, files, stdin=self._stdin, on_bytes=self.on_bytes)
        whole._spools = self._spools
        whole._head = self._head
        return whole

    def close(self) -> None:
        """Let go of spooled input; plain files are never held open."""
        for spooled in self._spools.values():
            spooled.close()

    def head(self) -> Head:
        """Return the opening of the first file; read once, then remembered.

        Raises:
            Unreadable: The file is missing, a folder, not permitted, or broken before its first value.
        """
        if self._head is None:
            self._head = self._read_head(self.files[0])
        return self._head

    def records(self) -> Iterator[tuple[int, object]]:
        """Yield line number and value of every line, of all files in turn."""
        for path in self.files:
            with self._opened(path) as raw:
                yield from self._file_records(path, raw)

    def documents(self) -> Iterator[tuple[Path, object]]:
        """Yield path and value of every whole-JSON file in turn; what `head` parsed is not parsed again."""
        for path in self.files:
            document = self._take_document(path)
            if document is not None:
                yield path, document

    def contents(self) -> Iterator[tuple[Path, bytes]]:
        """Yield path and whole content of every file in turn, for formats that are no JSON."""
        for path in self.files:
            with self._opened(path) as raw:
                meter = source_bytes.Meter(raw, self.on_bytes)
                try:
                    data = _read_whole(source_bytes.unpack(raw))
                except (ValueError, *source_bytes.PackedError) as error:
                    self.skip(0, self._in(path, f"cannot be read: {error}"))
                    continue
                finally:
                    meter.flush()
            yield path, data

    def _take_document(self, path: Path) -> object | None:
        head = self._head
        if path == self.files[0] and head is not None and head.document is not None:
            document, head.document = head.document, None
            self._note_cut(head.is_cut, 0, path)
            # The value may be as large as the file: whoever reads it now is its only owner.
            self._head = None
            return document
        with self._opened(path) as raw:
            return self._parse_document(path, raw)

    def _parse_document(self, path: Path, raw: IO[bytes]) -> object | None:
        meter = source_bytes.Meter(raw, self.on_bytes)
        try:
            parsed = source_values.parse(_read_whole(source_bytes.unpack(raw)))
        except (ValueError, *source_bytes.PackedError) as error:
            self.skip(0, self._in(path, f"not one JSON value: {error}"))
            return None
        finally:
            meter.flush()
        self._note_cut(parsed.is_cut, 0, path)
        if len(parsed.values) != 1:
            self.skip(0, self._in(path, f"{len(parsed.values)} JSON values where one was expected"))
        return parsed.values[0] if parsed.values else None

    def _file_records(self, path: Path, raw: IO[bytes]) -> Iterator[tuple[int, object]]:
        meter = source_bytes.Meter(raw, self.on_bytes)
        number = 0
        try:
            for line in source_bytes.lines(source_bytes.unpack(raw)):
                number = line.number
                meter.note(len(line.data or b""))
                for value in self._line_values(path, line):
                    yield number, value
        except source_bytes.PackedError as error:
            self.skip(number + 1, self._in(path, f"cannot be read further: {error}"))
        meter.flush()

    def _line_values(self, path: Path, line: source_bytes.Line) -> list[object]:
        if line.data is None:
            self.skip(line.number, self._in(path, f"line over {source_bytes.MAX_LINE_BYTES >> 20} MB"))
            return []
        try:
            parsed = source_values.parse(line.data)
        except ValueError as error:
            reason = f"not JSON: {error}" if line.is_terminated else "truncated"
            self.skip(line.number, self._in(path, reason))
            return []
        self._note_cut(parsed.is_cut, line.number, path)
        return parsed.values

    def _note_cut(self, is_cut: bool, line: int, path: Path) -> None:
        if is_cut:
            self.skip(line, self._in(path, f"nested deeper than {source_values.MAX_DEPTH}: cut off there"))

    def _read_head(self, path: Path) -> Head:
        with self._opened(path) as raw:
            try:
                text = _opening(source_bytes.unpack(raw))
                raw.seek(0)
                if len(text) > HEAD_TEXT_BYTES:
                    return Head(text=text[:HEAD_TEXT_BYTES].decode("utf-8", "replace"))
                head, bad_first = _first_records(source_bytes.unpack(raw))
                raw.seek(0)
                head.text = text.decode("utf-8", "replace")
                if bad_first and text.lstrip(source_bytes.SPACE)[:1] in (b"{", b"["):
                    self._parse_head_document(head, raw)
            except source_bytes.PackedError as error:
                raise Unreadable(f"{self.name}: cannot be read ({error})") from error
        return head

    def _parse_head_document(self, head: Head, raw: IO[bytes]) -> None:
        """Take the whole file for one JSON value, if it is one."""
        meter = source_bytes.Meter(raw, self.on_bytes)
        try:
            parsed = source_values.parse(_read_whole(source_bytes.unpack(raw)))
        except ValueError:
            return
        if len(parsed.values) == 1:
            meter.flush()
            head.document, head.is_cut = parsed.values[0], parsed.is_cut
            head.records = []

    def _in(self, path: Path, reason: str) -> str:
        return reason if len(self.files) == 1 else f"{path.name}: {reason}"

    @contextlib.contextmanager
    def _opened(self, path: Path) -> Generator[IO[bytes]]:
        """Open a file at its start; keep spools of what cannot be opened twice."""
        try:
            spooled = self._spooled(path)
            raw = spooled or path.open("rb", buffering=source_bytes.BUFFER_BYTES)
        except OSError as error:
            raise Unreadable(f"{self.name}: {error.strerror or error}") from error
        raw.seek(0)
        try:
            yield raw
        finally:
            if spooled is None:
                raw.close()

    def _spooled(self, path: Path) -> IO[bytes] | None:
        if path not in self._spools:
            if path == STDIN:
                self._spools[path] = source_bytes.spool(self._stdin or sys.stdin.buffer)
            elif path.is_dir() or source_bytes.is_regular(path):
                return None
            elif not source_bytes.is_pipe(path):
                raise Unreadable(f"{self.name}: a device, which may never end; give a file or a pipe")
            else:
                with path.open("rb") as pipe:
                    self._spools[path] = source_bytes.spool(pipe)
        return self._spools[path]


def counted(count: int, one: str, many: str) -> str:
    """Return a count with the words that fit it: "1 line stands", "2 lines stand"."""
    return f"{count} {one if count == 1 else many}"


def _read_whole(stream: IO[bytes]) -> bytes:
    data = stream.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise ValueError(f"larger than {MAX_DOCUMENT_BYTES >> 30} GB")
    return data


def _opening(stream: IO[bytes]) -> bytes:
    """Return the first `HEAD_TEXT_BYTES`; more, if no JSON value opens within `HEAD_BYTES` either."""
    text = stream.read(HEAD_TEXT_BYTES)
    if len(text) < HEAD_TEXT_BYTES or b"{" in text or b"[" in text:
        return text
    more = stream.read(HEAD_BYTES)
    is_hopeless = len(more) == HEAD_BYTES and b"{" not in more and b"[" not in more
    return text + more if is_hopeless else text


def _first_records(stream: IO[bytes]) -> tuple[Head, bool]:
    """Return a head of the first values, and whether the very first line is none."""
    head = Head()
    bad_first = False
    seen = size = 0
    for line in source_bytes.lines(stream):
        data = line.data or b""
        size += len(data)
        if len(head.records) >= HEAD_RECORDS or (seen and size > HEAD_BYTES):
            return head, bad_first
        seen += 1
        try:
            parsed = source_values.parse(data)
        except ValueError:
            bad_first = bad_first or seen == 1
            if bad_first and seen >= HEAD_RECORDS:
                return head, bad_first
        else:
            head.records += parsed.values
            head.is_cut = parsed.is_cut
    if seen == len(head.records) == 1:
        head.document = head.records[0]
    return head, bad_first
