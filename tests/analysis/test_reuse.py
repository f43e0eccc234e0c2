"""Check the chance that idle objects are used again, and what a compaction of a history comes to."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

import pytest

from ctxheap.analysis.compaction_advice import compaction_advice
from ctxheap.analysis.factors import Factors
from ctxheap.analysis.freeing import Course, Freed
from ctxheap.analysis.reuse import ARGUMENT_TOKENS, Reuse, refetch_tokens
from ctxheap.analysis.study import Study, study
from ctxheap.heap.evidence import Use
from ctxheap.heap.records import Call, Heap, HeapObject

SONNET = Factors(3e-6, 0.1, 1.25, 5.0)
READ = "tool_result:Read"


def session(
    objects: Sequence[tuple[str, int, int]],
    calls: int,
    *,
    uses: Mapping[int, Sequence[int]] | None = None,
    answers: Mapping[int, int] | None = None,
) -> Study:
    """Return a session of (tag, tokens, birth) objects that stay to the end."""
    found = Heap("s", None, "")
    for number, (tag, _, birth) in enumerate(objects):
        item = HeapObject(number, str(number), "text", tag, "", birth, calls, 0, pinned=False, error=False)
        item.answers = (answers or {}).get(number)
        found.objects.append(item)
    found.uses = [
        Use(number, call, "quote", 1.0, "used") for number, at in (uses or {}).items() for call in at
    ]
    for k in range(1, calls + 1):
        prompt = {n: size for n, (_, size, birth) in enumerate(objects) if birth <= k}
        born = tuple(n for n in prompt if objects[n][2] == k)
        found.calls.append(
            Call(
                number=k,
                id=str(k),
                model="m",
                provider="",
                started_ns=None,
                usage=None,
                numbers=array("I", prompt),
                tokens=array("q", prompt.values()),
                born=born,
                extends=True,
                exact=True,
                implied=False,
                incomplete=False,
                compaction=None,
                messages=0,
            )
        )
    return study(found, lambda _call: None)


def test_reuse_follows_the_survival_of_all_gaps_while_a_tag_has_few() -> None:
    # Gaps that ended: 2, 2 and 6; open: 10 four times, 8 twice and 4 once.
    objects = [(READ, 100, 1)] * 4 + [("tool_result:Bash", 100, 1)] * 3
    found = Reuse(session(objects, 11, uses={0: [3], 1: [3], 2: [7]}))

    # S(1) = 1, S(2) = 8/10; the open gap of 4 leaves 7 at risk at 6: S(6) = 8/10 · 6/7.
    assert found.probability(READ, idle=2, horizon=1) == pytest.approx(0.2)
    assert found.probability(READ, idle=3, horizon=5) == pytest.approx(1 / 7)


def test_reuse_is_never_below_the_rule_of_succession() -> None:
    found = Reuse(session([(READ, 100, 1)] * 8, 11))

    assert [found.probability(READ, idle=idle, horizon=5) for idle in (5, 11)] == [1 / 10, 1 / 2]


def test_longest_gap_and_idle_objects_are_counted_by_tag() -> None:
    found = Reuse(session([(READ, 100, 1), (READ, 100, 4)], 11, uses={0: [6]}))

    assert [
        found.longest(READ),
        found.longest("other"),
        *(found.watched(READ, idle=n) for n in (5, 6, 8)),
    ] == [
        5,
        0,
        3,
        1,
        0,
    ]


@pytest.mark.parametrize(("answers", "arguments"), [({}, ARGUMENT_TOKENS), ({1: 0}, 25)])
def test_refetching_pays_for_the_arguments_of_the_call_that_fetched_it(
    answers: Mapping[int, int], arguments: int
) -> None:
    found = session([("tool_call:Read", 25, 1), (READ, 2_000, 2)], 9, answers=answers)

    cost = refetch_tokens(found, Freed(1, 5, 2_000, 30_000, calls=4), SONNET)

    assert cost == pytest.approx(3_000 + 5 * arguments + 2_500 + 800)


def test_compaction_is_weighed_at_the_first_prompt_past_the_budget() -> None:
    objects = [("system_prompt", 5_000, 1), *[(READ, 10_000, k) for k in range(1, 21)]]
    found = session(objects, 20)

    [each] = compaction_advice(found, _course(20), budget=60_000, theta=lambda _tag: 6)

    # Call 6: 65,000 tokens, prefix 5,000, tail 20,000: 40,000 go for 2,000; 15 calls to come.
    cost = 0.1 * 65_000 + 5 * 2_000 + 1.15 * 22_000
    assert (each.objects, each.tokens, each.used_later, each.accepted) == (
        tuple(range(1, 5)),
        38_000,
        (),
        True,
    )
    assert [each.gross_tokens, each.rebill_tokens, each.net_tokens] == pytest.approx(
        [0.1 * 38_000 * 15, cost, 57_000 - cost]
    )


def test_compaction_of_what_was_used_later_is_refused_with_its_regret() -> None:
    objects = [("system_prompt", 5_000, 1), *[(READ, 10_000, k) for k in range(1, 21)]]
    found = session(objects, 20, uses={2: [15]})

    [each] = compaction_advice(found, _course(20), budget=60_000, theta=lambda _tag: 6)

    assert (each.accepted, each.used_later, each.reason, round(each.regret_tokens)) == (
        False,
        (2,),
        "would compact away 1 object before a later use",
        round(6_500 + 5 * ARGUMENT_TOKENS + 12_500 + 15_000),
    )


def test_a_session_below_the_budget_needs_no_compaction() -> None:
    found = session([("system_prompt", 5_000, 1)], 3)

    assert list(compaction_advice(found, _course(3), budget=60_000)) == []


def _course(calls: int) -> Course:
    return Course((0,) * calls, (SONNET,) * calls)
