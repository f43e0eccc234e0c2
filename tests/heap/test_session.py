"""Check what a session's heap promises: every billed token has one owner, whatever the order of input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.account import account
from ctxheap.heap.model import Exchange, Part, Role, Usage
from ctxheap.heap.records import Call, Heap
from ctxheap.heap.rent import input_bill
from ctxheap.heap.session import HeapBuilder


@dataclass(frozen=True, slots=True)
class Quarters:
    """Count four characters as one token."""

    exact: bool

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text) // 4 for text in texts]


@dataclass(frozen=True, slots=True)
class Flat:
    """Price the classes apart, so that a token in the wrong one shows."""

    uncached: float = 3e-6
    cache_read: float = 3e-7
    cache_write_5m: float = 3.75e-6
    cache_write_1h: float = 6e-6


def build(exchanges: Sequence[Exchange], *, exact: bool = False) -> Heap:
    builder = HeapBuilder(session="s", counter_for=lambda _model, _provider: Quarters(exact))
    for exchange in exchanges:
        builder.add(exchange)
    return builder.finish()


def said(text: str, tag: str = "user_turn") -> Part:
    roles: dict[str, Role] = {"system_prompt": "system", "agent_output": "assistant"}
    return Part(roles.get(tag, "user"), "text", tag, text)


def asked(call_id: str) -> Part:
    return Part("assistant", "tool_call", "tool_call:read", '{"path": "a.py"}', "read", call_id)


def answered(text: str, call_id: str) -> Part:
    return Part("tool", "tool_result", "tool_result:read", text, "read", call_id)


@st.composite
def sessions(draw: st.DrawFn) -> list[Exchange]:
    """Draw a loop of tool calls that at times drops the middle of its prompt, with any usage."""
    prompt = [said("be careful" * 9, "system_prompt"), said("find the bug in the ledger " * 3)]
    exchanges: list[Exchange] = []
    for number in range(draw(st.integers(1, 12))):
        call_id = f"c{number}"
        text, call = said(draw(st.text(max_size=40)), "agent_output"), asked(call_id)
        tokens = st.integers(0, 9_000)
        usage = Usage(draw(tokens), draw(tokens), draw(tokens), draw(tokens), output=draw(tokens))
        billed = draw(st.none() | st.just(usage))
        exchanges.append(Exchange(str(number), tuple(prompt), (text, call), usage=billed))
        result = answered(draw(st.text(max_size=400)), call_id)
        prompt = [*prompt, text, call, result]
        if draw(st.integers(0, 4)) == 0:
            prompt = prompt[:2] + prompt[-3:]
    return exchanges


@given(sessions(), st.booleans())
def test_objects_add_up_to_the_billed_input_at_every_call(exchanges: list[Exchange], exact: bool) -> None:
    heap = build(exchanges, exact=exact)

    billed = [call.usage.input for call in heap.calls if call.usage]
    assert [sum(call.tokens) for call in heap.calls if call.usage] == billed


@given(sessions())
def test_phases_add_up_to_token_calls_and_dead_stays_within_them(exchanges: list[Exchange]) -> None:
    sums = account(build(exchanges), lambda _call: Flat())

    owned = sum(sum(series.values()) for series in sums.series)
    assert sum(item.token_calls for item in sums.objects) == owned
    assert all(
        item.dead_low <= item.dead == item.drag + item.void for item in sums.objects if item.first >= 0
    )


@given(sessions())
def test_rent_adds_up_to_the_input_bill(exchanges: list[Exchange]) -> None:
    heap = build(exchanges)

    rent = sum(item.rent_usd for item in account(heap, lambda _call: Flat()).objects)
    bill = sum(input_bill(call.usage, Flat()) for call in heap.calls if call.usage)
    assert abs(rent - bill) <= 1e-9 * max(1.0, bill)


@given(sessions())
def test_a_repeated_call_changes_nothing(exchanges: list[Exchange]) -> None:
    repeated = [exchange for exchange in exchanges for _ in range(2)]

    assert summary(build(repeated)) == summary(build(exchanges))


@given(sessions())
def test_parts_made_anew_for_every_call_change_nothing(exchanges: list[Exchange]) -> None:
    copies = [replace(item, prompt=tuple(map(replace, item.prompt))) for item in exchanges]

    assert summary(build(copies)) == summary(build(exchanges))


def summary(heap: Heap) -> list[tuple[object, ...]]:
    calls: list[Call] = heap.calls
    return [
        *((call.id, tuple(call.numbers), tuple(call.tokens)) for call in calls),
        *((item.id, item.birth, item.last, item.raw) for item in heap.objects),
        *((use.number, use.call, use.rule) for use in heap.uses),
        *((event.number, event.by, event.call) for event in heap.superseded),
    ]


def test_copy_that_leaves_the_prompt_revives_the_one_before_it() -> None:
    text = "the same long listing of many files " * 3
    first, second = answered(text, "c0"), answered(text, "c1")
    # Another place with the same content: a second read of the same place would supersede the first for good.
    elsewhere = Part("assistant", "tool_call", "tool_call:read", '{"path": "b.py"}', "read", "c1")
    opening = [said("be careful", "system_prompt"), said("look around")]
    prompts = [
        [*opening, asked("c0"), first],
        [*opening, asked("c0"), first, elsewhere, second],
        [*opening, asked("c0"), first],
    ]

    heap = build([Exchange(str(n), tuple(prompt), ()) for n, prompt in enumerate(prompts)])

    dead = {(event.number, event.call) for event in heap.superseded}
    assert (3, 2) in dead
    assert heap.revived == [(3, 3)]


def test_object_that_only_changes_its_place_has_not_just_arrived() -> None:
    listing = answered("forty files, none of them large", "c0")
    opening = [said("be careful", "system_prompt"), said("look around"), asked("c0"), listing]
    note, answer = said("a note of no use", "harness:note"), said("Hm.", "agent_output")
    prompts = [opening[:2], opening, [*opening, answer], [opening[0], note, *opening[1:], answer]]

    heap = build([Exchange(str(n), tuple(prompt), (answer,)) for n, prompt in enumerate(prompts)])

    assert [(use.call, use.rule) for use in heap.uses if use.number == 3] == [(2, "answer")]


STUB = "Old environment output: (40 lines omitted)"


def cleared(call_id: str, text: str = STUB) -> Part:
    return Part("tool", "tool_result", "receipt", text, "read", call_id)


def test_stub_is_a_receipt_behind_an_answer_and_where_the_answer_was_not_seen() -> None:
    task, call = said("find the bug"), asked("c1")
    seen = [
        Exchange("1", (task,), (call,)),
        Exchange("2", (task, call, answered("x = 1", "c1")), (asked("c2"),)),
        Exchange("3", (task, call, cleared("c1"), asked("c2"), answered("y", "c2")), ()),
    ]

    assert [item.tag for item in build(seen).objects if item.answers == 1] == ["tool_result:read", "receipt"]
    assert [item.tag for item in build(seen[2:]).objects if item.answers == 1] == ["receipt"]


def test_tool_that_answers_like_a_stub_gave_a_result() -> None:
    task, call = said("clear the screen"), asked("c1")
    prompts = [Exchange("1", (task,), (call,)), Exchange("2", (task, call, cleared("c1", "[cleared]")), ())]

    assert [item.tag for item in build(prompts).objects if item.answers == 1] == ["tool_result:read"]


def sizes(heap: Heap) -> list[int]:
    return [item.raw for item in heap.objects]


def billed(number: int, prompt: Sequence[Part], tokens: int, model: str = "m") -> Exchange:
    return Exchange(str(number), tuple(prompt), (), model=model, usage=Usage(uncached=tokens))


def test_size_that_the_source_knows_is_not_measured_again() -> None:
    image = Part("user", "media", "media:image", tokens=50, text="picture")
    prompt = [said("abcd" * 100), image]

    assert sizes(build([billed(1, prompt, 210)])) == [140, 50]


def test_growth_of_a_prompt_that_was_rewritten_sizes_nothing() -> None:
    opening, old, new = said("abcd" * 100), said("efgh" * 100), said("ijkl" * 100)

    assert sizes(build([billed(1, [opening, old], 200), billed(2, [opening, new], 320)])) == [100, 100, 100]
    assert sizes(build([billed(1, [opening], 100), billed(2, [opening, new], 220)])) == [100, 120]


@dataclass(frozen=True, slots=True)
class Named(Quarters):
    """Count as `Quarters`, for one model."""

    model: str


def test_growth_between_two_models_sizes_nothing() -> None:
    builder = HeapBuilder(session="s", counter_for=lambda model, _provider: Named(False, model))
    opening, new = said("abcd" * 100), said("efgh" * 100)
    builder.add(billed(1, [opening], 100, "left"))
    builder.add(billed(2, [opening, new], 220, "right"))

    assert sizes(builder.finish()) == [100, 100]
