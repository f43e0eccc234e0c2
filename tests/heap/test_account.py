"""Check the sums of a heap against the worked examples of SPEC 1 and 5.4."""

from __future__ import annotations

from array import array

import pytest

from ctxheap.heap.account import Account, account
from ctxheap.heap.evidence import Use
from ctxheap.heap.model import Usage
from ctxheap.heap.records import Call, Heap, HeapObject
from ctxheap.heap.supersession import Superseded


def item(number: int, name: str, tag: str, birth: int, last: int) -> HeapObject:
    return HeapObject(number, name, "text", tag, name, birth, last, 0, pinned=False, error=False)


def call(number: int, contents: dict[int, int], usage: Usage | None = None) -> Call:
    return Call(
        number=number,
        id=str(number),
        model="m",
        provider="",
        started_ns=None,
        usage=usage or Usage(uncached=sum(contents.values())),
        numbers=array("I", contents),
        tokens=array("i", contents.values()),
        born=(),
        extends=True,
        exact=True,
        implied=False,
        incomplete=False,
        compaction=None,
        messages=0,
    )


def heap(objects: list[tuple[str, str, int, int]], calls: int) -> Heap:
    """Return a heap of (name, tag, tokens, birth) objects that all stay to the last call."""
    found = Heap("s", None, "")
    found.objects = [item(n, name, tag, birth, calls) for n, (name, tag, _, birth) in enumerate(objects)]
    for k in range(1, calls + 1):
        contents = {n: size for n, (_, _, size, birth) in enumerate(objects) if birth <= k}
        made = call(k, contents)
        made.born = tuple(n for n in contents if found.objects[n].birth == k)
        found.calls.append(made)
    return found


@pytest.fixture
def example() -> Account:
    """Return the account of SPEC 5.4's example: eight calls, T1 invalid from call 5."""
    session = heap(
        [
            ("S", "system_prompt", 100, 1),
            ("U1", "user_turn", 20, 1),
            ("T1", "tool_result:read", 200, 2),
            ("T2", "tool_result:grep", 300, 3),
            ("T3", "tool_result:read", 150, 4),
            ("T5", "tool_result:read", 210, 6),
        ],
        calls=8,
    )
    for number, used_at in ((2, 2), (4, 4), (4, 6), (5, 6)):
        session.uses.append(Use(number, used_at, "quote", 1.0, "used"))
    session.superseded.append(Superseded(2, 4, "invalidated", 5))
    return account(session, lambda _call: None)


def test_phases_of_the_worked_example(example: Account) -> None:
    rows = [(each.token_calls, each.lag, each.use, each.drag, each.void) for each in example.objects]

    assert rows == [
        (800, 0, 800, 0, 0),
        (160, 0, 160, 0, 0),
        (1400, 0, 200, 1200, 0),
        (1800, 0, 0, 0, 1800),
        (750, 0, 450, 300, 0),
        (630, 0, 210, 420, 0),
    ]


def test_dead_sums_and_resident_tokens_of_the_worked_example(example: Account) -> None:
    assert [sum(tags.values()) for tags in example.series] == [120, 320, 620, 770, 770, 980, 980, 980]
    assert sum(each.dead for each in example.objects) == 3720
    assert [each.dead_low for each in example.objects] == [0, 0, 800, 0, 0, 0]


def test_twenty_steps_of_a_thousand_tokens_bill_210_000() -> None:
    loop = heap([(str(k), "tool_result:read", 1000, k) for k in range(1, 21)], calls=20)

    sums = account(loop, lambda _call: None).by_tag(loop.objects)["tool_result:read"]

    assert (sums[0], sums[1].first, sums[1].token_calls) == (20, 20_000, 210_000)


def test_probable_use_is_no_use() -> None:
    session = heap([("T", "tool_result:read", 10, 1)], calls=2)
    session.uses.append(Use(0, 1, "answer", 0.0, "probable"))

    assert account(session, lambda _call: None).objects[0].void == 20


