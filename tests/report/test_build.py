"""Check how transcripts become profiles: sessions joined, families ordered, prices applied, order ignored."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from ctxheap.heap.model import Compaction, Exchange, Part, Usage
from ctxheap.heap.records import Heap
from ctxheap_collector.report.build import heaps_of, parents_first, profile_paths, with_own_ids
from ctxheap_collector.report.contract import Options, ProfileError, SessionProfile
from ctxheap_collector.report.pricing import Pricing
from ctxheap_collector.report.session_rows import session_profile

MODEL = "claude-sonnet-4-5"
SECOND_NS = 1_000_000_000


def said(text: str, tag: str = "user_turn") -> Part:
    return Part("assistant" if tag == "agent_output" else "user", "text", tag, text)


def loop(calls: int, *, session: str = "", parent: str | None = None, tokens: int = 50) -> list[Exchange]:
    """Return a chat in which every call sends all that was said before."""
    prompt = [said(f"find the bug that {session or 'somebody'} has seen")]
    exchanges: list[Exchange] = []
    for k in range(1, calls + 1):
        answer = said(f"answer number {k} of {session or 'this chat'}", "agent_output")
        exchanges.append(
            Exchange(
                f"{session}-{k}",
                tuple(prompt),
                (answer,),
                session=session,
                parent=parent,
                model=MODEL,
                provider="anthropic",
                started_ns=k * SECOND_NS,
                usage=Usage(uncached=tokens * k, output=7),
            )
        )
        prompt += [answer, said(f"and then, after {k}?")]
    return exchanges


def figures(heap: Heap) -> tuple[object, ...]:
    return (
        heap.session,
        heap.parent,
        [tuple(call.tokens) for call in heap.calls],
        [use.call for use in heap.uses],
    )


def test_calls_without_a_session_are_joined_by_what_was_said() -> None:
    assert [len(heap.calls) for heap in heaps_of(loop(5))] == [5]


def test_order_and_repetition_of_calls_change_nothing() -> None:
    calls = [*loop(6, session="a"), *loop(4, session="b", parent="a")]
    shuffled = random.Random(7).sample(calls * 2, k=2 * len(calls))

    assert sorted(map(repr, map(figures, heaps_of(shuffled)))) == sorted(
        map(repr, map(figures, heaps_of(calls)))
    )


def test_children_stand_behind_their_parents_whatever_the_order() -> None:
    pricing, options = Pricing(None), Options()
    calls = [*loop(1, session="c", parent="b"), *loop(1, session="b", parent="a"), *loop(1, session="a")]
    profiles = [session_profile(heap, "f", pricing, options) for heap in heaps_of(calls)]

    assert [each.id for each in parents_first(profiles)] == ["a", "b", "c"]


def test_sessions_that_name_each_other_as_parents_are_all_kept() -> None:
    pricing, options = Pricing(None), Options()
    calls = [*loop(1, session="a", parent="b"), *loop(1, session="b", parent="a")]
    profiles = [session_profile(heap, "f", pricing, options) for heap in heaps_of(calls)]

    assert sorted(each.id for each in parents_first(profiles)) == ["a", "b"]


def test_file_changed_by_a_sub_agent_is_out_of_date_from_its_report() -> None:
    def tool(name: str, arguments: str, result: str, call_id: str) -> tuple[Part, Part]:
        return (
            Part("assistant", "tool_call", f"tool_call:{name}", arguments, name, call_id),
            Part("tool", "tool_result", f"tool_result:{name}", result, name, call_id),
        )

    read = tool("Read", '{"file_path": "/w/a.py"}', "1\timport os\n2\tprint(os.name)\n", "r")
    task = tool("Task", '{"prompt": "clean a.py up"}', "cleaned up", "t")
    write = tool("Write", '{"file_path": "/w/a.py", "content": "pass"}', "File created successfully", "w")
    calls = [
        Exchange("1", (said("tidy up"),), (read[0],), session="a", started_ns=1),
        Exchange("2", (said("tidy up"), *read), (task[0],), session="a", started_ns=2),
        Exchange("3", (said("clean a.py up"),), (write[0],), session="b", parent="a", started_ns=3),
        Exchange("4", (said("clean a.py up"), *write), (), session="b", parent="a", started_ns=4),
        Exchange("5", (said("tidy up"), *read, *task), (), session="a", started_ns=5),
    ]

    heap = next(heaps_of(calls))

    events = [(heap.objects[event.number].name, event.reason, event.call) for event in heap.superseded]
    assert ("Read /w/a.py", "handed_over", 3) in events


def test_cost_is_unknown_as_soon_as_one_call_has_no_price() -> None:
    known, unknown = loop(2, session="a"), [replace(each, model="nobody-7b") for each in loop(2, session="b")]
    pricing = Pricing(None)

    first, second = (session_profile(heap, "f", pricing, Options()) for heap in heaps_of([*known, *unknown]))

    assert first.cost_usd == pytest.approx((50 + 100) * 3e-6 + 14 * 15e-6)
    assert (second.cost_usd, second.input_usd, second.tags[0].rent_usd) == (None, None, None)
    assert [(row.model, row.calls, row.input, row.output) for row in second.unpriced] == [
        ("nobody-7b", 2, 150, 14)
    ]


def test_agent_that_compacts_by_itself_shows_the_window_it_was_given() -> None:
    calls = [replace(each, model="claude-opus-4-6") for each in loop(3, session="a", tokens=50_000)]
    compacted = replace(calls[2], compaction=Compaction(before=158_000, trigger="auto"))
    pricing = Pricing(None)

    windows = [
        next(session_profile(heap, "f", pricing, Options()).context.window for heap in heaps_of(each))
        for each in ([*calls], [*calls[:2], compacted])
    ]

    assert windows == [1_000_000, 200_000]


def test_broken_price_file_stops_the_run_and_names_the_file(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[[models]]\nname = 7\n")

    with pytest.raises(ProfileError, match=r"prices\.toml"):
        profile_paths([], options=Options(prices=str(prices)))


def test_file_that_cannot_be_read_is_listed_and_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    (tmp_path / "b.json").write_text(json.dumps({"messages": messages}))

    profile = profile_paths([str(tmp_path / "a.json"), str(tmp_path / "b.json")], options=Options())

    assert [(bool(file.skipped), file.sessions) for file in profile.files] == [(True, 0), (False, 1)]


def logged(folder: Path, usage: dict[str, object]) -> SessionProfile:
    """Return the profile of one logged call with that usage."""
    answer = {"choices": [{"message": {"role": "assistant", "content": "hello"}}], "usage": usage}
    line = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], "response": answer}
    (folder / "log.jsonl").write_text(json.dumps(line) + "\n")
    (session,) = profile_paths([str(folder / "log.jsonl")], options=Options()).sessions
    return session


def test_absurd_counts_of_tokens_are_no_counts(tmp_path: Path) -> None:
    session = logged(tmp_path, {"prompt_tokens": 10**30, "completion_tokens": "9" * 50})

    assert (session.billed.input, session.billed.output) == (0, 0)


def test_counts_beyond_32_bits_are_kept(tmp_path: Path) -> None:
    session = logged(tmp_path, {"prompt_tokens": 2**31 + 7, "completion_tokens": 1})

    assert (session.billed.input, session.conservation.exact_calls) == (2**31 + 7, 1)


def listing(k: int, question: str) -> tuple[Part, Part]:
    """Return a tool call and its answer, which is the same whatever was asked."""
    request = Part("assistant", "tool_call", "tool_call:look", f'{{"q": "{question}"}}', "look", f"c{k}")
    return request, Part("tool", "tool_result", "tool_result:look", "zebra quartz " * 20, "look", f"c{k}")


def test_copy_is_surely_dead_only_while_a_later_one_is_there() -> None:
    a, b, c = (listing(k, question) for k, question in enumerate(("one", "two", "three")))
    task = said("look into it")
    prompts = [[task], [task, *a], [task, *a, *b], [task, *a], [task, *a, *c], [task, *a]]
    heap = next(heaps_of(Exchange(f"k{k}", tuple(p), (), session="s") for k, p in enumerate(prompts)))

    made = session_profile(heap, "test", Pricing(None), Options(top=0))

    first = next(row for row in made.objects if row.tag == "tool_result:look" and row.birth == 2)
    tag = next(row for row in made.tags if row.tag == "tool_result:look")
    assert tag.dead_low_token_calls == 2 * first.tokens
    assert first.superseded_by is None


def chat(path: Path, text: str, *, name: str = "run.json") -> str:
    path.mkdir(exist_ok=True)
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": f"as to {text}: yes"}]
    (path / name).write_text(json.dumps(messages), "utf-8")
    return str(path / name)


def test_sessions_of_one_name_have_ids_of_their_own(tmp_path: Path) -> None:
    paths = [chat(tmp_path / folder, f"question {folder}") for folder in ("a", "b", "c")]

    made = profile_paths(paths, options=Options())

    assert [session.id for session in made.sessions] == ["run", "run~2", "run~3"]


def test_children_name_their_parents_by_the_ids_they_are_given() -> None:
    first, second = loop(2, session="main"), loop(2, session="sub", parent="main")
    heaps = list(heaps_of([*first, *second]))
    sessions = [session_profile(heap, "test", Pricing(None), Options()) for heap in heaps]

    made = list(with_own_ids(sessions, Counter({"main": 1})))

    assert [(session.id, session.parent) for session in made] == [("main~2", None), ("sub", "main~2")]


def test_order_and_repetition_of_arguments_change_nothing(tmp_path: Path) -> None:
    paths = [chat(tmp_path / folder, f"question {folder}") for folder in ("a", "b", "c")]

    made = profile_paths(paths, options=Options())

    assert profile_paths([*paths[::-1], paths[1]], options=Options()) == made


def costed(shares: list[float | None]) -> SessionProfile:
    """Return the profile of a session whose source records these shares of what each call cost."""
    pricing = Pricing(None)
    (heap,) = heaps_of(loop(len(shares), tokens=1_000_000))
    costs = [pricing.cost(call) or 0.0 for call in heap.calls]
    for call, cost, share in zip(heap.calls, costs, shares, strict=True):
        call.recorded_usd = None if share is None else cost * share
    return session_profile(heap, "f", pricing, Options())


@pytest.mark.parametrize("shares", [[1.0, 1.0], [0.85, 0.85], [1.2, 1.2], [0.5, None], [None, None]])
def test_cost_that_agrees_with_the_recorded_one_or_has_none_needs_no_remark(
    shares: list[float | None],
) -> None:
    assert costed(shares).quality.warnings == ()


@pytest.mark.parametrize(
    ("share", "told"),
    [(0.5, "says $9.00, not $18.00"), (2.0, "says $36.00, not $18.00"), (0.8, "says $14.40")],
)
def test_cost_that_the_source_says_otherwise_is_remarked(share: float, told: str) -> None:
    (warning,) = costed([share, share]).quality.warnings

    assert told in warning
