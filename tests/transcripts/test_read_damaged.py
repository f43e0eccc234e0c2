"""Damage real files at random places: whatever stands where, a reader names it and goes on."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxheap_collector.transcripts.detect import FORMATS, Format
from ctxheap_collector.transcripts.source import Source
from transcripts.written import DATA

FILES = [
    "mini-swe-agent/text.traj.json",
    "mini-swe-agent/tool_calls.traj.json",
    "openhands-events/basic_interactions.json",
    "request-log/two_lines_a_call.jsonl",
    "swe-agent/function_calling.traj",
    "swe-agent/text.traj",
    "tau-bench/two_episodes.json",
    "tau2-bench/airline.json",
    "tau2-bench/telecom.json",
]
JUNK: list[object] = [
    None,
    -1,
    1.5,
    True,
    "",
    "x",
    [],
    {},
    [None],
    ["a"],
    {"a": 1},
    10**18,
    "\ud800",
    [{"type": "text"}],
    [{"role": "assistant"}],
    json.loads('{"content":' * 250 + "1" + "}" * 250),
    json.loads("[" * 250 + "]" * 250),
]
READERS = [module for module in FORMATS if module.FORMAT != "claude-code"]


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(damage=st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(JUNK)), min_size=1, max_size=6))
def test_no_damage_stops_a_reader(tmp_path: Path, name: str, damage: list[tuple[int, object]]) -> None:
    path = tmp_path / Path(name).name
    path.write_text("\n".join(json.dumps(damaged(value, damage)) for value in values(DATA / name)))

    read = [outcome(module, path) for module in READERS]

    assert all(read)


def outcome(module: Format, path: Path) -> bool:
    """Say that a module does not recognise a file, or yields calls with counts, or names why not."""
    source = Source.of(path)
    if not module.looks_like(source.head()):
        return True
    calls = list(module.read(source))
    return bool(calls or source.skipped) and all(c.usage is None or c.usage.input >= 0 for c in calls)


def values(path: Path) -> list[object]:
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]


def damaged(value: object, damage: list[tuple[int, object]]) -> object:
    for place, junk in damage:
        slots = list(_slots(value))
        if slots:
            holder, key = slots[place % len(slots)]
            _put(holder, key, copy.deepcopy(junk))
    return value


def _slots(value: object) -> Iterator[tuple[object, str | int]]:
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield cast("object", value), key
            yield from _slots(inner)
    if isinstance(value, list):
        for index, inner in enumerate(cast("list[object]", value)):
            yield cast("object", value), index
            yield from _slots(inner)


def _put(holder: object, key: str | int, junk: object) -> None:
    if isinstance(key, str):
        cast("dict[str, object]", holder)[key] = junk
    else:
        cast("list[object]", holder)[key] = junk
