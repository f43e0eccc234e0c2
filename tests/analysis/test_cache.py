"""Check the ledger of the prompt cache against one that looks every prefix up."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ctxheap.analysis.cache import (
    HOUR_SECONDS,
    NS_PER_SECOND,
    PromptCache,
    Served,
    gaps_seconds,
    shared_prefix,
)

CASES = 3_000

Prompt = tuple[tuple[int, ...], tuple[int, ...], str, int | None]


def test_what_stands_in_front_is_read_and_the_rest_is_written() -> None:
    cache = PromptCache()

    served = [
        cache.send("abc", [10, 20, 30]),
        cache.send("abcd", [10, 20, 30, 5]),
        cache.send("axcd", [10, 4, 30, 5]),
        cache.send("abcde", [10, 20, 30, 5, 1]),
    ]

    assert served == [Served(0, 60, 0, 0), Served(60, 5, 0, 3), Served(10, 39, 0, 1), Served(65, 1, 0, 4)]


def test_automatic_caches_bill_nothing_as_written() -> None:
    cache = PromptCache(writes=False)

    served = [cache.send("ab", [10, 20]), cache.send("abc", [10, 20, 5])]

    assert served == [Served(0, 0, 30, 0), Served(30, 0, 5, 2)]


def test_a_prefix_dies_after_its_time_to_live_and_reading_renews_it() -> None:
    cache = PromptCache()

    read = [
        cache.send("ab", [10, 20], started_ns=second * NS_PER_SECOND).read for second in (0, 300, 600, 901)
    ]

    assert read == [0, 30, 30, 0]


def test_an_hour_long_prefix_lives_an_hour() -> None:
    cache = PromptCache(ttl_seconds=HOUR_SECONDS)

    read = [cache.send("ab", [10, 20], started_ns=second * NS_PER_SECOND).read for second in (0, 3600, 7201)]

    assert read == [0, 30, 0]


def test_models_share_nothing() -> None:
    cache = PromptCache()

    read = [cache.send("ab", [10, 20], model=model).read for model in ("one", "two", "one")]

    assert read == [0, 0, 30]


def test_short_prefixes_are_neither_stored_nor_served() -> None:
    cache = PromptCache(minimum_tokens=1024)

    served = [
        cache.send("a", [1000]),
        cache.send("ab", [1000, 500]),
        cache.send("ac", [1000, 500]),
        cache.send("abd", [1000, 500, 1]),
    ]

    assert served == [
        Served(0, 0, 1000, 0),
        Served(0, 1500, 0, 0),
        Served(0, 1500, 0, 0),
        Served(1500, 1, 0, 2),
    ]


def test_asking_what_would_be_read_sends_nothing() -> None:
    cache = PromptCache()
    cache.send("ab", [10, 20], started_ns=0)

    asked = [cache.shared("abc", started_ns=second * NS_PER_SECOND) for second in (300, 300, 301)]

    assert (asked, cache.send("ab", [10, 20], started_ns=301 * NS_PER_SECOND).read) == ([2, 2, 0], 0)


def test_shared_prefix_equals_a_count_part_by_part() -> None:
    dice = random.Random(5)
    pairs = [
        (
            [dice.randrange(2) for _ in range(dice.randrange(9))],
            [dice.randrange(2) for _ in range(dice.randrange(9))],
        )
        for _ in range(CASES)
    ]

    assert [shared_prefix(left, right) for left, right in pairs] == [_counted(*pair) for pair in pairs]


def test_ledger_equals_brute_force_on_3000_random_sessions() -> None:
    dice = random.Random(7)
    for _ in range(CASES):
        prompts = _session(dice)
        ttl, writes, minimum = dice.choice([5, 60]), dice.random() < 0.5, dice.choice([0, 0, 25])
        cache = PromptCache(ttl, writes, minimum)

        served = [cache.send(ids, sizes, model=model, started_ns=ns) for ids, sizes, model, ns in prompts]

        assert served == _brute_force(prompts, ttl=ttl, writes=writes, minimum=minimum)


def test_gaps_are_unknown_where_a_call_has_no_time() -> None:
    assert list(gaps_seconds([0, 2 * NS_PER_SECOND, None, 5])) == [2.0, None, None]


def _counted(left: Sequence[int], right: Sequence[int]) -> int:
    count = 0
    while count < min(len(left), len(right)) and left[count] == right[count]:
        count += 1
    return count


def _session(dice: random.Random) -> list[Prompt]:
    """Return calls that append, edit in the middle, go back, change the model and pause."""
    has_times = dice.random() < 0.8
    ids: list[int] = [0]
    size = {number: dice.randrange(1, 20) for number in range(200)}
    now, fresh = 0, 1
    prompts: list[Prompt] = []
    for _ in range(dice.randrange(1, 12)):
        for _ in range(dice.randrange(3)):
            ids.append(fresh)
            fresh += 1
        move = dice.random()
        if move < 0.2:
            ids[dice.randrange(len(ids))] = fresh
            fresh += 1
        elif move < 0.3 and len(ids) > 1:
            del ids[dice.randrange(len(ids))]
        elif move < 0.45 and prompts:
            ids = list(dice.choice(prompts)[0])
        now += dice.choice([1, 1, 4, 5, 6, 70]) * NS_PER_SECOND
        sizes = tuple(size[number] for number in ids)
        prompts.append((tuple(ids), sizes, dice.choice("mmmn"), now if has_times else None))
    return prompts


def _brute_force(prompts: Sequence[Prompt], *, ttl: int, writes: bool, minimum: int) -> list[Served]:
    """Look every prefix up among all prefixes ever sent, each with the time of its last sending."""
    last: dict[tuple[str, tuple[int, ...]], int | None] = {}
    found: list[Served] = []
    for ids, sizes, model, now in prompts:
        parts = 0
        for length in range(1, len(ids) + 1):
            key = (model, ids[:length])
            if key not in last:
                break
            sent = last[key]
            if sent is not None and now is not None and now - sent > ttl * NS_PER_SECOND:
                break
            parts = length
        if sum(sizes[:parts]) < minimum:
            parts = 0
        read, total = sum(sizes[:parts]), sum(sizes)
        stores = total >= minimum
        if stores:
            last.update({(model, ids[:length]): now for length in range(1, len(ids) + 1)})
        written = total - read if stores and writes else 0
        found.append(Served(read, written, total - read - written, parts))
    return found
