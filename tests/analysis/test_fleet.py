"""Check what is said of an agent over its sessions."""

from __future__ import annotations

import pytest

from ctxheap.analysis.fleet import creeps, recurrences, regressions


def test_a_tag_that_leaks_in_most_sessions_recurs() -> None:
    sessions = [("coder", {"read": place < 6, "shell": place < 2}) for place in range(8)]

    first, second = recurrences(sessions)

    assert (first.tag, first.flagged, first.sessions, first.recurs) == ("read", 6, 8, True)
    assert (first.low, first.high) == pytest.approx((0.409, 0.929), abs=1e-3)
    assert (second.tag, second.recurs) == ("shell", False)


def test_one_flag_and_few_sessions_say_nothing() -> None:
    few = [("coder", {"read": True}) for _ in range(4)]
    once = [("writer", {"read": place == 0}) for place in range(9)]

    assert recurrences([*few, *once]) == []


def test_memory_that_is_larger_in_every_session_creeps() -> None:
    sessions = [{"memory:notes": 400 * place, "system_prompt": 3_000} for place in range(20)]

    notes, prompt = creeps(sessions)

    assert (notes.tag, notes.creeps, notes.tested.slope) == ("memory:notes", True, 400)
    assert (prompt.tag, prompt.creeps) == ("system_prompt", False)


def test_a_release_that_grows_faster_is_worse() -> None:
    old = {
        "read": [0.02, 0.03, 0.02, 0.04, 0.03, 0.02],
        "shell": [0.1, 0.2, 0.1, 0.2, 0.1, 0.2],
        "gone": [1.0],
    }
    new = {"read": [0.12, 0.13, 0.15, 0.11, 0.12, 0.14], "shell": [0.2, 0.1, 0.2, 0.1, 0.2, 0.1]}

    read, shell = regressions(old, new)

    assert (read.tag, read.is_worse, read.old, read.new) == ("read", True, 6, 6)
    assert read.shift.estimate == pytest.approx(0.10)
    assert (read.shift.low, read.shift.high) == pytest.approx((0.08, 0.12))
    assert (shell.tag, shell.is_worse) == ("shell", False)
