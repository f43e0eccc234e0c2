"""Expand what a person names on the command line into the files to look at."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ctxheap_collector.transcripts import source_bytes

SNIFF_BYTES = 4096
CASSETTE = re.compile(rb"(?:\s*(?:#[^\n]*\n|---\s|version: *\d+\s))*\s*(?:http_)?interactions:\s")
"""How a YAML file with recorded HTTP exchanges opens."""

AIDER = re.compile(rb"\s*# aider chat started at ")
"""How aider's chat history opens."""

# Tools' own stores: large, and never a transcript. Other hidden folders are where agents keep theirs.
_FOREIGN_FOLDERS = frozenset(
    {
        ".cache",
        ".git",
        ".hg",
        ".hypothesis",
        ".idea",
        ".mypy_cache",
        ".npm",
        ".pytest_cache",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        ".vscode",
        "__pycache__",
        "node_modules",
        "site-packages",
    }
)
_GLOB_CHARACTERS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Found:
    """Hold one file to look at; `is_named` unless it was met while walking a folder."""

    path: Path
    is_named: bool


def expand(paths: Iterable[str]) -> Iterator[Found]:
    """Yield the files behind files, globs (also `**`), folders and `-`, each once, in a stable order.

    Folders are walked whole, hidden ones too, less what cannot be a transcript: binary files, files that do
    not open like a transcript, and the stores of other tools. A name that leads nowhere is yielded all
    the same, so that opening it says so.
    """
    seen: set[str] = set()
    for name in paths:
        for found in _expand_one(name):
            key = os.path.realpath(found.path) if str(found.path) != "-" else "-"
            if key not in seen:
                seen.add(key)
                yield found


def _expand_one(name: str) -> Iterator[Found]:
    path = Path(name).expanduser()
    if name == "-" or path.is_file():
        yield Found(path, is_named=True)
    elif path.is_dir():
        yield from _walk(path)
    else:
        yield from _matches(str(path))


def _matches(pattern: str) -> Iterator[Found]:
    # Shells on Windows hand globs over as they are; elsewhere a quoted one arrives here.
    is_glob = bool(_GLOB_CHARACTERS & set(pattern))
    names = sorted(glob.glob(pattern, recursive=True)) if is_glob else []  # noqa: PTH207
    if not names:
        yield Found(Path(pattern), is_named=True)
    for name in names:
        path = Path(name)
        if path.is_dir():
            # With ** every file below is matched by itself.
            if "**" not in pattern:
                yield from _walk(path)
        else:
            yield Found(path, is_named="**" not in pattern)


def _walk(root: Path) -> Iterator[Found]:
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(name for name in subfolders if name not in _FOREIGN_FOLDERS)
        for name in sorted(names):
            path = Path(folder, name)
            if opens_like_transcript(path):
                yield Found(path, is_named=False)


def opens_like_transcript(path: Path) -> bool:
    """Say whether a file's first bytes can open JSON, a cassette or a chat history; special files cannot."""
    try:
        if not source_bytes.is_regular(path):
            return False
        with path.open("rb") as raw:
            opening = source_bytes.unpack(raw).read(SNIFF_BYTES)
    except source_bytes.PackedError:
        return False
    is_json = opening.lstrip(source_bytes.SPACE)[:1] in (b"{", b"[")
    return is_json or any(pattern.match(opening) for pattern in (CASSETTE, AIDER))
