"""Check what is noted of texts that repeat earlier ones in the same prompt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.facts.records import Repeat
from ctxheap.heap.facts.repeats import MIN_CHARS, RepeatTracker, is_contained, pieces_of
from ctxheap.heap.model import Part

PLAN = [f"{n}. look at module number {n} and write down what it promises to its callers" for n in range(9)]
LOG = [f"2026-12-0{n} service {n} answered {n * 7919} requests and refused {n * 31}" for n in range(1, 9)]


def result(text: str, tag: str = "tool_result:t") -> Part:
    return Part("tool", "tool_result", tag, text, tool="t")


def noted(*texts: str) -> list[Repeat]:
    tracker = RepeatTracker()
    for number, text in enumerate(texts):
        tracker.see(number, result(text), number + 1)
    return tracker.repeats()


def test_a_plan_echoed_ever_longer_contains_the_one_before_it() -> None:
    plans = ["Plan updated:\n" + "\n".join(PLAN[:n]) for n in (3, 5, 7)]

    found = noted(*plans)

    assert [(each.number, each.of, each.kind, each.call) for each in found] == [
        (1, 0, "contains", 2),
        (2, 1, "contains", 3),
    ]
    assert found[0].share == round(len(plans[0]) / len(plans[1]), 4)


def test_an_earlier_text_in_the_middle_of_a_later_one_is_found() -> None:
    part = "\n".join(LOG[2:5])
    whole = "\n".join(LOG)

    assert [(each.number, each.of, each.kind) for each in noted(part, whole)] == [(1, 0, "contains")]


def test_a_part_of_an_earlier_text_is_lines_of_it() -> None:
    part = "\n".join(LOG[2:6])

    assert noted("\n".join(LOG), part) == [Repeat(1, 0, "lines", 1.0, 2)]


def test_few_equal_lines_are_no_repetition() -> None:
    assert noted("\n".join(LOG), "\n".join([*PLAN, LOG[0]])) == []


def test_an_exact_copy_is_left_to_the_ledger() -> None:
    assert noted("\n".join(LOG), "\n".join(LOG)) == []


def test_what_left_the_prompt_is_not_repeated() -> None:
    tracker = RepeatTracker()
    tracker.see(0, result("\n".join(PLAN[:4])), 1)
    tracker.drop(0)
    tracker.see(1, result("\n".join(PLAN)), 2)

    assert tracker.repeats() == []


def test_the_copy_that_stayed_is_the_one_that_is_repeated() -> None:
    tracker = RepeatTracker()
    tracker.see(0, result("\n".join(PLAN[:4])), 1)
    tracker.see(1, result("\n".join(PLAN[:4])), 2)
    tracker.drop(0)
    tracker.see(2, result("\n".join(PLAN)), 3)

    assert [(each.number, each.of) for each in tracker.repeats()] == [(2, 1)]


def test_lines_of_texts_that_left_are_swept_and_the_others_still_found() -> None:
    tracker = RepeatTracker()
    tracker.see(0, result("\n".join(PLAN[:4])), 1)
    for number in range(1, 4):
        tracker.see(number, result("\n".join(f"{number} line {n} of many" for n in range(15_000))), 1)
        tracker.drop(number)
    tracker.see(4, result("\n".join(PLAN)), 2)

    assert [(each.number, each.of) for each in tracker.repeats()] == [(4, 0)]


def test_prompts_people_and_the_model_are_not_compared() -> None:
    tracker = RepeatTracker()
    text = "\n".join(PLAN)
    tracker.see(0, Part("user", "text", "user_turn", text), 1)
    tracker.see(1, Part("assistant", "text", "agent_output", text), 1)
    tracker.see(2, Part("system", "text", "system_prompt", text), 1)
    tracker.see(3, result(text + "\nand more"), 2)

    assert tracker.repeats() == []


def test_records_of_a_list_in_one_line_are_compared_one_by_one() -> None:
    rows = [f'"id": {n}, "name": "customer number {n} of the northern region"' for n in range(9)]
    first = "[{" + "}, {".join(rows[:6]) + "}]"
    later = "[{" + "}, {".join(rows[1:6]) + "}]"

    assert [(each.of, each.kind) for each in noted(first, later)] == [(0, "lines")]
    assert len(pieces_of(first)) == 6


@given(st.lists(st.text(alphabet="ab \n\\{},", max_size=400), max_size=12))
def test_a_contained_text_is_in_the_later_one_and_shares_are_shares(texts: list[str]) -> None:
    for each in noted(*texts):
        assert each.of < each.number
        assert 0 < each.share <= 1
        assert (each.kind == "contains") == is_contained(texts[each.of], texts[each.number])


@given(st.text(max_size=200), st.text(min_size=1, max_size=200))
def test_short_or_equal_texts_are_not_contained(earlier: str, rest: str) -> None:
    assert is_contained(earlier, earlier) is False
    assert is_contained(earlier, earlier + rest) is (len(earlier.strip()) >= MIN_CHARS)
