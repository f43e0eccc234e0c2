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
from collections.abc import Iterable, Iterator
from itertools import chain

from .words import COMMONPLACE, STOP_WORDS, stem

_CHUNK = re.compile(r"[\w$#@./~][\w.$#@/:+~%\-]*")
# cutting at these takes half the time of searching for chunks with the expression above
_CUTS = str.maketrans(dict.fromkeys("\"'`(){}[]<>,;=|&*?!\\^\u2014\u2013\u2026\u2019\u201c\u201d", " "))
MEMO_CHUNKS = 40_000
"""Distinct chunks remembered in each of two generations."""
DATED_CHARS = 8_000
"""Length up to which a text is searched for dates and times written in words."""
LONGEST_CHUNK = 300
LONG_CHARS = 1_000
LONG_TEXTS = 64
"""Long texts whose atoms are remembered, the least recently met going first."""

SHORT_CHARS = 3
"""Numbers of so few characters are met again and again: they are remembered."""

_ENDS = ".:-+/@~%"
_DIGITS = "0123456789"
_SPECIAL = "$v"
_NUMERIC = _DIGITS + _SPECIAL
_EMAIL = re.compile(r"[\w.+\-]+@[\w\-]+\.[\w.\-]+$")
_NUMBER = re.compile(r"\$?([-+]?\d+(?:\.\d+)?)[A-Za-z%]{0,3}$", re.A)
_DATE = re.compile(r"\d{4}-(\d\d)-(\d\d)(?:T(\d\d:\d\d).*)?$", re.A)
_TIME = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)(?::[0-5]\d)?(?:\+1|[ap]m)?$", re.A | re.I)
_DIGIT = re.compile(r"\d", re.A)
_VERSION = re.compile(r"v?(\d+(?:\.\d+){2,}[\w.\-]*)$", re.A)
_TAILED = re.compile(r"#?([A-Za-z][A-Za-z_\-]*?)_(\d{5,})$", re.A)
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
_LONG_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "sept",
    "september",
    "october",
    "november",
    "december",
]
# searching every text for dates would cost as much as all the rest, so these words decide first
_CLOCK_WORDS = frozenset(("am", "pm", "a.m", "p.m", "AM", "PM", "a.m.", "p.m."))
_DATE_WORDS = frozenset(
    form for month in (*_MONTHS, *_LONG_MONTHS) for form in (month, month.title(), month.title() + ".")
)


class Reader:
    """Cut texts into atoms, classifying each distinct chunk once."""

    def __init__(self) -> None:
        self._memo = _Chunks()
        self._texts: dict[str, frozenset[str]] = {}

    def atoms(self, text: str) -> frozenset[str]:
        """Return the atoms of a plain text."""
        if len(text) < LONG_CHARS:
            return self._atoms(text)
        # agents read the same files again and again
        found = self._texts.pop(text, None)
        if found is None:
            found = self._atoms(text)
        self._texts[text] = found
        if len(self._texts) > LONG_TEXTS:
            del self._texts[next(iter(self._texts))]
        return found

    def _atoms(self, text: str) -> frozenset[str]:
        chunks = set(text.translate(_CUTS).split())
        found = frozenset(chain.from_iterable(map(self._memo.__getitem__, chunks)))
        if chunks.isdisjoint(_DATE_WORDS) and chunks.isdisjoint(_CLOCK_WORDS):
            return found
        return found.union(_said(text)) if len(text) <= DATED_CHARS else found


class _Chunks(dict[str, tuple[str, ...]]):
    """Keep two generations: ids that come once go with the old one, words move on to the new."""

    def __init__(self) -> None:
        super().__init__()
        self._old: dict[str, tuple[str, ...]] = {}

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        found = _id_or_number(chunk)
        if found:
            # seldom met again, and cheaper to cut anew than to find among many: kept out
            return (found,)
        known = self._old.get(chunk)
        if known is None:
            known = _classified(chunk)
        if len(self) >= MEMO_CHUNKS:
            self._old = dict(self)
            self.clear()
        self[chunk] = known
        return known


def _id_or_number(chunk: str) -> str:
    """Return the atom of a chunk like SKU12345, ORD-0001-07, 4196779 or 123.45, "" for all others.

    It only saves time: `_classified` says the same of these.
    """
    if chunk[-1] not in _DIGITS or chunk[0] in _SPECIAL or len(chunk) > LONGEST_CHUNK or not chunk.isascii():
        return ""
    if chunk[0] in _DIGITS:
        is_number = len(chunk) > SHORT_CHARS and chunk.replace(".", "", 1).isdigit()
        return "n" + _canonical(chunk) if is_number else ""
    return "i" + chunk.lower() if chunk[0].isalpha() and chunk.replace("-", "").isalnum() else ""


def _said(text: str) -> Iterator[str]:
    for match in _SAID_DATE.finditer(text):
        month = _MONTHS.index((match[1] or match[4]).lower()) + 1
        yield f"d{month:02}-{int(match[2] or match[3]):02}"
    for match in _SAID_TIME.finditer(text):
        yield _clock(match)


def _clock(match: re.Match[str]) -> str:
    hour = int(match[1]) % 12 + (12 if match[3] in "pP" else 0)
    return f"t{hour:02}:{match[2] or '00'}"


def _classified(chunk: str) -> tuple[str, ...]:
    if not chunk.isascii():
        pieces = _CHUNK.findall(chunk)
        if pieces != [chunk]:
            return _all(map(_classified, pieces))
    elif chunk.isalnum():
        return _alphanumeric(chunk)
    elif chunk[0].isdigit() and chunk.replace(".", "", 1).isdigit():
        return ("n" + _canonical(chunk),)
    chunk = ("/" if chunk[0] == "/" else "") + chunk.strip(_ENDS)
    return _trimmed(chunk) if 0 < len(chunk) <= LONGEST_CHUNK else ()


