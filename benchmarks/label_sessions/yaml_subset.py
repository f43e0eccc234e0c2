"""Read the part of YAML in which HTTP cassettes are written.

Block mappings and sequences, flow `[]` and `{}` when empty, plain and quoted scalars over several
lines, literal and folded blocks. Anchors, tags and other flow collections are not read.
"""

from __future__ import annotations

import json
import re

_KEY = re.compile(r"""(?P<key>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s'"#\[{][^#]*?):(?=\s|$)[ ]*""")
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*)(?:\.\d*)?(?:[eE][-+]?\d+)?$")
_WORDS: dict[str, object] = {
    "null": None,
    "~": None,
    "": None,
    "true": True,
    "false": False,
    "[]": [],
    "{}": {},
}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r?\n[ \t]*|.)", re.S)
_ESCAPED = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "f": "\f",
    "v": "\v",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}


def read_yaml(content: str) -> object:
    """Return the first document as JSON values."""
    return _Reader(content.split("\n")).block(0)


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0

    def block(self, least: int) -> object:
        """Return the value that starts at the next line, if it is indented enough."""
        self._skip_blank()
        if self.at >= len(self.lines) or (indent := self._indent()) < least:
            return None
        line = self.lines[self.at][indent:]
        if line.startswith("- ") or line == "-":
            return self._sequence(indent)
        if _KEY.match(line):
            return self._mapping(indent)
        return self._scalar(line, indent)

    def _sequence(self, indent: int) -> list[object]:
        values: list[object] = []
        while self._here(indent) and self._rest(indent).startswith("-"):
            self.lines[self.at] = self.lines[self.at][:indent] + " " + self.lines[self.at][indent + 1 :]
            if not self.lines[self.at].strip():
                self.at += 1
            values.append(self.block(indent + 1))
        return values

    def _mapping(self, indent: int) -> dict[str, object]:
        values: dict[str, object] = {}
        while self._here(indent) and (match := _KEY.match(self._rest(indent))):
            key = str(_quoted(match["key"])) if match["key"][0] in "\"'" else match["key"]
            values[key] = self._value(self._rest(indent)[match.end() :], indent)
        return values

    def _value(self, rest: str, indent: int) -> object:
        if rest.startswith(("|", ">")):
            self.at += 1
            return self._literal(rest, indent)
        if rest:
            return self._scalar(rest, indent + 1)
        self.at += 1
        self._skip_blank()
        is_list = self._here(indent) and self._rest(indent).startswith("- ")
        return self.block(indent if is_list else indent + 1)

    def _literal(self, header: str, indent: int) -> str:
        taken: list[str] = []
        while self.at < len(self.lines) and (not self.lines[self.at].strip() or self._indent() > indent):
            taken.append(self.lines[self.at])
            self.at += 1
        given = re.search(r"\d", header)
        first = next((line for line in taken if line.strip()), "")
        depth = indent + int(given[0]) if given else len(first) - len(first.lstrip(" "))
        body = "\n".join(line[depth:] for line in taken)
        body = _folded(body) if header[0] == ">" else body
        if "+" in header:
            return body + "\n"
        return body.rstrip("\n") + ("" if "-" in header or not body.strip() else "\n")

    def _scalar(self, first: str, least: int) -> object:
        self.at += 1
        taken = [first]
        while self._goes_on("\n".join(taken), least):
            taken.append(self.lines[self.at].strip(" ") if first[0] not in "\"'" else self.lines[self.at])
            self.at += 1
        whole = "\n".join(taken).rstrip()
        return _quoted(whole) if first[0] in "\"'" else _plain(_folded(whole))

    def _goes_on(self, so_far: str, least: int) -> bool:
        if self.at >= len(self.lines):
            return False
        if so_far[0] in "\"'":
            return not _is_closed(so_far)
        following = next((k for k in range(self.at, len(self.lines)) if self.lines[k].strip()), None)
        if following is None:
            return False
        line = self.lines[following]
        return len(line) - len(line.lstrip(" ")) >= least

    def _here(self, indent: int) -> bool:
        self._skip_blank()
        return self.at < len(self.lines) and self._indent() == indent

    def _rest(self, indent: int) -> str:
        return self.lines[self.at][indent:]

    def _indent(self) -> int:
        line = self.lines[self.at]
        return len(line) - len(line.lstrip(" "))

    def _skip_blank(self) -> None:
        while self.at < len(self.lines) and (
            not (line := self.lines[self.at].strip()) or line.startswith("#") or line == "---"
        ):
            self.at += 1


def _is_closed(value: str) -> bool:
    value = value.rstrip()
    pattern = r'"(?:[^"\\]|\\.)*"$' if value[0] == '"' else r"'(?:[^']|'')*'$"
    return re.match(pattern, value, re.S) is not None


def _folded(value: str) -> str:
    return re.sub(r"[ \t]*\n[ \t]*(\n[ \t]*)*", lambda m: "\n" * (m[0].count("\n") - 1) or " ", value)


def _quoted(value: str) -> str:
    inner = value[1:-1]
    if value[0] == "'":
        return _folded(inner).replace("''", "'")
    # an escaped line end joins lines without a blank; it must not be folded first
    pieces = re.split(r"\\\n[ \t]*", inner)
    return "".join(_ESCAPE.sub(_unescape, _folded(piece)) for piece in pieces)


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPED.get(code, code)


def _plain(value: str) -> object:
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    if _NUMBER.match(value):
        return json.loads(value) if re.match(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$", value) else value
    return value
