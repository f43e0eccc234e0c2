"""Check that a heap asks for deferred counts at the end only, and is the same with and without them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.counts import BATCH_CHARS, Batch, TokenCounter
from ctxheap.heap.model import Part
from ctxheap.heap.records import HeapObject
from ctxheap_collector.cli.world import World
from ctxheap_collector.report.build import profile_paths
from ctxheap_collector.report.contract import Options


@dataclass(frozen=True, slots=True)
class Lengths:
    """Count characters as tokens, times a number that tells counters apart."""

    times: int = 1
    exact: bool = True

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text) * self.times for text in texts]


@dataclass(frozen=True, slots=True)
class LaterLengths(Lengths):
    """The same, later; note what is submitted and what is awaited."""

    submitted: list[list[str]] = field(default_factory=list[list[str]], compare=False)
    awaited: list[int] = field(default_factory=list[int], compare=False)

    def submit(self, texts: Sequence[str]) -> Callable[[], list[int]]:
        self.submitted.append(list(texts))

        def answer() -> list[int]:
            self.awaited.append(len(texts))
            return self.count(texts)

        return answer


def thing(text: str) -> tuple[HeapObject, Part]:
    part = Part("user", "text", "user_turn", text)
    item = HeapObject(
        number=0,
        id=part.identity.hex(),
        kind=part.kind,
        tag=part.tag,
        name="",
        birth=1,
        last=1,
        raw=0,
        pinned=False,
        error=False,
        answers=None,
    )
    return item, part


def sizes(texts: Sequence[str], counters: Sequence[TokenCounter]) -> list[int]:
    batch = Batch()
    things = [thing(text) for text in texts]
    for (item, part), counter in zip(things, counters, strict=True):
        batch.add(item, part, counter)
    batch.flush()
    return [item.raw for item, _ in things]


def test_counts_are_awaited_at_the_end_only_and_equal_texts_sent_once() -> None:
    counter = LaterLengths()
    batch = Batch()
    large = "x" * (BATCH_CHARS + 1)

    for text in ("a", "a", large, "a", "bb"):
        batch.add(*thing(text), counter)
    before = list(counter.awaited)
    batch.flush()

    assert before == []
    assert counter.submitted == [["a", large], ["bb"]]
    assert counter.awaited == [2, 1]


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(1, 2)), max_size=30))
def test_every_object_gets_the_count_of_its_text_by_its_own_counter(drawn: list[tuple[str, int]]) -> None:
    texts = [text for text, _ in drawn]
    expected = [len(text) * times for text, times in drawn]

    assert sizes(texts, [Lengths(times) for _, times in drawn]) == expected
    assert sizes(texts, [LaterLengths(times) for _, times in drawn]) == expected


def test_a_batch_can_be_filled_again_after_it_was_flushed() -> None:
    batch, counter = Batch(), LaterLengths()
    first, second = thing("one"), thing("three")

    batch.add(*first, counter)
    batch.flush()
    batch.add(*second, counter)
    batch.flush()

    assert (first[0].raw, second[0].raw) == (3, 5)


def test_the_command_line_makes_the_profile_that_the_library_makes(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    turns = [("user", "Why is the build slow?"), ("assistant", "Tests."), ("user", "{} and \ud800")]
    path.write_text(json.dumps({"messages": [{"role": role, "content": text} for role, text in turns]}))

    made = World().profiler([str(path)], options=Options())

    assert made == profile_paths([str(path)], options=Options())
