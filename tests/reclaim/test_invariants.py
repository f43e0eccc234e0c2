"""Check that broken invariants are found, that the log only grows, and what a session holds."""

from __future__ import annotations

import pytest

from ctxheap.heap.model import Part
from ctxheap.reclaim.invariants import Resident, broken, turns
from ctxheap.reclaim.ledger import AuditLog, Entry, ReadLedger

TASK = Part("user", "text", "user_turn", "fix it")
THOUGHT = Part("assistant", "reasoning", "agent_reasoning", "hm")
CALL = Part("assistant", "tool_call", "tool_call:read", "{}", "read", "t1")
RESULT = Part("tool", "tool_result", "tool_result:read", "text", "read", "t1")
PROMPT = [TASK, THOUGHT, CALL, RESULT]


@pytest.mark.parametrize(
    ("after", "problems"),
    [
        (PROMPT, []),
        ([TASK], []),
        ([TASK, THOUGHT, CALL], ["tool call t1: the result left without the other"]),
        ([TASK, RESULT], ["tool call t1: the call left without the other"]),
        ([TASK, CALL, RESULT], [f"reasoning {THOUGHT.identity.hex()[:8]}: left without its turn"]),
        ([THOUGHT, CALL, RESULT], [f"user_turn {TASK.identity.hex()[:8]}: must stay, and is gone"]),
    ],
)
def test_broken_invariants_are_named(after: list[Part], problems: list[str]) -> None:
    assert broken(PROMPT, after) == problems


def test_a_turn_is_what_the_model_said_with_its_answers() -> None:
    parts = [TASK, THOUGHT, CALL, RESULT, TASK, CALL, RESULT]
    residents = [Resident(n, part, 1, 1) for n, part in enumerate(parts)]

    assert [[item.number for item in turn] for turn in turns(residents)] == [[1, 2, 3], [5, 6]]


def test_the_log_keeps_the_original_and_only_grows() -> None:
    log = AuditLog()
    first = Entry(3, 7, "truncate", 0, "long", 90, RESULT)
    second = Entry(5, 7, "evict", 1, "idle", 10, TASK)
    log.append(first)
    log.append(second)

    assert log.entries == (first, second)
    assert log.original(7) == RESULT
    assert log.original(8) is None
    with pytest.raises(ValueError, match="call 4 after call 5"):
        log.append(Entry(4, 1, "evict", 0, "", 1, TASK))


def test_only_an_unchanged_range_that_is_still_resident_answers_a_repeated_read() -> None:
    ledger = ReadLedger()
    ledger.read(4, "cfg.py", digest="aa", first=1, last=40)

    assert ledger.holder("cfg.py", digest="aa", first=1, last=40) == 4
    assert ledger.holder("cfg.py", digest="bb", first=1, last=40) is None
    assert ledger.holder("cfg.py", digest="aa", first=1, last=41) is None
    ledger.gone([4])
    assert ledger.holder("cfg.py", digest="aa", first=1, last=40) is None


def test_a_write_puts_what_is_held_out_of_date() -> None:
    ledger = ReadLedger()
    ledger.read(4, "cfg.py", digest="aa")
    ledger.read(5, "util.py", digest="cc")
    ledger.written("cfg.py")

    assert ledger.holder("cfg.py", digest="aa") is None
    assert ledger.holder("util.py", digest="cc") == 5
