"""Render the standing examples; `python tests/report/golden.py` rewrites the files they are held to."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ctxheap_collector.report.terminal import render
from report.samples import profile, session, troubled_session

if TYPE_CHECKING:
    from ctxheap_collector.report.contract import Profile

FOLDER = Path(__file__).with_name("golden")


def text(
    made: Profile, *, width: int, is_terminal: bool = False, top: int = 10, lists_calls: bool = False
) -> str:
    """Return a report as a file or a terminal with all colours would receive it."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=is_terminal,
        color_system="truecolor" if is_terminal else None,
        _environ={},
    )
    render(made, console=console, top=top, lists_calls=lists_calls)
    return out.getvalue()


def several() -> Profile:
    """Return two sessions apart, one with a sub-agent that has one of its own."""
    nested = replace(troubled_session(), id="agent-b2", parent="agent-a17c")
    small = session(id="0c11-small", cost_usd=3.2, calls=20, timeline=None, objects=(), compactions=())
    return profile(small, session(), troubled_session(), nested)


def family() -> Profile:
    """Return a session and its sub-agent."""
    return profile(session(), troubled_session())


# What is expected, by file name.
DOCUMENTS: dict[str, Callable[[], str]] = {
    "family-80.txt": lambda: text(family(), width=80),
    "family-120.txt": lambda: text(family(), width=120),
    "family-100.ansi": lambda: text(family(), width=100, is_terminal=True),
    "troubled-80.txt": lambda: text(profile(troubled_session()), width=80),
    "several-80.txt": lambda: text(several(), width=80, top=3),
    "several-120.txt": lambda: text(several(), width=120, top=3),
    "calls-100.txt": lambda: text(profile(troubled_session()), width=100, lists_calls=True),
}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, render_it in DOCUMENTS.items():
        (FOLDER / name).write_text(render_it(), "utf-8")
