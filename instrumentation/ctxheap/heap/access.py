"""Describe one access to a resource, and how the line ranges of two accesses relate (SPEC 5.2).

A range is a pair of 1-based lines, both ends included. None is the whole resource; a range below
zero counts from the end, as `tail` does, so that (-20, -1) is the last twenty lines.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import Literal

Action = Literal["read", "write", "list", "search"]
Range = tuple[int, int]

LAST_LINE = 1 << 31  # an end that is not known but is the end
EVERYTHING = "*"  # the resource of a write that takes back what the session wrote, wherever
OPEN_FILE = ""  # the resource of a call that works on the file opened before
PLAN = "plan"  # the resource of a plan or todo list
FACTS = "facts "  # how the detail of a search begins that says what the text does not: a checksum, a count
ANCHOR_CHARS = 200

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


@dataclass(frozen=True, slots=True)
class Access:
    """Hold what one tool call does to one resource.

    Attributes:
        action: What is done. A `search` shows some lines of its resource, nobody knows which.
        resource: Normalised path or URL; the tool's own name where no resource is known.
        range: The lines, None for all of it.
        detail: What else has to be equal for two accesses to be a repetition: the pattern of a
            search, the arguments of a tool without a known resource.
        before: The longest line of the text that a write replaces, "" when unknown.
        after: The longest line of the text that it puts there, "" when unknown or the whole.
        opens: Whether later calls that name no file work on this one.
        starts: Whether it starts something that goes on, so that doing it again repeats nothing.
        old: The whole text that a write replaces, "" when unknown; `new` what it puts there.
    """

    action: Action
    resource: str
    range: Range | None = None
    detail: str = ""
    before: str = ""
    after: str = ""
    opens: bool = False
    starts: bool = field(default=False, compare=False)
    old: str = field(default="", compare=False, repr=False)
    new: str = field(default="", compare=False, repr=False)


def names(text: str) -> frozenset[str]:
    """Return the names in a text as a set: long tables stay readable this way."""
    return frozenset(text.split())


def contains(outer: Range | None, inner: Range | None) -> bool:
    """Return whether every line of `inner` is surely in `outer`."""
    if outer is None or inner is None:
        return outer is None
    return (outer[0] < 0) == (inner[0] < 0) and outer[0] <= inner[0] and inner[1] <= outer[1]


def overlaps(left: Range | None, right: Range | None) -> bool:
    """Return whether two ranges surely share a line; the end of a file is in every tail."""
    if left is None or right is None:
        return True
    if (left[0] < 0) != (right[0] < 0):
        return LAST_LINE in (left[1], right[1])
    return left[0] <= right[1] and right[0] <= left[1]


def covers(later: Access, earlier: Access) -> bool:
    """Return whether a later access shows all that an earlier one of its resource showed."""
    if later.action == "read" and later.detail == earlier.detail == "" and earlier.action == "read":
        return contains(later.range, earlier.range)
    if later.action == "read" and earlier.action == "search" and not later.detail:
        return later.range is None and not earlier.detail.startswith(FACTS)
    return (later.action, later.detail, later.range) == (earlier.action, earlier.detail, earlier.range)


def path_of(text: str, *, cwd: str = "") -> str:
    """Return a path in one spelling, below `cwd` if it is relative; URLs stay as they are."""
    path = text.strip().removeprefix("file://")
    if "://" in path:
        return path
    if _DRIVE.match(path):
        return posixpath.normpath(path.replace("\\", "/"))
    path = posixpath.normpath(posixpath.join(cwd, path))
    return path[1:] if path.startswith("//") else path


def anchor_of(text: str) -> str:
    """Return the longest line of a text, by which it is found again in a file that was read."""
    return max((line.strip() for line in text.splitlines()), key=len, default="")[:ANCHOR_CHARS]