def _alphanumeric(chunk: str) -> tuple[str, ...]:
    if len(chunk) > LONGEST_CHUNK:
        return ()
    if chunk.isalpha():
        return _plain_word(chunk)
    if chunk.isdigit():
        return ("n" + _canonical(chunk),)
    return _with_digit(chunk) if chunk[0] in _NUMERIC else ("i" + chunk.lower(),)


def _trimmed(chunk: str) -> tuple[str, ...]:
    if "@" in chunk and _EMAIL.match(chunk):
        return ("e" + chunk.lower(),)
    if ":" in chunk:
        return _with_colon(chunk)
    if "/" in chunk:
        return _path(chunk)
    return _bare(chunk)


def _plain_word(chunk: str) -> tuple[str, ...]:
    if not (chunk.islower() or chunk.isupper() or chunk[1:].islower()):
        return _symbol(chunk)
    if chunk.isupper() and 3 <= len(chunk) <= 5:
        return ("c" + chunk, *_word(chunk.lower()))
    return _word(chunk.lower())


def _with_colon(chunk: str) -> tuple[str, ...]:
    if "://" in chunk:
        return ("u" + chunk.lower(),)
    if (match := _DATE.match(chunk)) and match[3]:
        return (f"d{match[1]}-{match[2]}", "t" + match[3])
    if match := _SAID_TIME.fullmatch(chunk):
        return (_clock(match),)
    if match := _TIME.match(chunk):
        return (f"t{int(match[1]) % 24:02}:{match[2]}",)
    return _all(_classified(piece) for piece in chunk.split(":") if piece)


def _all(found: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def _path(chunk: str) -> tuple[str, ...]:
    pieces = [piece for piece in chunk.split("/") if piece not in ("", ".", "..", "~")]
    if len(pieces) < 2:
        return _all(map(_bare, pieces))
    return ("p" + "/".join(pieces[-2:]).lower(), *_bare(pieces[-1]))


def _bare(chunk: str) -> tuple[str, ...]:
    chunk = chunk.strip(_ENDS)
    if chunk.isascii():
        if chunk.isalpha():
            return _plain_word(chunk)
        if _DIGIT.search(chunk):
            return _with_digit(chunk)
    elif _WIDE.search(chunk):
        return _wide(chunk)
    return _name(chunk) if chunk else ()


def _with_digit(chunk: str) -> tuple[str, ...]:
    if chunk[0] not in _NUMERIC:
        return _id(chunk)
    if match := _NUMBER.match(chunk):
        if clock := _SAID_TIME.fullmatch(chunk):
            return (_clock(clock),)
        return ("n" + _canonical(match[1]),)
    if match := _DATE.match(chunk):
        return (f"d{match[1]}-{match[2]}",)
    if match := _VERSION.match(chunk):
        return ("v" + match[1],)
    return _id(chunk)


def _canonical(number: str) -> str:
    if len(number) < 10 and number[0] in "123456789" and (number[-1] not in "0." or number.isdigit()):
        return number
    return f"{float(number):.10g}" if len(number) < 16 else number.lstrip("+")


def _wide(chunk: str) -> tuple[str, ...]:
    pairs = [
        "z" + run[start : start + 2] for run in _WIDE.findall(chunk) for start in range(max(1, len(run) - 1))
    ]
    return (*dict.fromkeys(pairs), *_all(map(_bare, _WIDE.sub(" ", chunk).split())))


def _id(chunk: str) -> tuple[str, ...]:
    lower = chunk.lower()
    if "_" in chunk and (match := _TAILED.match(chunk)):
        # people and tools name the same thing with and without its prefix: credit_card_4196779
        return ("n" + _canonical(match[2]), *_words(match[1]))
    if chunk[0] == "#" or "-" in chunk:
        return ("i" + lower.lstrip("#"),)
    if "." in chunk and _FILE.match(chunk):
        return ("f" + lower, *_words(chunk))
    if "_" not in chunk:
        return ("i" + lower,)
    is_symbol = "_" in chunk.strip("_") and not lower[-1].isdigit()
    return (("s" if is_symbol else "i") + lower, *_words(chunk))


def _name(chunk: str) -> tuple[str, ...]:
    lower = chunk.lower()
    if "." in chunk and _FILE.match(chunk) and lower not in ("e.g", "i.e"):
        return ("f" + lower, *_words(chunk))
    if "-" in chunk and "_" not in chunk and "." not in chunk:
        return ("h" + lower, *_words(chunk))
    if "_" in chunk or "." in chunk or _is_camel(chunk):
        return _symbol(chunk)
    return _word(lower)


def _is_camel(chunk: str) -> bool:
    return not (chunk.islower() or chunk.isupper() or chunk[1:].islower())


def _symbol(chunk: str) -> tuple[str, ...]:
    whole = chunk.strip("_").lower()
    found = ["s" + whole] if len(whole) > 2 else []
    pieces = [piece.strip("_") for piece in chunk.split(".")] if "." in chunk else []
    found += ["s" + piece.lower() for piece in pieces if "_" in piece or _is_camel(piece)]
    return tuple(dict.fromkeys((*found, *_words(chunk))))


def _words(chunk: str) -> tuple[str, ...]:
    return _all(_word(piece.lower()) for piece in _PIECE.findall(chunk) if len(piece) > 2)


def _word(lower: str) -> tuple[str, ...]:
    if len(lower) < 2 or lower in STOP_WORDS:
        return ()
    found = stem(lower)
    return () if found in COMMONPLACE else ("w" + found,)
