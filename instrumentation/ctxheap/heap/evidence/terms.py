"""Weigh what an output shares with each object of its context.

Each atom of the output is credited, whole, to the newest object outside the model's own text that
holds it, and discounted by how many different calls hold it. Nobody is credited when the newest
holder answers a call that named the atom itself: the model knew it before.

    first mention   the model never said the atom before
    again           it said it since the object came
    echo            it said it only before the object came
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum, log1p
from typing import NamedTuple

from .memory import Item, Memory
from .weights import is_fact, is_handle

LEAF_WEIGHT = 1.5
"""How much more a word says that is a value of a record: a name, a state, a class."""


@dataclass(frozen=True, slots=True)
class Output:
    """Hold what an output says: atoms of its text and of its arguments, and the calls it makes."""

    turn: int
    said: frozenset[str]
    asked: frozenset[str]
    calls: frozenset[str]
    atoms: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Join the atoms of text and arguments once."""
        object.__setattr__(self, "atoms", self.said | self.asked)


@dataclass(slots=True)
class Credit:
    """Collect what an object is credited with: weights of atoms by how they are mentioned.

    `retold` counts what the text says again, `named` the atoms that are no plain words, `argued`
    those that stand in arguments only; `count` all.
    """

    first: list[float] = field(default_factory=list[float])
    facts: list[float] = field(default_factory=list[float])
    echo: list[float] = field(default_factory=list[float])
    retold: int = 0
    count: int = 0
    named: int = 0
    argued: int = 0


class Terms(NamedTuple):
    """Hold the terms of the score of one object and one output.

    A tuple because it is made for every candidate: a frozen dataclass takes four times as long.

    Attributes:
        novel: First mentions, discounted by the object's size.
        share: Its part of all first mentions of the output.
        facts: Values mentioned again.
        breadth: How many atoms it is credited with, values repeated in arguments left out; discounted
            by size as well.
        echo: What the model had said before the object came and says again, fading with every output.
        cover: Part of a tiny result that is named.
        turn: The latest user turn, fading with every output.
        next: A tool result that this output is the first to see (U4).
        ignored: How much that result brought, and that other results beside it were taken up.
        bulk: Size of the object and outputs since the first that saw it, multiplied as logarithms:
            a large object matches by chance at every output, and one false alarm late keeps it alive.
    """

    novel: float = 0.0
    share: float = 0.0
    facts: float = 0.0
    breadth: float = 0.0
    echo: float = 0.0
    cover: float = 0.0
    turn: float = 0.0
    next: float = 0.0
    ignored: float = 0.0
    bulk: float = 0.0

    def values(self) -> tuple[float, ...]:
        """Return the terms in the order of their definition."""
        return self


def credited(memory: Memory, output: Output) -> dict[int, Credit]:
    """Return who is credited with the atoms of an output, by object number."""
    found: dict[int, Credit] = {}
    for atom in memory.watch(output.atoms):
        held = memory.holding(atom)
        if not held or (atom in held[0].call.asked and not is_handle(atom)):
            continue
        newest = held[0]
        credit = found.get(newest.number)
        if credit is None:
            credit = found[newest.number] = Credit()
        share = memory.weights[atom] / memory.sources(held)
        _mention(credit, atom, newest, share, in_text=atom in output.said, when=memory.said.get(atom))
    return found


def _mention(
    credit: Credit, atom: str, newest: Item, share: float, *, in_text: bool, when: int | None
) -> None:
    """Note a mention of an atom that the model said last at `when`, None if never."""
    if atom in newest.leaves and not is_handle(atom):
        share *= LEAF_WEIGHT
    if when is None:
        credit.first.append(share)
    elif when < newest.order:
        credit.echo.append(share)
    else:
        credit.retold += in_text
        if is_fact(atom):
            credit.facts.append(share)
    credit.count += 1
    credit.named += atom[0] not in "wz"
    credit.argued += not in_text


def terms(
    item: Item, credit: Credit, output: Output, *, total: float, is_latest_turn: bool, memory: Memory
) -> Terms:
    """Return the terms of one object; `total` is the weight of all first mentions."""
    size = len(item.atoms) / 100
    ages = output.turn - item.turn
    small = 3 / (3 + size)
    first = fsum(credit.first)
    is_next = item.is_result and ages == 0
    breadth = len(credit.first) + credit.retold + len(credit.echo)
    # by position: names would cost as much as the rest
    return Terms(
        log1p(small * first),
        min(1.0, small * first) * first / total if total else 0.0,
        log1p(5 / (5 + size) * fsum(credit.facts)) if credit.facts else 0.0,
        log1p(small * breadth) if breadth else 0.0,
        log1p(fsum(credit.echo)) / (1 + ages) if credit.echo else 0.0,
        _cover(item, output, memory) if item.told else 0.0,
        1 / (1 + ages) if is_latest_turn else 0.0,
        _next(item, output) if is_next else 0.0,
        _ignored(item, first) if is_next else 0.0,
        log1p(size) * log1p(ages),
    )


def _cover(item: Item, output: Output, memory: Memory) -> float:
    named = item.told & output.atoms
    if not named:
        return 0.0
    return len(named) / len(item.told) * min(1.0, fsum([memory.weights[atom] for atom in named]) / 0.4)


def _next(item: Item, output: Output) -> float:
    if item.is_blank:
        return 0.0
    return 0.3 if item.call.key and item.call.key in output.calls else 1.0


def _ignored(item: Item, first: float) -> float:
    return log1p(item.fresh) + (2.0 if item.group > 1 and first < 0.5 else 0.0)
