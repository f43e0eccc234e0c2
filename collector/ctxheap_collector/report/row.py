"""Give rows of frozen fields their JSON form: the fields are the keys, in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final, TypeAlias, cast

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
TERMINAL: Final = {"json": "never"}
IF_SET: Final = {"json": "if set"}


@dataclass(frozen=True, slots=True)
class Row:
    """Give every row of the profile its JSON form."""

    def to_json(self) -> dict[str, Json]:
        """Return the row with the contract's keys, in the contract's order."""
        return {key: _plain(value) for key, value in self.items()}

    def items(self) -> Iterator[tuple[str, object]]:
        """Yield keys and values as they are, rows below unchanged."""
        for key, if_set in _keys(type(self)):
            value: object = getattr(self, key)
            if value is not None or not if_set:
                yield key, value


# Looking the fields up anew takes longer than the rest of a row.
_KEYS: Final[dict[type[Row], tuple[tuple[str, bool], ...]]] = {}


def _keys(kind: type[Row]) -> tuple[tuple[str, bool], ...]:
    """Return the JSON keys of a row in order, each with whether it is left out when None."""
    if kind not in _KEYS:
        named = [(f.name, f.metadata.get("json")) for f in fields(kind)]
        _KEYS[kind] = tuple((name, rule == "if set") for name, rule in named if rule != "never")
    return _KEYS[kind]


def _plain(value: object) -> Json:
    if isinstance(value, Row):
        return value.to_json()
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[object, ...]", value)]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in cast("Mapping[str, object]", value).items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{type(value).__name__} has no place in a profile")
