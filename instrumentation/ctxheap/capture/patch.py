"""Replace functions of other libraries, and put them back.

What is replaced keeps a mark, so that it is replaced once however often it is asked for. Putting back
leaves alone what somebody else has wrapped since: with the capture off, ours only passes through.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]
MARK = "__ctxheap_original__"


class Patches:
    """Remember what was replaced."""

    def __init__(self) -> None:
        self._made: list[tuple[object, str, Function]] = []

    def wrap(self, owner: object, name: str, make: Callable[[Function], Function]) -> bool:
        """Replace `owner.name` by what `make` makes of it; False where there is nothing to replace."""
        original = owner.__dict__.get(name) if isinstance(owner, type) else getattr(owner, name, None)
        if original is None or hasattr(original, MARK):
            return False
        replacement = make(original)
        # Not by functools.wraps: an attribute per attribute, so that introspection sees the original.
        for attribute in ("__module__", "__name__", "__qualname__", "__doc__", "__wrapped__"):
            value = original if attribute == "__wrapped__" else getattr(original, attribute, None)
            setattr(replacement, attribute, value)
        setattr(replacement, MARK, original)
        setattr(owner, name, replacement)
        self._made.append((owner, name, replacement))
        return True

    def restore(self) -> None:
        """Put everything back."""
        for owner, name, replacement in reversed(self._made):
            if getattr(owner, name, None) is replacement:
                setattr(owner, name, getattr(replacement, MARK))
        self._made.clear()
