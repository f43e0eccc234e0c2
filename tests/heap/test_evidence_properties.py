"""Check what holds for any session: causal, deterministic, bounded, and never an exception."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from ctxheap.heap.evidence import EvidenceTracker, Use
from ctxheap.heap.evidence.atoms import Reader
from ctxheap.heap.evidence.memory import SWEEP_PAIRS, Call, Item, Memory
from ctxheap.heap.evidence.plain import plain, values
from ctxheap.heap.evidence.weights import weight
from ctxheap.heap.model import Kind, Part, Role

WORDS = st.sampled_from(
    (
        "HAT123",
        "src/app/core.py",
        "merge_runs",
        "2024-05-24",
        "4196779",
        "Chicago",
        "error",
        "7",
        "the",
        "資料庫",
    )
)
TEXT = st.lists(WORDS, max_size=12).map(" ".join)
ANYTHING = st.text(st.characters(codec=None), max_size=80)


@dataclass(frozen=True, slots=True)
class Turn:
    seen: tuple[Part, ...]
    output: tuple[Part, ...]


def part(role: Role, kind: Kind, text: str, call_id: str = "") -> Part:
    tag = "user_turn" if role == "user" else kind
    return Part(role, kind, tag, text=text, tool="t" if kind.startswith("tool") else "", call_id=call_id)


def shaped(shape: tuple[Role, Kind], text: str, call_id: str) -> Part:
    return part(*shape, text, call_id)


def parts(text: st.SearchStrategy[str]) -> st.SearchStrategy[Part]:
    ids = st.sampled_from(("", "c1", "c2"))
    shapes: list[tuple[Role, Kind]] = [
        ("user", "text"),
        ("tool", "tool_result"),
        ("system", "text"),
        ("assistant", "text"),
        ("assistant", "tool_call"),
        ("assistant", "reasoning"),
        ("user", "tool_result"),
    ]
    return st.builds(shaped, st.sampled_from(shapes), text, ids)


def sessions(text: st.SearchStrategy[str]) -> st.SearchStrategy[list[Turn]]:
    listed = st.lists(parts(text), max_size=4).map(tuple)
    own = st.lists(
        st.builds(part, st.just("assistant"), st.sampled_from(("text", "tool_call")), text), max_size=2
    )
    return st.lists(st.builds(Turn, listed, own.map(tuple)), min_size=1, max_size=6)


def run(turns: list[Turn], dropped: frozenset[int] = frozenset()) -> list[list[Use]]:
    tracker = EvidenceTracker()
    number = 0
    uses: list[list[Use]] = []
    for call, turn in enumerate(turns, start=1):
        for seen in turn.seen:
            tracker.see(number, seen, call)
            number += 1
        for gone in dropped:
            tracker.drop(gone)
        uses.append(tracker.output(call, turn.output))
    return uses


@given(sessions(TEXT))
def test_later_turns_never_change_earlier_uses(turns: list[Turn]) -> None:
    whole = run(turns)

    assert [run(turns[:count])[-1] for count in range(1, len(turns) + 1)] == whole


@given(sessions(TEXT), st.frozensets(st.integers(0, 6)))
def test_what_was_dropped_is_never_credited(turns: list[Turn], dropped: frozenset[int]) -> None:
    uses = run(turns, dropped)

    assert not {use.number for found in uses for use in found} & dropped


@given(sessions(TEXT))
def test_uses_name_objects_seen_so_far_once_and_in_order(turns: list[Turn]) -> None:
    uses = run(turns)

    counts = [sum(len(turn.seen) for turn in turns[: k + 1]) for k in range(len(turns))]
    numbers = [[use.number for use in found] for found in uses]
    assert numbers == [sorted(set(found)) for found in numbers]
    assert all(number < count for found, count in zip(numbers, counts, strict=True) for number in found)


@given(sessions(ANYTHING))
@settings(max_examples=200)
def test_no_text_raises(turns: list[Turn]) -> None:
    uses = run(turns)

    assert len(uses) == len(turns)


@given(ANYTHING)
@settings(max_examples=300)
def test_every_atom_of_any_text_has_a_weight(text: str) -> None:
    atoms = Reader().atoms(plain(values(text)))

    assert all(0 < weight(atom) <= 3 for atom in atoms)


def test_odd_texts_do_not_raise() -> None:
    odd = (
        "\ud800" * 50,
        "{" * 100_000,
        "[" * 5_000 + "]" * 5_000,
        "a" * 500_000,
        "\x00\xff" * 1_000,
        "1" * 400,
    )

    uses = run(
        [Turn((part("tool", "tool_result", text),), (part("assistant", "tool_call", text),)) for text in odd]
    )

    assert len(uses) == len(odd)


SCRIPT = """
import json, random
from ctxheap.heap.evidence import EvidenceTracker
from ctxheap.heap.model import Part
draw = random.Random(7)
names = [f"name_{k}" for k in range(300)] + [str(k * 37) for k in range(300)] + ["value", "error", "Paris"]
tracker, number = EvidenceTracker(), 0
for call in range(1, 40):
    for kind in ("tool_call", "tool_result"):
        role = "assistant" if kind == "tool_call" else "tool"
        text = " ".join(draw.choices(names, k=40))
        tracker.see(number, Part(role, kind, kind, text=text, tool="t", call_id=str(call)), call)
        number += 1
    said = Part("assistant", "text", "agent_output", text=" ".join(draw.choices(names, k=60)))
    print([(u.number, u.rule, repr(u.score)) for u in tracker.output(call, [said])])
