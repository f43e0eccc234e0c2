"""Say what gives an object a reason to stay: retain edges, roots and retained sizes (SPEC 5.2, 5.3).

    system prompt, task, pins, last 3 calls = roots
          │ derivation: the call took its arguments from here and from nowhere else
          ▼
    tool call ◀─ pair ─▶ tool result        agent turn ── turn ──▶ its thinking and signatures

A quotation is a copy and makes no edge. Unreachable means that nothing structural forbids freeing
an object; it is no evidence that the object is dead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from ctxheap.heap.dominators import retained_sizes
from ctxheap.heap.subject import Subject, answers_of, base_of

EdgeKind = Literal["pair", "turn", "derivation"]

YOUNG_CALLS = 3
_FORCED = frozenset({"pair", "turn"})
_TURN = frozenset({"agent_output", "tool_call"})
_FIXED = frozenset({"system_prompt", "tool_definition"})


class Edge(NamedTuple):
    """Say that object `source` gives object `target` a reason to stay."""

    source: int
    target: int
    kind: EdgeKind

    @property
    def is_forced(self) -> bool:
        """Return whether the provider's API asks for it: the one is refused without the other."""
        return self.kind in _FORCED


def edges_of(subjects: Sequence[Subject], sources: Mapping[int, Collection[int]]) -> list[Edge]:
    """Return the retain edges of a session; `sources` as in `derivation_edges`."""
    return [*pair_edges(subjects), *turn_edges(subjects), *derivation_edges(sources)]


def pair_edges(subjects: Sequence[Subject]) -> list[Edge]:
    """Return the edges between tool calls and their results, both ways."""
    edges: list[Edge] = []
    for result, subject in enumerate(subjects):
        if subject.answers is not None:
            edges.append(Edge(subject.answers, result, "pair"))
            edges.append(Edge(result, subject.answers, "pair"))
    return edges


def turn_edges(subjects: Sequence[Subject]) -> list[Edge]:
    """Return the edges from what the model said or asked for to the thinking of the same turn.

    A turn is a run of the model's own objects: whatever else comes between ends it.
    """
    edges: list[Edge] = []
    thinking: list[int] = []
    spoken: list[int] = []
    for place, subject in enumerate(subjects):
        base = base_of(subject.tag)
        if base not in _TURN and base != "agent_reasoning":
            thinking, spoken = [], []
        elif base == "agent_reasoning":
            edges.extend(Edge(turn, place, "turn") for turn in spoken)
            thinking.append(place)
        else:
            edges.extend(Edge(place, thought, "turn") for thought in thinking)
            spoken.append(place)
    return edges


def derivation_edges(sources: Mapping[int, Collection[int]]) -> list[Edge]:
    """Return an edge for each tool call whose arguments came from one resident object only.

    `sources` holds, for each tool call, the objects that its arguments were found in.
    """
    found = ((call, set(places) - {call}) for call, places in sources.items())
    return [Edge(places.pop(), call, "derivation") for call, places in found if len(places) == 1]


def roots_at(subjects: Sequence[Subject], call: int) -> set[int]:
    """Return the roots at a call: what stays for its own sake.

    System prompt and tool definitions, the first and the latest user turn, pins, tool calls
    without an answer, and all objects of the last 3 calls.
    """
    return _roots(subjects, _residents(subjects, call), answers_of(subjects), call)


def reachable(edges: Iterable[tuple[int, int]], roots: Collection[int]) -> set[int]:
    """Return the closure of the roots over pairs (x, y) of retain edges."""
    following: dict[int, list[int]] = {}
    for source, target in edges:
        following.setdefault(source, []).append(target)
    found, open_ = set(roots), list(roots)
    while open_:
        fresh = [target for target in following.get(open_.pop(), ()) if target not in found]
        found.update(fresh)
        open_.extend(fresh)
    return found


def retained_at(
    subjects: Sequence[Subject], sizes: Sequence[int], edges: Iterable[Edge], *, call: int
) -> dict[int, int]:
    """Return the retained size of each object resident at a call, in tokens."""
    places = _residents(subjects, call)
    roots = _roots(subjects, places, answers_of(subjects), call)
    return _retained(places, sizes, _targets(edges), roots)


