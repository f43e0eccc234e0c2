"""Take typed values out of a policy's mappings, and say in bounded words which cannot be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from reprlib import Repr
from typing import Final, NoReturn, TypeGuard, TypeVar, cast

MOST: Final = 1_000_000_000
"""Largest whole number of a policy: tokens, calls and seconds beyond it are slips of the pen."""
MOST_FACTOR: Final = 1_000
"""Largest price factor of cached or stored input."""
_NAME_LETTERS: Final = 80
_VALUE_LETTERS: Final = 200

T = TypeVar("T")


class PolicyError(ValueError):
    """Say which key of a policy cannot be used, its value and what would do instead."""


class _Bounded(Repr):
    """Show a value in one short line, however deep, wide or long it is."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxlong = 3, 40
        self.maxstring = self.maxother = _NAME_LETTERS

    def repr_int(self, x: int, level: int) -> str:
        """Return an integer's digits, or its size where Python refuses to write them."""
        try:
            return super().repr_int(x, level)
        except ValueError:
            return f"a number of {x.bit_length():,} bits"


def shown(value: object) -> str:
    """Return a value as an error names it."""
    words = _BOUNDED.repr(value)
    return words if len(words) <= _VALUE_LETTERS else f"{words[:_VALUE_LETTERS]}…"


_BOUNDED: Final = _Bounded()


class Keys:
    """Take values out of a mapping, and name what is left over or of the wrong kind.

    Only a key that is left out has its default: an empty value (null) is of no kind.
    """

    def __init__(self, where: str, data: object) -> None:
        if not isinstance(data, Mapping):
            raise PolicyError(f"{where or 'policy'}: {shown(data)}; a mapping is wanted")
        self._where = where
        self._left: dict[object, object] = dict(cast("Mapping[object, object]", data))
        self._taken: list[str] = []

    def take(self, key: str, default: object) -> object:
        """Return the value of a key, whatever it is."""
        return self._left.pop(key) if self.has(key) else default

    def has(self, key: str) -> bool:
        """Return whether a key is there; from then on it is known."""
        if key not in self._taken:
            self._taken.append(key)
        return key in self._left

    def inner(self, key: str) -> Keys:
        """Return the mapping of a key, an empty one without it."""
        return Keys(self._name(key), self.take(key, {}))

    def items(self, key: str) -> Sequence[object]:
        """Return the list of a key, an empty one without it."""
        value = self.take(key, [])
        return cast("list[object]", value) if isinstance(value, list) else self._refuse(key, value, "a list")

    def whole(self, key: str, default: T, *, least: int = 0) -> int | T:
        """Return a whole number from `least` to `MOST`."""
        if not self.has(key):
            return default
        value = self._left.pop(key)
        # 1.0 is a whole number in JSON, and in the schema.
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= MOST:
            wanted = f"a whole number from {least}"
            is_large = isinstance(number, int) and number > MOST
            self._refuse(key, value, f"{wanted} to {MOST}" if is_large else wanted)
        return number

    def share(self, key: str, default: float) -> float:
        """Return a share of something, never 0."""
        if not self.has(key):
            return default
        value = self._left.pop(key)
        if not _is_number(value) or not 0 < value <= 1:
            self._refuse(key, value, "a number above 0, 1 at most")
        return float(value)

    def factor(self, key: str) -> float | None:
        """Return a price over another, None without it."""
        if not self.has(key):
            return None
        value = self._left.pop(key)
        if not _is_number(value) or not 0 <= value <= MOST_FACTOR:
            self._refuse(key, value, f"a number from 0 to {MOST_FACTOR}")
        return float(value)

    def flag(self, key: str) -> bool:
        """Return true or false; false without it."""
        value = self.take(key, False)
        return value if isinstance(value, bool) else self._refuse(key, value, "true or false")

    def words(self, key: str) -> str:
        """Return a text, "" without it."""
        value = self.take(key, "")
        return value if isinstance(value, str) else self._refuse(key, value, "text in quotes")

    def globs(self, key: str) -> tuple[str, ...]:
        """Return the names of a list, or the one that stands for it."""
        value = self.take(key, [])
        found = cast("list[object]", value) if isinstance(value, list) else [value]
        names = tuple(item for item in found if isinstance(item, str) and item)
        return names if len(names) == len(found) else self._refuse(key, found, "a list of names, * for any")

    def choice(self, key: str, allowed: tuple[T, ...]) -> T:
        """Return which of some values stands there; without one it is refused."""
        value = self.take(key, None)
        for item in allowed:
            if item == value:
                return item
        return self._refuse(key, value, f"one of {', '.join(str(item) for item in allowed)}")

    def close(self) -> None:
        """Refuse what no one asked for: a misspelt key would silently do nothing."""
        for key, value in self._left.items():
            name = key if isinstance(key, str) and len(key) <= _NAME_LETTERS else shown(key)
            raise PolicyError(f"{self._name(name)}: {shown(value)}; known here: {', '.join(self._taken)}")

    def _name(self, key: str) -> str:
        return f"{self._where}.{key}" if self._where else key

    def _refuse(self, key: str, value: object, wanted: str) -> NoReturn:
        raise PolicyError(f"{self._name(key)}: {shown(value)}; {wanted} is wanted")


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
