"""Check what counts as regret after something left the prompt (SPEC 9)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from analysis.sessions import Thing
from analysis.sessions import session as made
from ctxheap.analysis.regret import Departure, EditMiss, Fetch, Misread, Regret, regret, thrash_index
from ctxheap.analysis.study import study
from ctxheap.heap.model import Compaction, Exchange, Part, Usage
from ctxheap.heap.records import Heap
from ctxheap.heap.session import HeapBuilder

TEXT = "def area(width, height):\n    return width * height\n" * 4
TOKENS = len(TEXT)


@dataclass(frozen=True, slots=True)
class Characters:
    """Count a character as a token."""

    exact: bool = True

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]


@dataclass(slots=True)
class Session:
    """Write a session down: every `do` is one call whose answer is in the next prompt."""

    prompt: list[Part] = field(
        default_factory=lambda: [Part("user", "text", "user_turn", "Make the tests pass.")]
    )
    exchanges: list[Exchange] = field(default_factory=list[Exchange])

    def do(
        self,
        tool: str,
        path: str,
        text: str = TEXT,
        *,
        error: bool = False,
        evict: str = "",
        compact: bool = False,
        usage: Usage | None = None,
    ) -> None:
        """Call a tool; `evict` takes the answers of a path out of the prompt of this very call."""
        kept = [
            part for part in self.prompt if not evict or part.kind != "tool_result" or evict != part.where
        ]
        compaction = Compaction() if compact else None
        call_id = f"c{len(self.exchanges)}"
        arguments = json.dumps({"file_path": path} | ({"content": call_id} if tool == "Write" else {}))
        request = Part("assistant", "tool_call", f"tool_call:{tool}", arguments, tool, call_id)
        self.exchanges.append(Exchange(call_id, tuple(kept), (request,), usage=usage, compaction=compaction))
        answer = Part(
            "tool", "tool_result", f"tool_result:{tool}", text, tool, call_id, error=error, where=path
        )
        self.prompt = [*kept, request, answer]

    def end(self) -> Regret:
        """Add a last call, and return what is regretted."""
        builder = HeapBuilder(session="s", counter_for=lambda _model, _provider: Characters())
        for exchange in (*self.exchanges, Exchange("end", tuple(self.prompt), ())):
            builder.add(exchange)
        return regret(study(builder.finish(), lambda call: None))


def test_text_that_left_and_came_back_the_same_is_a_regret_fetch() -> None:
    session = Session()
    session.do("Read", "/a.py")
    session.do("Read", "/b.py", "nothing of interest")
    session.do("Read", "/a.py", evict="/a.py")

    found = session.end()

    assert found.departures == (Departure(2, 3, TOKENS, is_compaction=False),)
    assert found.fetches == (Fetch(6, 2, 4, "regret", 1, TOKENS, "tool_result:Read", TOKENS),)
    assert (found.regret_distance, found.departed_tokens) == (1, TOKENS)
    assert found.thrash == {"tool_result:Read": 1.0}
    assert found.never_evict == ("tool_result:Read",)


def test_text_that_changed_is_fetched_of_necessity() -> None:
    session = Session()
    session.do("Read", "/a.py")
    session.do("Read", "/b.py", "nothing of interest")
    session.do("Read", "/a.py", TEXT + "# changed", evict="/a.py")

    found = session.end()

    assert [fetch.kind for fetch in found.fetches] == ["necessary"]
    assert found.thrash == {"tool_result:Read": 0.0}


def test_a_write_between_makes_the_fetch_necessary() -> None:
    session = Session()
    session.do("Read", "/a.py")
    session.do("Write", "/a.py", "written")
    session.do("Read", "/a.py", evict="/a.py")

    assert [fetch.kind for fetch in session.end().fetches] == ["necessary"]


def test_a_write_to_another_file_does_not() -> None:
    session = Session()
    session.do("Read", "/a.py")
    session.do("Write", "/b.py", "written")
    session.do("Read", "/a.py", evict="/a.py")

    assert [fetch.kind for fetch in session.end().fetches] == ["regret"]


def test_text_that_is_still_there_is_a_duplicate() -> None:
    session = Session()
    session.do("Read", "/a.py")
    session.do("Read", "/a.py")

    (fetch,) = session.end().fetches

    assert (fetch.kind, fetch.distance) == ("duplicate", 0)


def test_what_a_compaction_took_away_is_told_apart() -> None:
    session = Session()
    session.do("Read", "/a.py")
    session.do("Read", "/b.py", "x")
    session.do("Read", "/c.py", "x", evict="/a.py", compact=True)

    assert [each.is_compaction for each in session.end().departures] == [True]


def test_an_object_that_came_back_by_itself_is_no_departure_for_good() -> None:
    session = Session()
    session.do("Read", "/a.py")
    session.do("Read", "/b.py", "x")
    whole = list(session.prompt)
    session.do("Read", "/c.py", "x", evict="/a.py")
    session.prompt = [*whole, *session.prompt[4:]]

    assert session.end().departures == (Departure(2, 3, TOKENS, is_compaction=False, back=4),)


def test_an_edit_that_fails_within_three_calls_of_its_file_leaving_is_an_edit_miss() -> None:
    session = Session()
    session.do("Read", "/a.py")
    session.do("Read", "/b.py", "x")
    session.do("Read", "/c.py", "x", evict="/a.py")
    session.do("Edit", "/a.py", "String to replace not found", error=True)

    assert session.end().edit_misses == (EditMiss(8, 2, 5, 2),)


@pytest.mark.parametrize(("path", "waits"), [("/d.py", 0), ("/a.py", 2)])
def test_an_edit_of_another_file_or_long_after_is_none(path: str, waits: int) -> None:
    session = Session()
    session.do("Read", "/a.py")
    session.do("Read", "/b.py", "x")
    session.do("Read", "/c.py", "x", evict="/a.py")
    for number in range(waits):
        session.do("Read", f"/{number}.py", "x")
    session.do("Edit", path, "String to replace not found", error=True)

    assert session.end().edit_misses == ()


def test_an_answer_that_points_at_a_text_which_is_gone_is_misread() -> None:
    session = Session()
    session.do("Read", "/a.py")
    session.do("Read", "/b.py", "x")
    session.do("Read", "/c.py", "x", evict="/a.py")
    session.do("Read", "/a.py", "File unchanged since your last read, see the earlier result.")

    assert session.end().misreads == (Misread(5, "points at nothing", 8),)


def test_an_answer_that_points_at_a_text_which_is_there_is_not() -> None:
    session = Session()
    session.do("Read", "/a.py")
    session.do("Read", "/a.py", "File unchanged since your last read, see the earlier result.")

    assert session.end().misreads == ()


def test_thrash_index_looks_back_twenty_calls() -> None:
    session = Session()
    session.do("Read", "/a.py")
    session.do("Read", "/b.py", "x")
    session.do("Read", "/c.py", "x", evict="/a.py")
    for number in range(18):
        session.do("Read", f"/{number}.py", "x")
    session.do("Read", "/a.py")

    found = session.end()

    assert [fetch.distance for fetch in found.regret_fetches] == [20]
    assert found.thrash == {"tool_result:Read": 0.0}


def test_thrash_index_is_the_share_of_evicted_tokens_that_came_back() -> None:
    session = Session()
    session.do("Read", "/a.py")
    session.do("Read", "/b.py", "y" * TOKENS * 3)
    session.do("Read", "/c.py", "x", evict="/a.py")
    session.do("Read", "/d.py", "x", evict="/b.py")
    session.do("Read", "/a.py")

    assert session.end().thrash == {"tool_result:Read": 0.25}


def fetch(number: int, of: int, call: int, *, distance: int, tokens: int, left: int) -> Fetch:
    return Fetch(number, of, call, "regret", distance, tokens, "tool_result:Read", left)


def test_one_answer_evicted_and_fetched_once_is_thrash_of_one_whatever_its_new_size() -> None:
    heap = study_of_reads(2)
    gone = [Departure(0, 4, 1_655, is_compaction=False)]

    for tokens in (900, 1_655, 1_826):
        again = [fetch(1, 0, 7, distance=3, tokens=tokens, left=1_655)]

        assert thrash_index(heap, gone, again) == {"tool_result:Read": 1.0}


def test_what_left_once_and_came_back_twice_counts_once() -> None:
    heap = study_of_reads(4)
    gone = [Departure(0, 4, 500, is_compaction=False), Departure(3, 4, 500, is_compaction=False)]
    again = [
        fetch(1, 0, 6, distance=2, tokens=500, left=500),
        fetch(2, 0, 8, distance=4, tokens=500, left=500),
    ]

    assert thrash_index(heap, gone, again) == {"tool_result:Read": 0.5}


def test_thrash_is_of_the_tag_that_was_evicted_whichever_tool_fetched_it_again() -> None:
    heap = study_of_reads(2)
    heap.objects[1] = replace(heap.objects[1], tag="tool_result:cat")
    gone = [Departure(0, 4, 500, is_compaction=False)]
    again = [replace(fetch(1, 0, 6, distance=2, tokens=510, left=500), tag="tool_result:cat")]

    assert thrash_index(heap, gone, again) == {"tool_result:Read": 1.0}


def study_of_reads(count: int) -> Heap:
    return made([Thing("tool_result:Read", 500, 1) for _ in range(count)], calls=9).heap


def test_output_ratios_are_over_the_calls_that_report_reasoning() -> None:
    session = Session()
    session.do("Read", "/a.py", usage=Usage(uncached=900, output=150, reasoning=100))
    session.do("Read", "/b.py", usage=Usage(uncached=1_100, output=350, reasoning=100))
    session.do("Read", "/c.py", usage=Usage(uncached=5_000, output=70))

    found = session.end()

    assert (found.completion_per_reasoning, found.reasoning_per_prompt) == (1.5, 0.1)


def test_a_session_without_reasoning_and_departures_regrets_nothing() -> None:
    session = Session()
    session.do("Read", "/a.py")

    found = session.end()

    assert found == Regret((), (), 0, {}, (), (), (), None, None)
    assert found.regret_distance is None