def retained_at_last(subjects: Sequence[Subject], sizes: Sequence[int], edges: Iterable[Edge]) -> list[int]:
    """Return each object's retained size at its own last call, in tokens.

    The whole graph is looked at only at calls where something leaves that holds more than its own
    call or result; harnesses that drop the thinking of every turn would make that every call.
    """
    targets, answers = _targets(edges), answers_of(subjects)
    found = [0] * len(subjects)
    arriving = sorted(range(len(subjects)), key=lambda place: subjects[place].birth, reverse=True)
    leaving: dict[int, list[int]] = {}
    for place, subject in enumerate(subjects):
        leaving.setdefault(subject.last, []).append(place)
    alive: set[int] = set()
    for call in sorted(leaving):
        while arriving and subjects[arriving[-1]].birth <= call:
            alive.add(arriving.pop())
        gone = leaving[call]
        alone = [
            _alone(place, subjects, sizes, targets=targets, answers=answers, alive=alive) for place in gone
        ]
        if None in alone:
            places = sorted(alive)
            retained = _retained(places, sizes, targets, _roots(subjects, places, answers, call))
            alone = [retained[place] for place in gone]
        for place, size in zip(gone, alone, strict=True):
            found[place] = size or 0
        alive.difference_update(gone)
    return found


def forced_sizes(sizes: Sequence[int], edges: Iterable[Edge]) -> list[int]:
    """Return what the API makes leave together with each object, in tokens, itself not counted."""
    links = [(edge.source, edge.target) for edge in edges if edge.is_forced]
    retained = retained_sizes(sizes, links, ())
    return [total - size for total, size in zip(retained, sizes, strict=True)]


def _residents(subjects: Sequence[Subject], call: int) -> list[int]:
    return [place for place, subject in enumerate(subjects) if subject.birth <= call <= subject.last]


def _roots(
    subjects: Sequence[Subject], places: Sequence[int], answers: Mapping[int, Sequence[int]], call: int
) -> set[int]:
    """Return the roots among the objects at `places`, which are resident at `call`."""
    resident = set(places)
    turns = [place for place in places if base_of(subjects[place].tag) == "user_turn"]
    roots = {*turns[:1], *turns[-1:]}
    for place in places:
        subject = subjects[place]
        base = base_of(subject.tag)
        is_fixed = base in _FIXED or subject.pinned
        is_open = base == "tool_call" and resident.isdisjoint(answers.get(place, ()))
        if is_fixed or is_open or subject.birth > call - YOUNG_CALLS:
            roots.add(place)
    return roots


def _targets(edges: Iterable[Edge]) -> dict[int, list[int]]:
    targets: dict[int, list[int]] = {}
    for edge in edges:
        targets.setdefault(edge.source, []).append(edge.target)
    return targets


def _retained(
    places: Sequence[int], sizes: Sequence[int], targets: Mapping[int, Sequence[int]], roots: Collection[int]
) -> dict[int, int]:
    """Return the retained size of the objects at `places`, all others left out of the graph."""
    position = {place: index for index, place in enumerate(places)}
    links = [
        (index, position[target])
        for place, index in position.items()
        for target in targets.get(place, ())
        if target in position
    ]
    retained = retained_sizes([sizes[place] for place in places], links, {position[root] for root in roots})
    return dict(zip(places, retained, strict=True))


def _alone(
    place: int,
    subjects: Sequence[Subject],
    sizes: Sequence[int],
    *,
    targets: Mapping[int, Sequence[int]],
    answers: Mapping[int, Sequence[int]],
    alive: Collection[int],
) -> int | None:
    """Return what an object retains if it holds at most its call and that call's answers, else None."""
    asked = subjects[place].answers
    request = place if asked is None else asked
    pair = (request, *answers.get(request, ())) if request in alive else ()
    group = {place, *(member for member in pair if member in alive)}
    held = (target for member in group for target in targets.get(member, ()) if target in alive)
    return sum(sizes[member] for member in group) if all(target in group for target in held) else None
