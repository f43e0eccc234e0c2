"""Hold what a command touches outside itself, so that tests can hand it another world."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from ctxheap_collector.report.contract import Options, Profile

Progress = Callable[[int], None]


class Profiler(Protocol):
    """Make the profile of all transcripts behind some paths.

    A file that cannot be read is listed in `Profile.files` with no session and the reason; its path
    is the one given where it was named. `progress` is told the bytes read since it was told last.
    """

    def __call__(
        self, paths: Sequence[str], *, options: Options, progress: Progress | None = None
    ) -> Profile:
        """Return the profile; raise `ProfileError` for an option that cannot be used."""
        ...


def _installed_profiler(
    paths: Sequence[str], *, options: Options, progress: Progress | None = None
) -> Profile:
    from ctxheap.tokens import offload  # noqa: PLC0415 -- keeps --help quick

    # First of all: the other process builds its tokenizer while this one still imports.
    with offload.start(_input_bytes(paths)) as counting:
        from ctxheap_collector.report.build import profile_paths  # noqa: PLC0415 -- heavy

        return profile_paths(paths, options=options, progress=progress, counter_for=counting.counter_for)


def _input_bytes(paths: Sequence[str]) -> int:
    """Return how much there is to read, a lot where nobody knows."""
    from ctxheap_collector.cli.progress import LEAST_BYTES, input_bytes  # noqa: PLC0415 -- it imports this one

    return max(input_bytes(paths), LEAST_BYTES if "-" in paths else 0)


def _home() -> Path:
    # Path.home raises for a user who has none, which is no reason to fail.
    return Path(os.path.expanduser("~"))  # noqa: PTH111


def _is_installed(module: str) -> bool:
    return find_spec(module) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Hold the streams, the environment and the profiler.

    Attributes:
        is_installed: Says whether a top-level module can be imported.
    """

    out: TextIO = field(default_factory=lambda: sys.stdout)
    err: TextIO = field(default_factory=lambda: sys.stderr)
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    home: Path = field(default_factory=_home)
    profiler: Profiler = _installed_profiler
    is_installed: Callable[[str], bool] = _is_installed

    def is_interactive(self) -> bool:
        """Return whether standard input is a person at a terminal."""
        return sys.stdin is not None and sys.stdin.isatty()

    def say(self, line: str) -> None:
        """Write one line to standard output, with "?" for letters that it cannot show."""
        encoding = self.out.encoding or "utf-8"
        print(line.encode(encoding, "replace").decode(encoding), file=self.out)

    def tell(self, message: str) -> None:
        """Write one line for the person to standard error."""
        print(f"ctxheap: {message}", file=self.err)