"""


def _printed(seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", SCRIPT]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_the_order_of_hashes_changes_nothing() -> None:
    outputs = {_printed(seed) for seed in ("0", "1", "12345")}

    assert len(outputs) == 1
    assert "handle" in outputs.pop()


def _item(number: int, atoms: frozenset[str]) -> Item:
    return Item(number, 0, number, is_result=True, is_blank=False, chars=9, atoms=atoms, call=Call())


def test_dropped_objects_leave_no_entries_behind_for_long() -> None:
    memory = Memory()

    for number in range(1_000):
        memory.add(_item(number, frozenset(f"w{number}x{k}" for k in range(100))))
        memory.drop(number - 5)

    assert memory.pairs <= SWEEP_PAIRS + 2 * 600
    assert memory.holding("w3x7") == []
    assert [item.number for item in memory.holding("w999x7")] == [999]


def test_what_a_dozen_calls_hold_says_nothing_about_any_of_them() -> None:
    memory = Memory()

    for number in range(60):
        memory.add(_item(number, frozenset(("wcommon", f"w{number}"))))

    assert memory.holding("wcommon") == []
    assert [item.number for item in memory.holding("w7")] == [7]


def test_when_an_atom_is_first_asked_for_changes_nothing() -> None:
    early, late = Memory(), Memory()

    for number in range(90):
        item = frozenset(("wcommon", f"w{number % 7}", f"w{number % 3}x"))
        for memory in (early, late):
            memory.add(_item(number, item))
            memory.drop(number - 9)
        early.watch(item)

    asked = ["wcommon", "w5", "w2x", "w1x", "wnever"]
    assert [[held.number for held in late.holding(atom)] for atom in asked] == [
        [held.number for held in early.holding(atom)] for atom in asked
    ]


def _seconds(calls: int) -> float:
    turns = [
        Turn(
            (part("tool", "tool_result", " ".join(f"value{call}x{k} shared{k}" for k in range(60))),),
            (part("assistant", "text", f"see value{call}x3 and shared{call % 60}"),),
        )
        for call in range(calls)
    ]
    started = time.process_time()
    run(turns)
    return time.process_time() - started


def test_twice_the_session_costs_about_twice_the_time() -> None:
    once = min(_seconds(300) for _ in range(3))
    twice = min(_seconds(600) for _ in range(3))

    # a quadratic cost would be four times as much
    assert twice < 3 * once


def test_many_results_in_one_prompt_cost_no_more_each() -> None:
    results = tuple(part("tool", "tool_result", f"row {k}") for k in range(20_000))
    started = time.process_time()

    run([Turn(results, (part("assistant", "text", "done"),))])

    assert time.process_time() - started < 20
