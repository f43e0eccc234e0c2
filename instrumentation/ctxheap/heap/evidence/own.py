"""Follow the model's own text as objects: used at the next call, later where it is taken up."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum

from .memory import Memory
from .score import Grade, Rule

TAKEN_UP = 2.5
"""Weight of introduced names in an output from which an own text counts as used again."""
PERHAPS = 1.2


class OwnText:
    """Know which own text introduced which names, and which texts came with the newest prompt."""

    def __init__(self) -> None:
        self._introduced: dict[str, int] = {}
        self._by_number: dict[int, list[str]] = {}
        self._new: list[int] = []

    def add(self, number: int, atoms: frozenset[str], memory: Memory) -> None:
        """Take in an own text; it introduces the names that nothing in the context held."""
        self._new.append(number)
        weights = memory.weights
        names = [atom for atom in atoms.difference(self._introduced) if weights[atom] > 1.0]
        memory.watch(frozenset(names))
        mine = [atom for atom in names if not memory.is_held(atom)]
        self._introduced.update(dict.fromkeys(mine, number))
        self._by_number[number] = mine

    def drop(self, number: int) -> None:
        """Forget an own text that left the prompt."""
        for atom in self._by_number.pop(number, ()):
            self._introduced.pop(atom, None)
        if number in self._new:
            self._new.remove(number)

    def uses(self, atoms: frozenset[str], memory: Memory) -> Iterator[tuple[int, Rule, float, Grade]]:
        """Yield number, rule, score and grade of the own texts that an output used."""
        new, self._new = self._new, []
        for number in new:
            yield number, "answer", 1.0, "used"
        shares: dict[int, list[float]] = {}
        for atom in sorted(atoms & self._introduced.keys()):
            number = self._introduced[atom]
            if number not in new and not memory.is_held(atom):
                shares.setdefault(number, []).append(memory.weights[atom])
        for number, weights in shares.items():
            total = fsum(weights)
            if total >= PERHAPS:
                yield number, "handle", total - TAKEN_UP, "used" if total >= TAKEN_UP else "probable"
