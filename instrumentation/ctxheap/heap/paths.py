"""Recognise a file under its relative and its absolute path (SPEC 5.2).

An editor names `/repo/src/a.py` where the shell says `src/a.py`. The two are taken for one file if
the shorter path has a folder in it and fits to exactly one file seen so far.
"""

from __future__ import annotations


class Paths:
    """Give every file the name under which it was seen first."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._by_end: dict[str, list[str]] = {}

    def known(self, path: str) -> str:
        """Return the first name of the file at `path`, which may be `path` itself."""
        name = self._names.get(path)
        if name is None:
            name = self._names[path] = self._find(path)
        return name

    def has(self, path: str) -> bool:
        """Return whether a file was seen under this very name."""
        return path in self._names

    def _find(self, path: str) -> str:
        others = self._by_end.setdefault(path.rpartition("/")[2], [])
        fitting = [other for other in others if _is_end_of(path, other) or _is_end_of(other, path)]
        if len(fitting) == 1:
            return fitting[0]
        others.append(path)
        return path


def _is_end_of(short: str, long: str) -> bool:
    is_relative = "/" in short and not short.startswith(("/", "../")) and "://" not in short
    return is_relative and long.endswith(f"/{short}")
