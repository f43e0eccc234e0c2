"""Trace why an object is still in the context: root to object, a verdict for each step.

    user_turn (task)         Expected
      │ derivation
    tool_call:search         Expected
      │ pair
    tool_result:search       Expected
      ┊ derivation  ◀ suspect: the last node that is needed holds the first that is not
    tool_call:fetch          Stuck
      │ pair (the API asks for it)
    tool_result:fetch        Stuck

The walk goes up the retain edges (SPEC 5.2): a result is held by its call, a call by the one object
that its arguments came from. Where that ends without a root, nothing but the application's own
message list holds the object: the edge is `history`, and it is the suspect one. After LeakCanary's
leak traces (SPEC 6), whose signature of the suspect edges groups the same leak over many sessions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from ctxheap.analysis.study import Study
from ctxheap.analysis.trace_groups import group, signature
from ctxheap.analysis.trace_records import Forced, Hold, Leaks, Node, Trace, Verdict
from ctxheap.heap.records import Heap
from ctxheap.heap.rent import input_bill
from ctxheap.heap.retain import Edge, EdgeKind, edges_of, roots_at
from ctxheap.heap.retained import argument_sources
from ctxheap.heap.subject import base_of

__all__ = [
    "Forced",
    "Leaks",
    "Node",
    "Trace",
    "Tracer",
    "group",
    "signature",
    "suspect_edges",
    "trace",
    "unforced",
]

RECENT_CALLS = 10
"""Calls whose price per token is taken for the money to come (SPEC 6, step 9)."""
MAX_NODES = 64
FORCED: tuple[Hold, ...] = ("pair", "turn")
"""Edges that the provider's API asks for: no fault of the application."""


class Tracer:
    """Trace objects of one session; the graph is made once."""

    def __init__(
        self, study: Study, *, theta: Mapping[str, int] | None = None, remaining: float = 0.0
    ) -> None:
        self._study = study
        self._theta = theta or {}
        self._remaining = remaining
        self._edges = edges_of(study.heap.objects, argument_sources(study.heap))
        self._holders: dict[int, list[Edge]] = {}
        self._held: dict[int, list[Edge]] = {}
        for edge in self._edges:
            self._holders.setdefault(edge.target, []).append(edge)
            if edge.is_forced:
                self._held.setdefault(edge.source, []).append(edge)
        self._roots: dict[int, set[int]] = {}
        repeats = study.heap.facts.repeats
        self._contained = {each.of: each.call for each in reversed(repeats) if each.kind == "contains"}
        self._reasons = {event.number: event.reason for event in reversed(study.heap.superseded)}
        self._price = _price_usd(study)

    def trace(self, number: int, call: int | None = None) -> Trace:
        """Return why an object is in the prompt of a call; raises KeyError if it is not in it."""
        heap = self._study.heap
        at = heap.objects[number].last if call is None else call
        sizes = dict(zip(heap.calls[at - 1].numbers, heap.calls[at - 1].tokens, strict=True))
        path = self._path(number, at, sizes)
        nodes = self._nodes(path, at, sizes)
        sums = self._study.account.objects[number]
        is_priced = self._study.is_priced and not self._study.account.unpriced
        rule = self._rule(number, at)
        return Trace(
            session=heap.session,
            number=number,
            call=at,
            rule=rule,
            nodes=nodes,
            forced=self._forced(number, sizes),
            tokens=sizes[number],
            rent_usd=sums.rent_usd if is_priced else None,
            dead_usd=sums.dead_usd if is_priced else None,
            to_come_usd=None if self._price is None else self._price * sizes[number] * self._remaining,
            signature=self._signature(number, rule, nodes),
            started_ns=_times(heap),
        )

    def _path(self, number: int, call: int, sizes: Mapping[int, int]) -> list[tuple[int, Hold]]:
        """Return the objects from the root to the traced one, each with how it is held."""
        roots = self._roots_at(call)
        path: list[tuple[int, Hold]] = []
        seen = {number}
        while number not in roots and len(path) < MAX_NODES:
            holders = [
                edge
                for edge in self._holders.get(number, ())
                if edge.source in sizes and edge.source not in seen and _holds_on(edge)
            ]
            if not holders:
                path.append((number, "history"))
                return path[::-1]
            edge = max(holders, key=lambda each: (each.kind == "pair", each.source))
            path.append((number, edge.kind))
            number = edge.source
            seen.add(number)
        path.append((number, "root"))
        return path[::-1]

    def _roots_at(self, call: int) -> set[int]:
        if call not in self._roots:
            self._roots[call] = roots_at(self._study.heap.objects, call)
        return self._roots[call]

    def _nodes(
        self, path: Sequence[tuple[int, Hold]], call: int, sizes: Mapping[int, int]
    ) -> tuple[Node, ...]:
        verdicts: list[Verdict] = [self._verdict(number, call) for number, _ in path]
        suspects = unforced(
            suspect_edges(verdicts, starts_in_history=path[0][1] == "history"),
            [hold in FORCED for _, hold in path],
        )
        return tuple(
            self._node(step, call, sizes, verdict=verdicts[place], is_suspect=place in suspects)
            for place, step in enumerate(path)
        )

    def _node(
        self,
        step: tuple[int, Hold],
        call: int,
        sizes: Mapping[int, int],
        *,
        verdict: Verdict,
        is_suspect: bool,
    ) -> Node:
        number, hold = step
        item = self._study.heap.objects[number]
        return Node(
            number=number,
            tag=item.tag,
            name=item.name,
            hold=hold,
            verdict=verdict,
            is_suspect=is_suspect,
            is_forced=hold in FORCED,
            tokens=sizes[number],
            drag_calls=self._drag_calls(number, call),
        )

    def _verdict(self, number: int, call: int) -> Verdict:
        life = self._study.account.lives[number]
        if life.inherent or not life.is_dead_at(call):
            return "Expected"
        if life.is_surely_dead_at(call) or self._is_contained(number, call):
            return "Stuck"
        bound = self._theta.get(self._study.heap.objects[number].tag, len(self._study.heap.calls) / 2)
        return "Stuck" if self._drag_calls(number, call) >= bound else "Unknown"

    def _is_contained(self, number: int, call: int) -> bool:
        return call >= self._contained.get(number, call + 1)

    def _drag_calls(self, number: int, call: int) -> int:
        life = self._study.account.lives[number]
        return 0 if life.high is None else max(0, call - life.high + 1)

    def _rule(self, number: int, call: int) -> str:
        life = self._study.account.lives[number]
        if not life.is_dead_at(call):
            return ""
        if self._is_contained(number, call):
            return "contained"
        if life.is_surely_dead_at(call):
            return self._reasons[number]
        return "void" if life.first_use is None else "drag"

    def _forced(self, number: int, sizes: Mapping[int, int]) -> tuple[Forced, ...]:
        """Return what the API makes leave with an object: its call or result and the turn's thinking."""
        found: dict[int, EdgeKind] = {}
        open_ = [number]
        while open_:
            for edge in self._held.get(open_.pop(), ()):
                if edge.target != number and edge.target not in found and edge.target in sizes:
                    found[edge.target] = edge.kind
                    open_.append(edge.target)
        objects = self._study.heap.objects
        return tuple(Forced(each, objects[each].tag, found[each], sizes[each]) for each in sorted(found))

    def _signature(self, number: int, rule: str, nodes: Sequence[Node]) -> str:
        heap = self._study.heap
        # only where the needed part ends: how much below it is surely dead differs from case to case
        suspects = [node for node in nodes if node.is_suspect][:1]
        request = heap.objects[number].answers
        shape = heap.facts.shapes.get(number if request is None else request, "")
        edges = [f"{node.hold}>{base_of(node.tag)}" for node in suspects]
        return signature(heap.agent, rule, heap.objects[number].tag, edges=edges, arguments=shape)


