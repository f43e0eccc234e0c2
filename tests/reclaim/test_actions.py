"""Check what stands in the place of an object that was freed."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.model import Part
from ctxheap.reclaim.actions import compact, dedupe, evict, pin, truncate

REQUEST = Part("assistant", "tool_call", "tool_call:read", '{"path": "cfg.py"}', "read", "t1")
RESULT = Part("tool", "tool_result", "tool_result:read", "region = eu\n" * 50, "read", "t1")


def words(text: str) -> int:
    return len(text.split())


def test_a_receipt_keeps_the_pair_and_says_that_the_text_is_gone() -> None:
    receipt = evict(RESULT, tokens=1_234, request=REQUEST, reason="idle")

    assert (receipt.role, receipt.kind, receipt.tool, receipt.call_id, receipt.tag) == (
        "tool",
        "tool_result",
        "read",
        "t1",
        "receipt",
    )
    assert receipt.text == (
        f'[receipt] Result of read {{"path": "cfg.py"}}, 1,234 tokens, sha256 {RESULT.identity.hex()[:12]}: '
        "removed from this context (idle). The text is not here. Calling the tool again is allowed."
    )
    assert receipt.identity not in {RESULT.identity, b""}


def test_a_deduplicated_result_points_at_the_newer_one() -> None:
    assert dedupe(RESULT, tokens=150, request=REQUEST).text == (
        '[receipt] Result of read {"path": "cfg.py"}, 150 tokens: removed, a newer one follows (superseded). '
        "The text is not here. Calling the tool again is allowed."
    )


def test_arguments_stay_an_object() -> None:
    assert set(json.loads(evict(REQUEST, tokens=900).text)) == {"receipt"}


@given(st.text("ab \n", max_size=400), st.integers(1, 60))
def test_truncation_keeps_beginning_and_end_within_the_budget(text: str, budget: int) -> None:
    part = Part("tool", "tool_result", "tool_result:read", text, "read", "t1")

    cut = truncate(part, max_tokens=budget, count=len)

    if cut is part:
        assert len(text) <= budget or budget < 60
    else:
        head, _, tail = cut.text.partition("\n[… ")
        assert text.startswith(head)
        assert text.endswith(tail.partition(" cut here …]\n")[2])
        assert len(cut.text) <= budget


def test_truncation_keeps_as_much_as_fits() -> None:
    part = Part("tool", "tool_result", "tool_result:read", "word " * 1_000, "read", "t1")

    assert 98 <= words(truncate(part, max_tokens=100, count=words).text) <= 100


def test_pin_marks_and_changes_nothing_else() -> None:
    assert pin(RESULT).pinned
    assert pin(RESULT).identity == RESULT.identity


def test_a_record_has_the_fields_of_the_spec_and_the_outcome_of_each_call() -> None:
    record = compact([REQUEST, RESULT, REQUEST])

    fields = json.loads(record.text.removeprefix("[record of earlier turns] "))
    assert (record.role, record.tag) == ("user", "summary")
    assert fields == {
        "decisions_made": [],
        "constraints_learned": [],
        "tools_used_with_outcomes": ['read {"path": "cfg.py"} → ok, 600 characters ×2'],
        "open_tasks": [],
        "facts": [],
        "turns_left_out": 0,
    }
