"""Make worlds for commands to run in: streams that are kept, and profilers that read nothing."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ctxheap_collector.cli.main import main
from ctxheap_collector.cli.world import World

if TYPE_CHECKING:
    from typing import TypeAlias

    from ctxheap_collector.cli.world import Profiler, Progress
    from ctxheap_collector.report.contract import Options, Profile

    Asked: TypeAlias = tuple[tuple[str, ...], Options]


@dataclass
class FakeProfiler:
    """Return a profile made before, keep what was asked for, and raise where told to."""

    made: Profile
    error: BaseException | None = None
    asked: list[Asked] = field(default_factory=list["Asked"])
    bytes_told: int = 0

    def __call__(
        self, paths: Sequence[str], *, options: Options, progress: Progress | None = None
    ) -> Profile:
        self.asked.append((tuple(paths), options))
        if self.error is not None:
            raise self.error
        if progress is not None:
            progress(self.bytes_told)
        return self.made


class Terminal(io.TextIOWrapper):
    """Be a stream that a person looks at."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), "utf-8", write_through=True)

    def isatty(self) -> bool:
        return True


class Pipe(io.TextIOWrapper):
    """Be a stream that another program reads."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), "utf-8", write_through=True)


class ClosedPipe(io.TextIOWrapper):
    """Be a stream whose reader went away."""

    def __init__(self) -> None:
        super().__init__(_Gone(), "utf-8", write_through=True)


class _Gone(io.BytesIO):
    def write(self, _: object) -> int:
        raise BrokenPipeError


@dataclass(frozen=True)
class Outcome:
    """Hold what a command returned and wrote."""

    code: int
    out: str
    err: str


def run(
    *argv: str,
    profiler: Profiler,
    home: Path,
    env: dict[str, str] | None = None,
    out: io.TextIOWrapper | None = None,
    err: io.TextIOWrapper | None = None,
    is_installed: Callable[[str], bool] = bool,
) -> Outcome:
    """Run the command line in a world of its own."""
    out, err = out or Pipe(), err or Pipe()
    world = World(out=out, err=err, env=env or {}, home=home, profiler=profiler, is_installed=is_installed)
    code = main(argv, world=world)
    return Outcome(code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")
