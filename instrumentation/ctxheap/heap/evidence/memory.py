"""Remember what a session's context holds: objects, the atoms they hold, what the model said.

see ──▶ Item ──▶ log, first[atom] = place in the log of the first object that held it
output ──▶ asks ──▶ held[atom] = its newest objects, looked up in the log when first asked for
       ────────▶ said[atom] = when the model last said it
drop  ────────▶ the item is gone at once; its entries are swept in bulk later

Most atoms are never asked for: only for those that were, holders are kept up with every new object.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

from .weights import Weights

HOLDERS = 24
"""Objects kept per atom; halved to the newest when exceeded."""
COMMON_SOURCES = 12
"""Different calls whose results hold an atom, from which on it says nothing about any of them."""
SWEEP_PAIRS = 20_000
"""Least number of (atom, dropped object) entries worth a sweep."""
SAID_ATOMS = 200_000
TINY_RESULTS = 15
"""Newest one-value results that are looked at again for every output."""
TINY_ATOMS = 6
TINY_CHARS = 120
_SOURCE = attrgetter("source")


@dataclass(frozen=True, slots=True)
class Call:
    """Hold what a tool call asked: `key` is equal for equal tool and arguments."""

    key: str = ""
    asked: frozenset[str] = frozenset()


@dataclass(slots=True)
class Item:
    """Hold one object outside the model's own text.

    Attributes:
        number: The caller's number of the object.
        turn: Number of outputs before it came; the next output has seen it for the first time.
        order: Place in the order of everything seen and said.
        is_result: Whether it is a tool result.
        is_blank: Whether it holds no letter and no digit.
        chars: Length of its plain text.
        atoms: What it holds.
        leaves: What the short values of a structured result hold: names, states, classes, and handles.
        fresh: Number of atoms that nothing had held or said before it.
        call: The call that it answers.
        told: What a tiny result (a number, a status, a name) holds that its call did not ask.
        source: Equal for results of equal calls.
        group: Results that arrived together with it, itself included.
    """

    number: int
    turn: int
    order: int
    is_result: bool
    is_blank: bool
    chars: int
    atoms: frozenset[str]
    call: Call
    leaves: frozenset[str] = frozenset()
    fresh: int = 0
    group: int = 1
    told: frozenset[str] = frozenset()
    source: str | int = ""

    def __post_init__(self) -> None:
        """Find out once what every output would ask."""
        self.source = self.call.key or self.number
        if self.is_tiny:
            self.told = self.atoms - self.call.asked

    @property
    def is_tiny(self) -> bool:
        """Say whether it is a result of a few words: a number, a status, a name."""
        few = len(self.atoms) <= TINY_ATOMS and self.chars < TINY_CHARS
        return self.is_result and few and bool(self.atoms)


class Memory:
    """Hold the live objects of a session and find who holds an atom, newest first."""

    def __init__(self) -> None:
        self.items: dict[int, Item] = {}
        self.said: dict[str, int] = {}
        self.weights = Weights()
        self.tiny: list[int] = []
        self._log: list[Item] = []
        self._kept = 0
        self._drops: list[tuple[int, int]] = []
        self._first: dict[str, int] = {}
        self._held: dict[str, list[int]] = {}
        self._watched: set[str] = set()
        self._common: set[str] = set()
        self._live_pairs = 0
        self._dead_pairs = 0

    def add(self, item: Item) -> None:
        """Take in a new object and find how much of it is new."""
        self.drop(item.number)
        new = self._hold(item)
        item.fresh = len(new.difference(self.said))
        self.items[item.number] = item
        self._live_pairs += len(item.atoms)
        if item.is_tiny:
            self.tiny.append(item.number)
            del self.tiny[:-TINY_RESULTS]

    def _hold(self, item: Item) -> frozenset[str]:
        # most atoms of a large result are new: those are taken in at the speed of C
        new = item.atoms.difference(self._first)
        self._first.update(dict.fromkeys(new, len(self._log)))
        for atom in item.atoms & self._watched:
            held = self._held[atom]
            held.append(item.number)
            if len(held) > HOLDERS:
                self._shorten(atom, held, self.items)
        self._log.append(item)
        return new

    def _shorten(self, atom: str, held: list[int], live: dict[int, Item]) -> None:
        if self.sources([live[number] for number in reversed(held) if number in live]) < COMMON_SOURCES:
            del held[: HOLDERS // 2]
            return
        self._common.add(atom)
        self._watched.discard(atom)
        self._held.pop(atom, None)

    def watch(self, atoms: frozenset[str]) -> set[str]:
        """Prepare to say who holds these atoms; return those that any object may hold."""
        known = set(atoms & self._first.keys()) - self._common
        asked = known - self._watched
        if asked:
            self._look_up(asked)
        return known

    def _look_up(self, asked: set[str]) -> None:
        found: dict[str, list[int]] = {atom: [] for atom in asked}
        start = min(map(self._first.__getitem__, asked))
        for item in self._log[start:]:
            for atom in asked & item.atoms:
                found[atom].append(item.number)
        self._held.update(found)
        self._watched |= asked
        for atom, held in found.items():
            if len(held) > HOLDERS:
                self._replay(atom)

    def _replay(self, atom: str) -> None:
        """Shorten the holders of an atom as if they had been kept up with every object since the sweep."""
        held = self._held[atom] = []
        live = {item.number: item for item in self._log[: self._kept]}
        drops = iter([*self._drops, (len(self._log), -1)])
        place_of_drop, gone = next(drops)
        for place, item in enumerate(self._log):
            while place_of_drop <= place:
                live.pop(gone, None)
                place_of_drop, gone = next(drops)
            if atom in item.atoms and atom not in self._common:
                held.append(item.number)
                if len(held) > HOLDERS:
                    self._shorten(atom, held, live)
            live[item.number] = item

    def drop(self, number: int) -> None:
        """Forget an object: it holds nothing from now on."""
        item = self.items.pop(number, None)
        if item is None:
            return
        self._drops.append((len(self._log), number))
        self._live_pairs -= len(item.atoms)
        self._dead_pairs += len(item.atoms)
        if self._dead_pairs > max(SWEEP_PAIRS, self._live_pairs):
            self._sweep()

    def _sweep(self) -> None:
        self._log = list(self.items.values())
        self._kept = len(self._log)
        self._dead_pairs = 0
        for forgotten in (self._drops, self._first, self._held, self._watched, self._common):
            forgotten.clear()
        for place in reversed(range(self._kept)):
            self._first.update(dict.fromkeys(self._log[place].atoms, place))

    @property
    def pairs(self) -> int:
        """Return how many (atom, object) entries are kept, those of dropped objects included."""
        return self._live_pairs + self._dead_pairs

    def holding(self, atom: str) -> list[Item]:
        """Return the live objects that hold an atom, newest first."""
        if atom not in self._watched:
            self.watch(frozenset((atom,)))
        return list(filter(None, map(self.items.get, reversed(self._held.get(atom, ())))))

    def is_held(self, atom: str) -> bool:
        """Say whether any live object holds an atom, so many that it says nothing included."""
        return atom in self._common or bool(self.holding(atom))

    def sources(self, held: list[Item]) -> int:
        """Return from how many different calls the newest of these objects are."""
        if len(held) == 1:
            return 1
        return len(set(map(_SOURCE, held[:COMMON_SOURCES])))

    def say(self, atoms: frozenset[str], order: int) -> None:
        """Note that the model said these atoms."""
        self.said.update(dict.fromkeys(atoms, order))
        if len(self.said) > SAID_ATOMS:
            cut = sorted(self.said.values())[SAID_ATOMS // 2]
            self.said = {atom: when for atom, when in self.said.items() if when > cut}
