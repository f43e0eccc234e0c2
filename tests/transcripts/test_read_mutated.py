"""Read small real files of every format after random damage: nothing may crash, nothing may be silent."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
import yaml

from ctxheap_collector.transcripts.detect import FORMATS, Format, detect
from ctxheap_collector.transcripts.source import Source
from transcripts.written import DATA

ROUNDS = 120
ODD = (None, True, 0, -5, 1e300, 10**30, "", "{", "[1,2", "\ud800", "x" * 50)
SEEDS = (
    "codex/rollout.jsonl",
    "pi/version1.jsonl",
    "moatless/trajectory.json",
    "moatless/transitions.json",
    "langfuse/langgraph.trace.json",
    "gemini-cli/session.json",
    "otlp/vercel_spans.json",
    "vcr-cassette/counted_and_called.yaml",
)


def values(path: Path) -> list[object]:
    """Return the lines of a file, or its one document."""
    text = path.read_text("utf-8")
    if path.suffix == ".yaml":
        return [yaml.safe_load(text)]
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]


def places(value: object) -> Iterator[tuple[dict[str, object] | list[object], str | int]]:
    """Yield every container with every key in it."""
    if isinstance(value, dict):
        body = cast("dict[str, object]", value)
        for key in body:
            yield body, key
            yield from places(body[key])
    elif isinstance(value, list):
        listed = cast("list[object]", value)
        for index, inner in enumerate(listed):
            yield listed, index
            yield from places(inner)


def damage(found: list[object], chance: random.Random) -> str:
    """Put odd values into some places, drop, repeat or reorder lines, and cut the end off now and then."""
    for _ in range(chance.choice((1, 1, 3))):
        container, key = chance.choice(list(places(found)))
        odd = chance.choice((*ODD, [], {}, [None], {"a": 1}, [["x"]]))
        if isinstance(container, dict):
            container[str(key)] = odd
        else:
            container[int(key)] = odd
    lines = [json.dumps(value) for value in found]
    if chance.random() < 0.2:
        chance.shuffle(lines)
    if chance.random() < 0.2:
        lines += lines[: len(lines) // 2]
    text = "\n".join(lines)
    return text[: chance.randrange(len(text))] if chance.random() < 0.2 else text


@pytest.mark.parametrize("name", SEEDS)
def test_damaged_files_never_crash_a_reader_and_are_never_silently_empty(name: str, tmp_path: Path) -> None:
    module: Format = detect(Source.of(DATA / name))
    chance = random.Random(name)
    path = tmp_path / "damaged"

    for _ in range(ROUNDS):
        path.write_text(damage(values(DATA / name), chance), encoding="utf-8")
        source = Source.of(path)
        head = source.head()
        claims = [other.FORMAT for other in FORMATS if other.looks_like(head)]
        calls = list(module.read(source))
        assert calls or source.skipped, (claims, path.read_text("utf-8")[:500])
