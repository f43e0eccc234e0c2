"""Check that every planted cause of a cache break is named, with its place and what was billed anew."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ctxheap.analysis import breaks
from ctxheap.analysis.breaks import CacheBreak, Cause, CauseSum, worst_causes
from ctxheap.analysis.cache import NS_PER_SECOND, PromptCache
from ctxheap.analysis.gc_points import GcPoint, gc_points
from ctxheap.analysis.study import Study, study
from ctxheap.heap.model import Compaction, Usage
from ctxheap.heap.records import Call, Heap, HeapObject
from ctxheap.heap.supersession import Superseded
from ctxheap.prices import Rates

RATES = Rates(1e-3, 1e-4, 1.25e-3, 2e-3, 5e-3, "test", "2026-12-01")
TAGS = (
    "tool_definition:read",
    "system_prompt",
    "user_turn",
    "tool_result:a",
    "tool_result:b",
    "tool_result:c",
    "tool_definition:read",
    "system_prompt",
    "receipt",
    "summary",
    "harness:reminder",
    "tool_result:a",
    "unattributed",
)
TOOL, SYSTEM, USER, A, B, C, TOOL_2, SYSTEM_2, RECEIPT, SUMMARY, REMINDER, A_2, REST = range(len(TAGS))
SIZE = 2_000
BASE = (TOOL, SYSTEM, USER, A, B)


def session(
    *prompts: Sequence[int],
    minutes: Sequence[int] = (),
    models: Sequence[str] = (),
    compacted: Sequence[int] = (),
    writes: bool = True,
) -> Heap:
    """Return a heap of prompts of 2,000-token objects, billed by a prompt cache."""
    found = Heap("s", None, "")
    for number, tag in enumerate(TAGS):
        calls = [place for place, prompt in enumerate(prompts, 1) if number in prompt] or [1]
        found.objects.append(
            HeapObject(
                number, str(number), "text", tag, "", min(calls), max(calls), 0, pinned=False, error=False
            )
        )
    cache = PromptCache(writes=writes)
    for place, prompt in enumerate(prompts):
        started = minutes[place] * 60 * NS_PER_SECOND if minutes else None
        model = models[place] if models else "claude-test"
        served = cache.send(prompt, [SIZE] * len(prompt), model=model, started_ns=started)
        found.calls.append(
            Call(
                number=place + 1,
                id=str(place),
                model=model,
                provider="",
                started_ns=started,
                usage=Usage(served.uncached, served.read, served.written),
                numbers=array("I", prompt),
                tokens=array("q", [SIZE] * len(prompt)),
                born=tuple(n for n in prompt if found.objects[n].birth == place + 1),
                extends=place == 0 or tuple(prompt[: len(prompts[place - 1])]) == tuple(prompts[place - 1]),
                exact=True,
                implied=False,
                incomplete=False,
                compaction=Compaction() if place + 1 in compacted else None,
                messages=0,
            )
        )
    return found


def cache_breaks(found: Study) -> list[CacheBreak]:
    """Return the breaks with their money rounded, so that they compare as whole values."""
    return [
        each if each.gross_usd is None else replace(each, gross_usd=round(each.gross_usd, 9))
        for each in breaks.cache_breaks(found)
    ]


def studied(heap: Heap, rates: Rates | None = RATES) -> Study:
    return study(heap, lambda _call: rates)


@pytest.mark.parametrize(
    ("prompt", "number", "cause", "objects"),
    [
        ((TOOL_2, SYSTEM, USER, A, B), TOOL_2, "tools", 4),
        ((TOOL, SYSTEM_2, USER, A, B), SYSTEM_2, "system", 3),
        ((TOOL, SYSTEM, USER, B, C), A, "eviction", 2),
        ((TOOL, SYSTEM, USER, RECEIPT, B), A, "eviction", 1),
        ((TOOL, SYSTEM, USER, A_2, B), A_2, "rewrite", 1),
        ((TOOL, SYSTEM, REMINDER, USER, A, B), REMINDER, "insertion", 3),
        ((TOOL, SYSTEM, A, USER, B), A, "rewrite", 3),
    ],
)
def test_every_planted_difference_is_named_with_its_object_and_its_price(
    prompt: tuple[int, ...], number: int, cause: Cause, objects: int
) -> None:
    found = cache_breaks(studied(session(BASE, (*BASE, C), prompt)))

    tokens = objects * SIZE
    usd = round(tokens * 1.15e-3, 9)
    assert found == [CacheBreak(3, number, TAGS[number], cause, tokens, usd)]


def test_an_agent_that_only_appends_breaks_nothing() -> None:
    assert cache_breaks(studied(session(BASE[:3], BASE[:4], BASE, (*BASE, C)))) == []


def test_what_the_provider_adds_at_the_end_breaks_nothing() -> None:
    heap = session((*BASE[:4], REST), (*BASE, REST))
    heap.calls[1].usage = Usage(cache_read=4 * SIZE, cache_write_5m=2 * SIZE)

    assert cache_breaks(studied(heap)) == []


def test_the_end_cut_off_breaks_nothing() -> None:
    assert cache_breaks(studied(session(BASE, BASE[:4]))) == []


def test_another_model_starts_from_nothing() -> None:
    found = cache_breaks(studied(session(BASE, BASE, models=("claude-a", "claude-b"))))

    assert found == [CacheBreak(2, None, "", "model", 5 * SIZE, 11.5)]


def test_a_long_pause_is_named_whatever_else_changed() -> None:
    heap = session(BASE, BASE, (TOOL, SYSTEM_2, USER, A, B), minutes=(0, 5, 11))

    assert cache_breaks(studied(heap)) == [CacheBreak(3, None, "", "ttl", 4 * SIZE, 9.2)]


def test_a_pause_that_the_cache_outlived_is_no_break() -> None:
    heap = session(BASE, BASE, minutes=(0, 11))
    heap.calls[1].usage = Usage(cache_read=5 * SIZE)

    assert cache_breaks(studied(heap)) == []


def test_a_pause_that_seems_to_lie_behind_the_call_that_read_nothing_is_named() -> None:
    heap = session(BASE, BASE, BASE, minutes=(0, 1, 9))
    heap.calls[1].usage = Usage(cache_write_5m=5 * SIZE)
    heap.calls[2].usage = Usage(cache_read=5 * SIZE)

    assert cache_breaks(studied(heap)) == [CacheBreak(2, None, "", "ttl", 5 * SIZE, 11.5)]


def test_a_compaction_is_named_by_its_summary() -> None:
    found = cache_breaks(studied(session(BASE, (TOOL, SYSTEM, SUMMARY, B), compacted=(2,))))

    assert found == [CacheBreak(2, SUMMARY, "summary", "compaction", SIZE, 2.3)]


def test_a_clock_in_the_system_prompt_is_told_from_an_edit() -> None:
    heap = session(BASE, (TOOL, SYSTEM_2, USER, A, B))
    heap.facts.shapes = {SYSTEM: "same", SYSTEM_2: "same"}

    assert [(each.cause, each.number) for each in cache_breaks(studied(heap))] == [("volatile", SYSTEM_2)]


def test_equal_prompts_that_were_not_served_are_the_providers() -> None:
    heap = session(BASE, BASE, BASE)
    heap.calls[2].usage = Usage(cache_write_5m=5 * SIZE)

    assert cache_breaks(studied(heap)) == [CacheBreak(3, None, "", "provider", 5 * SIZE, 11.5)]


def test_without_cache_traffic_only_shown_causes_of_automatic_caches_count() -> None:
    heap = session(BASE, BASE, (TOOL, SYSTEM_2, USER, A, B), writes=False)
    for call in heap.calls:
        call.usage = Usage(uncached=5 * SIZE)
    automatic = replace(RATES, cache_write_5m=1e-3, cache_write_1h=1e-3)

    found = [cache_breaks(studied(heap, rates)) for rates in (automatic, RATES)]

    assert found == [[CacheBreak(3, SYSTEM_2, "system_prompt", "system", 4 * SIZE, 7.2)], []]


def test_money_of_a_break_is_unknown_without_prices() -> None:
    found = cache_breaks(studied(session(BASE, BASE, models=("claude-a", "claude-b")), None))

    assert found == [CacheBreak(2, None, "", "model", 5 * SIZE, None)]


def test_calls_without_usage_are_passed_over() -> None:
    heap = session(BASE, BASE, models=("claude-a", "claude-b"))
    heap.calls[1].usage = None

    assert cache_breaks(studied(heap)) == []


def test_worst_causes_add_up_by_agent() -> None:
    found = [
        ("coder", CacheBreak(3, 1, "system_prompt", "volatile", 5_000, 0.5)),
        ("coder", CacheBreak(4, 2, "system_prompt", "volatile", 6_000, 0.5)),
        ("coder", CacheBreak(5, None, "", "ttl", 20_000, None)),
        ("helper", CacheBreak(5, None, "", "ttl", 1_500, 0.25)),
    ]

    assert worst_causes(found) == [
        CauseSum("coder", "ttl", "", 1, 20_000, None),
        CauseSum("coder", "volatile", "system_prompt", 2, 11_000, 1.0),
        CauseSum("helper", "ttl", "", 1, 1_500, 0.25),
    ]


def test_a_cold_cache_is_a_free_gc_point_for_what_is_dead() -> None:
    heap = session(BASE, BASE, BASE, BASE, minutes=(0, 1, 20, 21))
    heap.superseded = [Superseded(A, B, "superseded", 2)]

    points = [
        replace(
            each,
            gross_low_tokens=round(each.gross_low_tokens, 6),
            gross_low_usd=round(each.gross_low_usd or 0, 9),
            gross_usd=round(each.gross_usd or 0, 9),
        )
        for each in gc_points(studied(heap))
    ]

    # A is surely dead, B was never used: call 3 writes both anew and call 4 reads them.
    assert points == [
        GcPoint(
            3,
            "ttl",
            (A,),
            SIZE,
            2 * SIZE,
            2_700.0,
            2.7,
            5.4,
        )
    ]


@pytest.mark.parametrize(
    ("prompt", "models", "causes"),
    [
        ((TOOL_2, SYSTEM, USER, A, B), (), ["tools"]),
        (BASE, ("a", "b"), ["model"]),
        ((TOOL, SYSTEM, USER, B, A), (), []),
        (BASE, (), []),
    ],
)
def test_only_changes_that_leave_no_prefix_are_free(
    prompt: tuple[int, ...], models: tuple[str, ...], causes: list[str]
) -> None:
    found = gc_points(studied(session(BASE, prompt, models=models)))

    assert [point.cause for point in found] == causes


def test_a_cold_cache_with_nothing_dead_is_no_gc_point() -> None:
    base = (TOOL, SYSTEM, USER)

    assert gc_points(studied(session(base, base, minutes=(0, 20)))) == []
