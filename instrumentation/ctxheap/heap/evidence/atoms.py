"""Cut texts into atoms: the identifiers, values, names and words that can be recognised again.

An atom is a string whose first letter is its class:

    i  id or hash      p  path (last two components)     d  date (month-day)
    e  e-mail          f  file name                      t  clock time
    u  URL             s  symbol (snake, camel, dotted)  v  version
    n  number          h  hyphenated word                c  code of 3-5 capitals
    w  word (stem)     z  pair of characters where words have no blanks between them
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from .words import STOP_WORDS, stem

CHUNK = re.compile(r"[\w$#@./~][\w.$#@/:+~%\-]*")
MEMO_CHUNKS = 50_000
"""Distinct chunks remembered; the memo starts anew when it is full."""
DATED_CHARS = 8_000
"""Length up to which a text is searched for dates and times written in words."""
LONGEST_CHUNK = 300

_ENDS = ".:-+/@~%"
_EMAIL = re.compile(r"[\w.+\-]+@[\w\-]+\.[\w.\-]+$")
_NUMBER = re.compile(r"\$?([-+]?\d+(?:\.\d+)?)[A-Za-z%]{0,3}$", re.A)
_DATE = re.compile(r"\d{4}-(\d\d)-(\d\d)(?:T(\d\d:\d\d).*)?$", re.A)
_TIME = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)(?::[0-5]\d)?(?:\+1)?$", re.A)
_VERSION = re.compile(r"v?(\d+(?:\.\d+){2,}[\w.\-]*)$", re.A)
_TAILED = re.compile(r"#?([A-Za-z][A-Za-z_\-]*?)[_\-](\d{5,})$", re.A)
_FILE = re.compile(r"[\w\-.]*[A-Za-z_\-]\.[A-Za-z][A-Za-z0-9]{0,4}$")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = f"({'|'.join(_MONTHS)})[a-z]*"
_SAID_DATE = re.compile(
    rf"\b{_MONTH}\.? (\d{{1,2}})(?:st|nd|rd|th)?\b|\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}\b",
    re.I | re.A,
)
_SAID_TIME = re.compile(r"\b(\d{1,2})(?::(\d\d))? ?([ap])\.?m\b", re.I | re.A)


class Reader:
    """Cut texts into atoms, classifying each distinct chunk once."""

    def __init__(self) -> None:
        self._memo = _Chunks()

    def atoms(self, text: str) -> frozenset[str]:
        """Return the atoms of a plain text."""
        chunks = set(CHUNK.findall(text))
        found = frozenset(chain.from_iterable(map(self._memo.__getitem__, chunks)))
        return found.union(_said(text)) if len(text) <= DATED_CHARS else found


class _Chunks(dict[str, tuple[str, ...]]):
    def __missing__(self, chunk: str) -> tuple[str, ...]:
        if len(self) >= MEMO_CHUNKS:
            self.clear()
        found = self[chunk] = tuple(dict.fromkeys(_classified(chunk)))
        return found


def _said(text: str) -> Iterator[str]:
    for match in _SAID_DATE.finditer(text):
        month = _MONTHS.index((match[1] or match[4]).lower()) + 1
        yield f"d{month:02}-{int(match[2] or match[3]):02}"
    for match in _SAID_TIME.finditer(text):
        hour = int(match[1]) % 12 + (12 if match[3] in "pP" else 0)
        yield f"t{hour:02}:{match[2] or '00'}"


def _classified(chunk: str) -> Iterator[str]:
    chunk = ("/" if chunk[0] == "/" else "") + chunk.strip(_ENDS)
    if not 0 < len(chunk) <= LONGEST_CHUNK:
        return
    if "@" in chunk and _EMAIL.match(chunk):
        yield "e" + chunk.lower()
    elif "://" in chunk:
        yield "u" + chunk.lower()
    elif match := _DATE.match(chunk):
        yield f"d{match[1]}-{match[2]}"
        if match[3]:
            yield "t" + match[3]
    elif match := _TIME.match(chunk):
        yield f"t{int(match[1]) % 24:02}:{match[2]}"
    elif ":" in chunk:
        yield from chain.from_iterable(_classified(piece) for piece in chunk.split(":") if piece)
    elif "/" in chunk:
        yield from _path(chunk)
    else:
        yield from _bare(chunk)


def _path(chunk: str) -> Iterator[str]:
    pieces = [piece for piece in chunk.split("/") if piece not in ("", ".", "..", "~")]
    if len(pieces) < 2:
        yield from chain.from_iterable(map(_bare, pieces))
        return
    yield "p" + "/".join(pieces[-2:]).lower()
    yield from _bare(pieces[-1])


def _bare(chunk: str) -> Iterator[str]:
    chunk = chunk.strip(_ENDS)
    if not chunk:
        return
    if match := _NUMBER.match(chunk):
        yield "n" + _canonical(match[1])
    elif match := _VERSION.match(chunk):
        yield "v" + match[1]
    elif _WIDE.search(chunk):
        yield from _wide(chunk)
    elif any(map(str.isdigit, chunk)) or chunk[0] == "#":
        yield from _id(chunk)
    else:
        yield from _name(chunk)


def _canonical(number: str) -> str:
    return f"{float(number):.10g}" if len(number) < 16 else number.lstrip("+")


def _wide(chunk: str) -> Iterator[str]:
    for run in _WIDE.findall(chunk):
        yield from ("z" + run[start : start + 2] for start in range(max(1, len(run) - 1)))
    yield from chain.from_iterable(map(_bare, _WIDE.sub(" ", chunk).split()))


def _id(chunk: str) -> Iterator[str]:
    lower = chunk.lower()
    if match := _TAILED.match(chunk):
        # people and tools name the same thing with and without its prefix: credit_card_4196779
        yield "n" + _canonical(match[2])
        yield from _words(match[1])
    elif chunk[0] == "#" or "-" in chunk:
        yield "i" + lower.lstrip("#")
    elif _FILE.match(chunk):
        yield "f" + lower
        yield from _words(chunk)
    else:
        is_symbol = "_" in chunk.strip("_") and not lower[-1].isdigit()
        yield ("s" if is_symbol else "i") + lower
        if "_" in chunk:
            yield from _words(chunk)


def _name(chunk: str) -> Iterator[str]:
    lower = chunk.lower()
    if _FILE.match(chunk) and lower not in ("e.g", "i.e"):
        yield "f" + lower
        yield from _words(chunk)
    elif "-" in chunk and "_" not in chunk and "." not in chunk:
        yield "h" + lower
        yield from _words(chunk)
    elif "_" in chunk or "." in chunk or _is_camel(chunk):
        yield from _symbol(chunk)
    else:
        if chunk.isupper() and 3 <= len(chunk) <= 5:
            yield "c" + chunk
        yield from _word(lower)


def _is_camel(chunk: str) -> bool:
    return not (chunk.islower() or chunk.isupper() or chunk[1:].islower())


def _symbol(chunk: str) -> Iterator[str]:
    whole = chunk.strip("_").lower()
    if len(whole) > 2:
        yield "s" + whole
    for piece in chunk.split(".") if "." in chunk else ():
        if "_" in piece.strip("_") or _is_camel(piece):
            yield "s" + piece.strip("_").lower()
    yield from _words(chunk)


def _words(chunk: str) -> Iterator[str]:
    pieces = _PIECE.findall(chunk)
    yield from chain.from_iterable(_word(piece.lower()) for piece in pieces if len(piece) > 2)


def _word(lower: str) -> Iterator[str]:
    if len(lower) > 1 and lower not in STOP_WORDS:
        yield "w" + stem(lower)
