"""Check who owns what is billed beyond the parts of a prompt: framing, the hidden part, the signed rest."""

from __future__ import annotations

from array import array

from ctxheap.heap.model import Kind, Usage
from ctxheap.heap.owners import own_every_token
from ctxheap.heap.records import Call, Heap, HeapObject


def owned(raws: dict[str, int], *billed: int | None, messages: int = 0, exact: bool = True) -> Heap:
    """Return the heap of calls that all send the parts with these kinds and raw counts."""
    found = Heap("s", None, "")
    for number, (name, raw) in enumerate(raws.items()):
        kind: Kind = "hidden" if name == "hidden" else "text"
        found.objects.append(
            HeapObject(number, name, kind, "user_turn", name, 1, len(billed), raw, False, False)
        )
    for k, tokens in enumerate(billed, 1):
        found.calls.append(
            Call(
                number=k,
                id=str(k),
                model="m",
                provider="",
                started_ns=None,
                usage=None if tokens is None else Usage(uncached=tokens),
                numbers=array("I", range(len(raws))),
                tokens=array("q"),
                born=tuple(range(len(raws))) if k == 1 else (),
                extends=True,
                exact=exact,
                implied=False,
                incomplete=False,
                compaction=None,
                messages=messages,
            )
        )
    own_every_token(found)
    return found


def rows(heap: Heap) -> list[dict[str, int]]:
    """Return the tokens of each object at each call, by its id."""
    return [
        {heap.objects[number].id: tokens for number, tokens in zip(call.numbers, call.tokens, strict=True)}
        for call in heap.calls
    ]


def test_the_rest_is_signed() -> None:
    assert rows(owned({"a": 100}, 105, 95, 100)) == [
        {"a": 100, "framing": 3, "unattributed": 2},
        {"a": 100, "unattributed": -5},
        {"a": 100},
    ]


def test_framing_is_three_tokens_a_message_and_three_for_the_reply() -> None:
    assert rows(owned({"a": 100}, 109, messages=2)) == [{"a": 100, "framing": 9}]
    assert rows(owned({"a": 100}, 103, messages=0)) == [{"a": 100, "framing": 3}]


def test_hidden_content_owns_what_is_billed_beyond_the_visible_and_never_less_than_nothing() -> None:
    assert rows(owned({"hidden": 0, "a": 100}, 160, 80, exact=False)) == [
        {"hidden": 60, "a": 100},
        {"hidden": 0, "a": 80},
    ]


def test_what_no_part_owns_is_born_at_the_call_that_first_bills_it() -> None:
    heap = owned({"a": 100}, 100, 105, 106)

    assert [call.born for call in heap.calls] == [(0,), (1, 2), ()]
    assert [(item.id, item.birth, item.last) for item in heap.objects[1:]] == [
        ("framing", 2, 3),
        ("unattributed", 2, 3),
    ]
