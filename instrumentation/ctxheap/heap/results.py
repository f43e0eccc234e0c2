"""Judge what a tool's answer says about itself: failed, cut short, or only a hint at older text.

Only an answer that surely shows the text may take the place of an older one (SPEC 5.2, 9), so every
doubt is settled in favour of the older one.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ctxheap.heap.access import Range
from ctxheap.heap.model import Part

_EDGE_CHARS = 300
_HINT_CHARS = 400
_NUMBERED_CHARS = 50_000
_FAILED = re.compile(
    r"""\s*(?:OBSERVATION:\s*)?(?:<returncode>0</returncode>\s*<output>\s*)?
    (?:<tool_use_error>|<error>|error\b|\[?ERROR|traceback\ \(most\ recent|fatal:|failed\b|invalid\b
    |usage:|exception\b|no\ such\ file|file\ (?:does\ not\ exist|not\ found)|file\ .{1,200}\ not\ found
    |no\ replacement\ was\ performed|string\ to\ replace\ not\ found|permission\ denied
    |your\ proposed\ edit\ has\ introduced|command\ (?:not\ found|timed\ out)|found\ \d+\ matches\ of
    |(?:\S{1,40}:\ )+.{0,200}(?:no\ such\ file|not\ found|permission\ denied|is\ a\ directory)
    |<returncode>\s*-?[1-9]|exit\ code:?\ [1-9])""",
    re.VERBOSE | re.IGNORECASE,
)
_FAILED_END = re.compile(
    r"(?:exit code:? |<returncode>\s*|\"returncode\": ?)-?[1-9]\d*\D{0,20}\Z", re.IGNORECASE
)
_HINT = re.compile(
    r"unchanged|not changed|no changes? since|already (?:read|seen|shown|in )|(?:see|refer to) (?:the )?"
    r"(?:earlier|previous|above)|same (?:as|content|output|result)|evicted"
    r"|content (?:was |has been )?(?:cleared|removed)|(?:cleared|removed|elided) (?:from|to save)",
    re.IGNORECASE,
)
# The whole texts that harnesses leave where a result was, as of December 2026.
_STUBS = (
    r"\[Old tool result content cleared\]",  # Claude Code since 2.0, OpenCode, Qwen Code
    r"Old environment output: \(\d+ lines? omitted\)(?: \(\d+ images? omitted\))?",  # SWE-agent since 1.0
    r"Old output omitted \(\d+ lines?\)",  # SWE-agent before
    r"Outdated window with \d+ lines? omitted\.\.\.",  # SWE-agent, windows of a file shown again
    r"\[cleared\]",  # LangChain 1
    r"<MASKED>",  # OpenHands
    r"\[?\[NOTE\] This file read has been removed to save space in the context window\.[^\n]{0,120}",  # Cline
    r"\[receipt\] [^\n]{1,600} The text is not here\.(?: Calling the tool again is allowed\.)?",  # ctxheap
)
_STUB = re.compile(
    rf"\s*(?:OBSERVATION:\s*|EXECUTION RESULT of \[[\w.-]+\]:\s*)?(?:{'|'.join(_STUBS)})\s*", re.IGNORECASE
)
_STUB_CHARS = 800
_HANDLE = re.compile(
    r"""\bin\ (?:the\ )?background\b|\bbackground\ (?:task|process|job|shell|command)
    |\b(?:shell|bash|process|job|task|session|terminal|agent|thread|run|sandbox|browser)[ _-]?id\b
    |\bpid\b|^\[\d+\]\ \d+|\b(?:listening|running|serving|available|started)\ (?:on|at)\b
    |\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0):\d""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_HANDLE_CHARS = 2_000
_CUT = ("truncated", "Truncated", "TRUNCATED", "clipped", "omitted", "elided", "too long")
_NUMBERED = re.compile(r"^\s*(\d{1,7})(?:\t|→|:|\s\||\s{2})", re.MULTILINE)


@lru_cache(maxsize=2)
def is_failure(part: Part) -> bool:
    """Return whether a tool result reports that the call did not do what it was asked.

    The last answers are remembered: the ledger and the facts ask about each part in turn.
    """
    if part.error or _FAILED.match(part.text):
        return True
    return _FAILED_END.search(part.text[-_EDGE_CHARS:]) is not None


def is_hint(text: str) -> bool:
    """Return whether an answer only points at an older one ("unchanged since the last read")."""
    return len(text) < _HINT_CHARS and _HINT.search(text) is not None


def is_stub(text: str) -> bool:
    """Return whether a text is nothing but what a harness leaves where it took a tool's result away."""
    return len(text) < _STUB_CHARS and _STUB.fullmatch(text) is not None


def holds_handle(text: str) -> bool:
    """Return whether an answer may name what its call started, which only this answer names."""
    edges = text if len(text) <= 2 * _HANDLE_CHARS else text[:_HANDLE_CHARS] + text[-_HANDLE_CHARS:]
    return _HANDLE.search(edges) is not None


def is_cut(text: str) -> bool:
    """Return whether an answer may lack some of what was asked for; its own text may sound so, too."""
    return any(word in text for word in _CUT)


def numbered_lines(text: str) -> Range | None:
    """Return the first and last line number that a listing with numbered lines shows."""
    numbers = [int(match[1]) for match in _NUMBERED.finditer(text[:_NUMBERED_CHARS])]
    if len(numbers) < 2 or numbers[-1] - numbers[0] != len(numbers) - 1:
        return None
    return numbers[0], numbers[-1]
