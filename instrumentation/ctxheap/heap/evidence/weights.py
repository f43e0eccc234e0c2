"""Say how telling an atom is: what it adds to the belief that one text was made from another."""

from __future__ import annotations

from .words import COMMON

MEMO_ATOMS = 100_000

_BY_CLASS = {
    "e": 3.0,
    "u": 2.5,
    "p": 1.6,
    "v": 1.6,
    "s": 1.5,
    "d": 1.4,
    "f": 1.3,
    "t": 1.2,
    "h": 1.2,
    "c": 0.7,
    "z": 0.35,
}


class Weights(dict[str, float]):
    """Remember the weight of every atom that was asked for; forgets all when it grows too large."""

    def __missing__(self, atom: str) -> float:
        """Weigh an atom that is new."""
        if len(self) >= MEMO_ATOMS:
            self.clear()
        found = self[atom] = weight(atom)
        return found


def weight(atom: str) -> float:
    """Return the weight of an atom, 0.06 (a common word) to 3 (a long id)."""
    kind, value = atom[0], atom[1:]
    if kind == "w":
        return 0.6 * COMMON.get(value, 1.0)
    if kind == "n":
        return _number(value)
    if kind == "i":
        return _id(value)
    return _BY_CLASS[kind]


def _id(value: str) -> float:
    if "-" in value:
        return 2.5 if len(value) > 4 else 1.2
    return 3.0 if len(value) >= 7 else 2.5 if len(value) >= 5 else 1.2


def _number(value: str) -> float:
    if "." in value:
        return 1.6
    digits = len(value.lstrip("-"))
    if digits >= 5:
        return 2.5
    if digits == 4:
        return 0.4 if value.startswith(("19", "20")) else 1.0
    if digits == 3:
        return 0.35 if value.endswith("00") else 0.7
    return 0.1


def is_fact(atom: str) -> bool:
    """Say whether an atom is a value whose second mention still points at where it came from."""
    if atom[0] == "n":
        return len(atom) > 3 or "." in atom
    return atom[0] in "ieudtcv" or (atom[0] == "s" and atom[-1].isdigit())


def is_handle(atom: str) -> bool:
    """Say whether an atom names one thing, so that a result still gives it after its call did."""
    return atom[0] in "ieudtv" or (atom[0] == "n" and len(atom) > 3)
