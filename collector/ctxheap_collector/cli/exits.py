"""Fix the exit codes of every command, and the error that carries one."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Name the exit codes; `docs/cli.md` explains them."""

    FINE = 0
    FINDINGS = 1
    USAGE = 2
    UNREACHABLE = 3
    INTERRUPTED = 130


class CommandError(Exception):
    """End a command with one line for the person: what cannot be done, and what to do about it."""

    def __init__(self, message: str, *, code: Exit = Exit.USAGE) -> None:
        super().__init__(message)
        self.code = code
