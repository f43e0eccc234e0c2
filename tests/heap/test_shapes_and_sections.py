"""Check what is noted of system prompts, tool definitions and the arguments of tool calls."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.facts.sections import MIN_CHARS, paragraphs
from ctxheap.heap.facts.shapes import argument_shape, shape_of, without_variables
from ctxheap.heap.model import Exchange, Part
from ctxheap.heap.records import Heap
from ctxheap.heap.session import HeapBuilder

REFUNDS = (
    "Refunds: a voucher is issued by the treasury desk within nine fortnights, never in bullion or coupons."
)
EXPORTS = (
    "Exports: render the ledger with the typesetting engine, embed fonts and number pages in roman numerals."
)
SHORT = "# Rules of the house"


class Quarters:
    """Count four characters as one token."""

    exact = False

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text) // 4 for text in texts]


def heap(prompts: Sequence[str], outputs: Sequence[str]) -> Heap:
    builder = HeapBuilder(session="s", counter_for=lambda _model, _provider: Quarters())
    turn = Part("user", "text", "user_turn", "Please help me.")
    for number, (prompt, output) in enumerate(zip(prompts, outputs, strict=True)):
        system = Part("system", "text", "system_prompt", prompt)
        said = Part("assistant", "text", "agent_output", output)
        builder.add(Exchange(call_id=str(number), prompt=[system, turn], output=[said]))
    return builder.finish()


def test_outputs_count_for_the_paragraph_whose_words_they_take_up() -> None:
    prompt = f"{REFUNDS}\n\n{EXPORTS}"
    found = heap([prompt] * 3, ["The treasury desk sends a voucher.", "Hello!", "A voucher, not bullion."])

    assert [(each.index, each.uses) for each in found.facts.sections] == [(0, 2), (1, 0)]
    assert [each.title for each in found.facts.sections] == [REFUNDS[:60], EXPORTS[:60]]
    assert sum(each.share for each in found.facts.sections) == pytest.approx(1.0)
    assert min(each.telling for each in found.facts.sections) >= 6


def test_the_paragraphs_of_a_prompt_that_was_replaced_count_no_more() -> None:
    found = heap([REFUNDS, EXPORTS], ["Hello!", "The treasury desk sends a voucher."])

    assert [(each.number, each.uses) for each in found.facts.sections] == [(0, 0), (2, 0)]


def test_equal_paragraphs_have_equal_digests_in_any_prompt() -> None:
    one = heap([f"{REFUNDS}\n\n{EXPORTS}"], [""]).facts.sections
    other = heap([EXPORTS], [""]).facts.sections

    assert one[1].digest == other[0].digest
    assert one[0].digest != one[1].digest


def test_a_heading_goes_with_the_paragraph_below_it() -> None:
    assert paragraphs(f"{SHORT}\n\n{REFUNDS}\n\n{EXPORTS}") == [f"{SHORT}\n\n{REFUNDS}\n\n", EXPORTS]


@given(st.text(alphabet="ab \n\t", max_size=2_000))
def test_paragraphs_are_the_whole_text_and_long_enough(text: str) -> None:
    found = paragraphs(text)

    assert "".join(found) == text
    assert all(len(each.strip()) >= MIN_CHARS for each in found[:-1])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Today is 2026-12-01.", "Today is 2027-01-15."),
        ("It is Tuesday, December 1, 2026 10:04:33 UTC", "It is Friday, March 12, 2027 09:00:01 UTC"),
        ("Request 9f8c2d1e-77aa-4b7e-9c55-0123456789ab for user_17", "Request 1 for user_90210"),
        ("Version v1.2.3 of tool a", "Version v2.0 of tool a"),
    ],
)
def test_prompts_that_differ_in_dates_ids_and_numbers_have_one_shape(one: str, other: str) -> None:
    assert without_variables(one) == without_variables(other)


def test_prompts_that_differ_in_words_have_two_shapes() -> None:
    parts = [
        Part("system", "text", "system_prompt", text) for text in ("Be brief. Day 1", "Be polite. Day 1")
    ]

    assert len({shape_of(part) for part in parts}) == 2


def test_the_shape_of_a_long_word_without_digits_takes_no_quadratic_time() -> None:
    assert without_variables("x" * 1_000_000) == "x" * 1_000_000


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        ('{"path": "a.py", "limit": 20}', "limit:int path:str"),
        (
            '{"edits": [1], "dry": true, "to": null, "at": {"x": 1}, "p": 0.5}',
            "at:dict dry:bool edits:list p:float to:null",
        ),
        ("{}", ""),
        ("ls -la", "text"),
        ('{"path": "cut', "text"),
    ],
)
def test_the_shape_of_a_tool_call_holds_names_and_types_only(arguments: str, shape: str) -> None:
    assert argument_shape(arguments) == shape


def test_only_prompts_definitions_and_calls_have_shapes() -> None:
    texts = [Part("user", "text", "user_turn", "x"), Part("tool", "tool_result", "tool_result:t", "x")]

    assert [shape_of(part) for part in texts] == ["", ""]
