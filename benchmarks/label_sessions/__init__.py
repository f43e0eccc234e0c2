"""Load labelled sessions so that each output is judged from what was in context before it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from . import claude_code, coding, service
from .turns import Placed, Track, Turn, bare

LOADERS: dict[str, Callable[[str, int], list[Track]]] = {
    "openhands": coding.openhands,
    "mini_swe_agent": coding.mini_swe_agent,
    "sweagent_traj": coding.sweagent,
    "claude_code_jsonl": claude_code.claude_code,
    "pi_jsonl": coding.pi,
    "codex_jsonl": coding.codex,
    "moatless_nodes": coding.moatless,
    "tau": service.tau,
    "tau2": service.tau2,
    "tau2-sft": service.tau2_sft,
    "langfuse-observation": service.langfuse,
    "vcr-chat": service.cassette,
}
"""Loader of each `indexing` of the label files: text of the file and position of the session."""

__all__ = ["LOADERS", "Placed", "Track", "Turn", "bare", "load"]


def load(path: Path, indexing: str, session: int) -> list[Track]:
    """Return the tracks of one session; raises KeyError for an indexing without a loader."""
    return LOADERS[indexing](path.read_text(encoding="utf-8", errors="surrogatepass"), session)