def trace(
    study: Study,
    number: int,
    *,
    call: int | None = None,
    theta: Mapping[str, int] | None = None,
    remaining: float = 0.0,
) -> Trace:
    """Return why an object is in the context (SPEC 6); for many objects of a session use `Tracer`.

    Args:
        study: The session.
        number: The object.
        call: The call to look at, by default the last that holds the object.
        theta: Calls of idleness after which an object of a tag is presumed dead (SPEC 5.5).
        remaining: Calls expected to come, for the money to come; 0 for a finished session.
    """
    return Tracer(study, theta=theta, remaining=remaining).trace(number, call)


def suspect_edges(verdicts: Sequence[Verdict], *, starts_in_history: bool) -> set[int]:
    """Return the places of the nodes whose incoming edge is suspect.

    These edges lead from the last node that is `Expected` down to the first that is `Stuck` after it.
    Where nothing is expected, the message list holds the chain, and its edge to the first node
    counts. Without a stuck node, all that is unknown at the end is suspect.
    """
    needed = max((place for place, each in enumerate(verdicts) if each == "Expected"), default=-1)
    below = list(range(needed + 1, len(verdicts)))
    stuck = next((place for place in below if verdicts[place] == "Stuck"), len(verdicts) - 1)
    found = {place for place in below if place <= stuck}
    return found if starts_in_history or needed >= 0 else found - {0}


def unforced(suspects: AbstractSet[int], is_forced: Sequence[bool]) -> set[int]:
    """Return the places of suspect edges with no forced one among them.

    What the API forces together leaves together: where only forced edges are suspect, the edge that
    holds the whole is, unless a root is at its top.
    """
    found = {place for place in suspects if not is_forced[place]}
    if found or not suspects:
        return found
    top = min(suspects)
    while is_forced[top]:
        top -= 1
    return {top} if top > 0 else set()


def _holds_on(edge: Edge) -> bool:
    """Return whether an edge leads away from the root: a result gives its call no first reason to stay."""
    return edge.kind == "turn" or edge.source < edge.target


def _price_usd(study: Study) -> float | None:
    """Return what an input token cost over the last calls, in USD; None when that is unknown."""
    paid, tokens = 0.0, 0
    for call, rates in zip(study.heap.calls[-RECENT_CALLS:], study.rates[-RECENT_CALLS:], strict=True):
        if call.usage is None or rates is None:
            return None
        paid += input_bill(call.usage, rates)
        tokens += call.usage.input
    return paid / tokens if tokens else None


def _times(heap: Heap) -> tuple[int, int] | None:
    times = [call.started_ns for call in heap.calls if call.started_ns is not None]
    return (min(times), max(times)) if times else None
