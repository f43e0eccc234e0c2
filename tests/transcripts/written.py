"""Write transcripts for a test and read them back through the format that recognises them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from ctxheap.heap.model import Exchange, Part
from ctxheap_collector.transcripts.detect import Format, detect
from ctxheap_collector.transcripts.source import Source

DATA = Path(__file__).resolve().parents[1] / "data"


def write_json(path: Path, value: object) -> Path:
    """Write one JSON value and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_lines(path: Path, values: Iterable[object]) -> Path:
    """Write JSON Lines and return their path."""
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def read_file(path: Path) -> tuple[str, list[Exchange], list[str]]:
    """Return format, calls and reasons for what was skipped of one file."""
    source = Source.of(path)
    module: Format = detect(source)
    exchanges = list(module.read(source))
    return module.FORMAT, exchanges, [skipped.reason for skipped in source.skipped]


def calls_of(path: Path) -> list[Exchange]:
    """Return the calls of one file."""
    return read_file(path)[1]


def tags(parts: Iterable[Part]) -> list[str]:
    """Return the tags of parts in order."""
    return [part.tag for part in parts]


def texts(parts: Iterable[Part]) -> list[str]:
    """Return the texts of parts in order."""
    return [part.text for part in parts]


def grows(exchanges: list[Exchange]) -> bool:
    """Say whether each prompt starts with the very parts of the one before."""
    pairs = pairwise(exchanges)
    return all(
        len(new.prompt) >= len(old.prompt)
        and all(a is b for a, b in zip(old.prompt, new.prompt, strict=False))
        for old, new in pairs
    )