def test_tool_call_shares_the_uses_of_its_result_and_own_text_is_used_by_the_next_call() -> None:
    session = heap(
        [("C", "tool_call:read", 5, 2), ("T", "tool_result:read", 10, 2), ("A", "agent_output", 7, 2)],
        calls=3,
    )
    session.objects[1].answers = 0
    session.uses.append(Use(1, 3, "quote", 1.0, "used"))

    sums = account(session, lambda _call: None)

    assert sums.uses == [{3: "quote"}, {3: "quote"}, {2: "next"}]
    assert [(each.lag, each.use, each.drag) for each in sums.objects] == [(5, 5, 0), (10, 10, 0), (0, 7, 7)]


def test_tool_call_shares_the_uses_of_all_versions_of_its_result() -> None:
    session = heap(
        [
            ("C", "tool_call:read", 5, 1),
            ("T", "tool_result:read", 10, 1),
            ("S", "tool_result:read", 2, 3),
        ],
        calls=4,
    )
    session.objects[1].answers = session.objects[2].answers = 0
    session.uses += [Use(1, 2, "quote", 1.0, "used"), Use(2, 4, "handle", 1.0, "used")]

    assert account(session, lambda _call: None).uses == [
        {2: "quote", 4: "handle"},
        {2: "quote"},
        {4: "handle"},
    ]


def test_call_that_left_before_its_result_has_no_later_uses() -> None:
    session = heap([("C", "tool_call:read", 5, 1), ("T", "tool_result:read", 10, 1)], calls=3)
    session.objects[0].last = 1
    session.objects[1].answers = 0
    session.uses += [Use(1, 1, "answer", 1.0, "used"), Use(1, 3, "quote", 1.0, "used")]

    assert account(session, lambda _call: None).uses == [{1: "answer"}, {1: "answer", 3: "quote"}]


def test_call_with_evidence_of_its_own_keeps_the_rule_that_says_so() -> None:
    session = heap([("C", "tool_call:read", 5, 1), ("T", "tool_result:read", 10, 1)], calls=3)
    session.objects[1].answers = 0
    session.uses += [Use(0, 2, "argument", 1.0, "used"), Use(1, 3, "quote", 1.0, "used")]

    assert account(session, lambda _call: None).uses[0] == {2: "argument", 3: "quote"}


def test_first_event_decides_from_when_an_object_is_surely_dead() -> None:
    session = heap([("T", "tool_result:read", 10, 1)], calls=6)
    session.superseded += [Superseded(0, 0, "superseded", 3), Superseded(0, 0, "invalidated", 5)]

    assert account(session, lambda _call: None).objects[0].dead_low == 40


def test_duplicate_whose_later_copy_is_gone_is_surely_dead_no_longer() -> None:
    session = heap([("T", "tool_result:read", 10, 1)], calls=6)
    session.superseded.append(Superseded(0, 0, "duplicate", 3))
    session.revived.append((0, 5))

    assert account(session, lambda _call: None).objects[0].dead_low == 20


def test_duplicate_is_surely_dead_again_when_another_copy_comes() -> None:
    session = heap([("T", "tool_result:read", 10, 1)], calls=9)
    session.superseded += [Superseded(0, 0, "duplicate", 3), Superseded(0, 0, "duplicate", 7)]
    session.revived += [(0, 5), (0, 8)]

    found = account(session, lambda _call: None)

    assert found.objects[0].dead_low == 30
    assert [found.lives[0].is_surely_dead_at(call) for call in range(1, 10)] == [
        *(False, False, True, True, False, False, True, False, False)
    ]


def test_lag_ends_at_the_first_use() -> None:
    session = heap([("T", "tool_result:read", 10, 1)], calls=3)
    session.uses.append(Use(0, 3, "quote", 1.0, "used"))

    assert account(session, lambda _call: None).objects[0].lag == 20
