"""Check what the evidence tracker calls used, on examples small enough to judge by reading."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from ctxheap.heap.evidence import EvidenceTracker, Use
from ctxheap.heap.model import Part

ISSUE = "Sorting breaks when `merge_sorted_runs` gets an empty list. Please fix it."
RECORD = '{"reservation_id": "M05KNL", "payment": "credit_card_4196779", "total": 2787, "cabin": "business"}'


def user(text: str) -> Part:
    return Part("user", "text", "user_turn", text=text)


def said(text: str) -> Part:
    return Part("assistant", "text", "agent_output", text=text)


def call(tool: str, call_id: str = "c1", **arguments: object) -> Part:
    text = json.dumps(arguments)
    return Part("assistant", "tool_call", f"tool_call:{tool}", text=text, tool=tool, call_id=call_id)


def result(text: str, call_id: str = "c1") -> Part:
    return Part("tool", "tool_result", "tool_result:t", text=text, tool="t", call_id=call_id)


def run(*turns: tuple[Sequence[Part], Sequence[Part]]) -> list[list[Use]]:
    """Return the uses of each output; objects are numbered from 0 in the order they are seen."""
    tracker = EvidenceTracker()
    number = 0
    uses: list[list[Use]] = []
    for turn, (seen, output) in enumerate(turns, start=1):
        for part in seen:
            tracker.see(number, part, turn)
            number += 1
        uses.append(tracker.output(turn, output))
    return uses


def used(uses: Sequence[Use]) -> list[int]:
    return [use.number for use in uses if use.grade == "used"]


def test_a_result_whose_id_becomes_an_argument_is_used_by_the_rule_argument() -> None:
    search = call("search_flights", origin="JFK", destination="SFO")
    found = result('{"flight_number": "HAT123", "price": 157, "seats": 4}')

    uses = run(
        ([user("Book me a flight from JFK to SFO")], [search]),
        ([search, found], [call("book_flight", "c2", flight="HAT123")]),
    )

    assert used(uses[0]) == [0]
    assert [(use.number, use.rule, use.grade) for use in uses[1] if use.number == 2] == [
        (2, "argument", "used")
    ]


def test_a_large_listing_that_nothing_is_taken_from_is_not_used_by_the_next_output() -> None:
    listing = call("bash", command="ls -R")
    names = result("\n".join(f"./pkg{k}/module_{k}_core.py" for k in range(150)))
    grep = call("bash", "c2", command="grep -rn 'def merge_sorted_runs' .")

    uses = run(([user(ISSUE)], [listing]), ([listing, names], [grep]))

    assert 2 not in [use.number for use in uses[1]]
    assert 0 in used(uses[1])


def test_the_newest_holder_is_credited_and_the_older_copy_is_not() -> None:
    first, second = call("get", "c1", id="M05KNL"), call("get", "c2", id="M05KNL")
    plan = call("note", "c3", text="later")

    uses = run(
        ([user("Look at M05KNL")], [first]),
        ([first, result(RECORD, "c1")], [second]),
        ([second, result(RECORD, "c2")], [plan]),
        ([plan, result("ok", "c3")], [said("It was paid with card 4196779, 2,787 in total.")]),
    )

    assert 4 in used(uses[3])
    assert 2 not in used(uses[3])


def test_what_the_call_itself_named_is_not_credited_to_its_result() -> None:
    view = call("view", path="src/app/settings.py")
    shown = result("\n".join(f"option_{chr(97 + k)} = compute_{chr(97 + k)}()" for k in range(20)))
    wait = call("wait", "c2", seconds=1)

    uses = run(
        ([user("Hello")], [view]),
        ([view, shown], [wait]),
        ([wait, result("done", "c2")], [said("I will open src/app/settings.py again.")]),
    )

    assert 2 not in used(uses[2])


def test_a_later_output_that_tells_a_value_again_uses_the_result_it_came_from() -> None:
    get = call("get", id="M05KNL")

    uses = run(
        ([user("What did I pay for M05KNL?")], [get]),
        ([get, result(RECORD)], [said("You paid 2787 with card 4196779.")]),
        ([said("You paid 2787 with card 4196779."), user("Sure?")], [said("Yes: 2787, card 4196779.")]),
    )

    assert 2 in used(uses[2])


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ('{"id": "credit_card_4196779"}', "the card 4196779"),
        ('{"date": "2024-05-24"}', "on May 24th"),
        ('{"start": "18:30"}', "at 6:30 pm"),
        ('{"total": 1234.5}', "for $1,234.50"),
        ("/srv/app/lib/parser/core.py", "in parser/core.py"),
    ],
)
def test_a_value_is_recognised_in_another_spelling(held: str, told: str) -> None:
    look = call("look")
    filler = " ".join(f"attribute{chr(97 + k)}" for k in range(8))

    uses = run(([user("Hm")], [look]), ([look, result(f"{held} {filler}")], [said(told)]))

    use = next(use for use in uses[1] if use.number == 2)
    assert (use.grade, use.score > 2) == ("used", True)


def test_the_latest_user_turn_is_used_by_the_output_that_answers_it() -> None:
    uses = run(([user("Thanks, please go on")], [said("Sure.")]))

    assert [(use.number, use.rule, use.grade) for use in uses[0]] == [(0, "request", "used")]


def test_a_short_receipt_is_used_once_by_the_next_output() -> None:
    edit = call("edit", path="a.py")

    uses = run(
        ([user(ISSUE)], [edit]),
        ([edit, result("File written.")], [call("bash", "c2", command="pytest -q")]),
        ([call("bash", "c2", command="pytest -q"), result("3 failed", "c2")], [said("Three tests fail.")]),
    )

    assert [(use.number, use.rule) for use in uses[1] if use.number == 2] == [(2, "answer")]
    assert 2 not in used(uses[2])


def test_results_in_user_messages_answer_the_text_before_them() -> None:
    act = said("Let me look.\n```\ncat notes/todo_list.txt\n```")
    seen = Part("user", "tool_result", "tool_result:action", text="remember build_id 7781203", tool="action")

    uses = run(([user("Go")], [act]), ([act, seen], [said("The build is 7781203.")]))

    assert 2 in used(uses[1])


def test_own_text_is_used_at_the_next_call_and_later_where_a_name_it_introduced_is_taken_up() -> None:
    plan = said("I will call the helper normalise_unit_table and write tests.")
    look = call("look")

    uses = run(
        ([user("Hm")], [plan, look]),
        ([plan, look, result("nothing here")], [call("wait", "c2")]),
        ([call("wait", "c2"), result("waited", "c2")], [said("Done with parsing.")]),
        ([said("Done with parsing."), user("And?")], [said("normalise_unit_table.from_rows is in place.")]),
    )

    assert 1 in used(uses[1])
    assert 1 not in [use.number for use in uses[2]]
    assert 2 not in used(uses[1])


def test_a_dropped_object_is_not_credited_again() -> None:
    tracker = EvidenceTracker()
    look = call("look")
    tracker.see(0, user("Hm"), 1)
    tracker.output(1, [look])
    tracker.see(1, look, 2)
    tracker.see(2, result("build 7781203"), 2)

    tracker.drop(2)
    uses = tracker.output(2, [said("The build is 7781203.")])

    assert 2 not in [use.number for use in uses]


def test_a_prompt_that_opens_with_a_history_counts_only_its_newest_results_as_new() -> None:
    first, second = call("a", "c1"), call("b", "c2")
    history = [user("Go"), first, result("alpha ok", "c1"), second, result("beta ok", "c2")]

    uses = run((history, [call("c", "c3")]))

    assert [use.number for use in uses[0] if use.rule == "answer" and use.number in (2, 4)] == [4]


def test_reminders_inside_a_message_are_not_what_the_user_wrote() -> None:
    asked = user("Go on<system-reminder>deploy_key 99127734</system-reminder>")

    uses = run(
        ([asked], [call("look")]),
        ([call("look"), result("fine")], [call("wait", "c2")]),
        ([call("wait", "c2"), result("ok", "c2")], [said("The key is 99127734.")]),
    )

    assert 0 not in used(uses[2])


def test_definitions_and_media_are_never_evidence() -> None:
    schema = Part("system", "tool_definition", "tool_definition:t", text='{"name": "frobnicate_all"}')

    uses = run(([schema, user("Go")], [said("I would frobnicate_all.")]))

    assert [use.number for use in uses[0]] == [1]
