"""Read a shell command the way a reviewer does: which files it shows, which it changes (SPEC 5.2).

    cd /a && cat b.py | head -50; sed -i s/x/y/ c.py > log
    └ cwd    └ read /a/b.py 1-50  └ write /a/c.py    └ write /a/log

A command whose output is more than what its files hold (a test run, a loop, a script) also counts
as a read of itself, so that only the same command again takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ctxheap.heap.access import EVERYTHING, LAST_LINE, OPEN_FILE, Access, anchor_of, path_of
from ctxheap.heap.shell_commands import IGNORED, PREFIXES, UNKNOWN, Outcome, narrow, outcome_of

_HEREDOC = re.compile(
    r"(<<-?[ \t]*(?P<quote>['\"]?)(?P<end>[A-Za-z_]\w*)(?P=quote)[^\n]*\n)"
    r"(?:.*?^[ \t]*(?P=end)[ \t]*(?=\n|\Z|\))|.*\Z)",
    re.DOTALL | re.MULTILINE,
)
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\f\v]+|\\\n)
    |(?P<comment>\#[^\n]*)
    |(?P<redirect>\d*(?:>>|>\||>&|<<<|<<-?|<&|<|>)|&>>?)
    |(?P<control>\|\||&&|\|&?|[;&\n()])
    |(?P<word>(?:[^\s'"\\|&;<>()]++|\\.|'[^']*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+"|['"\\])+)""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile(r"""'([^']*+)'|"((?:[^"\\]|\\.)*+)"|\\(.)""", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_LINE_EDIT = re.compile(r"\s*edit (\d+):(\d+)\s*\n(.*?)(?:^end_of_edit\s*)?\Z", re.DOTALL | re.MULTILINE)
_STASHED_AND_BACK = re.compile(r"\bgit stash\b.*\bgit stash (?:pop|apply)\b", re.DOTALL)
_BLOCK_WORDS = frozenset({"for", "while", "until", "if", "case", "select", "function"})
_JOINTS = frozenset({"do", "then", "else", "elif", "{", "!", "done", "fi", "esac", "}"})
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_KEYS = frozenset({"", "C-c", "C-d", "C-z"})  # input to a running program, not a command


@dataclass(slots=True)
class _Command:
    """Collect one simple command while its words come in; `filters` says that a pipe feeds it."""

    words: list[str] = field(default_factory=list[str])
    writes: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    filters: bool = False


def shell_accesses(command: str, *, tool: str) -> tuple[Access, ...]:
    """Return what a command line touches, in its order; never raises, whatever the text."""
    text = command.strip()
    if text in _KEYS:
        return ()
    edited = _LINE_EDIT.match(command)
    if edited:
        lines = int(edited[1][:9]), int(edited[2][:9])
        return (Access("write", OPEN_FILE, lines, after=anchor_of(edited[3])),)
    touched, is_plain = _run(text, depth=0)
    if _STASHED_AND_BACK.search(text):
        touched = [access for access in touched if access.resource != EVERYTHING]
    if is_plain and touched:
        return tuple(touched)
    return (Access("read", tool, detail=text), *touched)


def _run(text: str, *, depth: int) -> tuple[list[Access], bool]:
    """Return the accesses of a script and whether its output is nothing but them."""
    body = _HEREDOC.sub(r"\1", text) if "<<" in text else text
    is_plain = "$(" not in body and "`" not in body
    touched: list[Access] = []
    cwd, outcome = "", Outcome()
    for command in _commands(body):
        words = _bare(command.words)
        if words and words[0] in ("cd", "pushd"):
            cwd = path_of(words[1], cwd=cwd) if len(words) > 1 else "~"
            continue
        if command.filters:
            outcome = _piped(outcome, words, cwd)
        else:
            touched.extend(outcome.touched)
            is_plain = is_plain and outcome.plain
            outcome = _simple(words, cwd, depth)
        if command.writes:
            outcome = _redirected(outcome, command.writes, cwd)
    touched.extend(outcome.touched)
    return touched, is_plain and outcome.plain


def _simple(words: Sequence[str], cwd: str, depth: int) -> Outcome:
    if not words or words[0] in IGNORED:
        return Outcome()
    if words[0] in _BLOCK_WORDS:
        return UNKNOWN
    if words[0] in _SHELLS and depth == 0 and len(words) > 2 and words[1].startswith("-") and "c" in words[1]:
        touched, is_plain = _run(f"cd {cwd or '.'}\n{words[2]}", depth=1)
        return Outcome(tuple(touched), is_plain)
    return outcome_of(words, cwd=cwd)


def _piped(outcome: Outcome, words: Sequence[str], cwd: str) -> Outcome:
    if not words:
        return outcome
    if words[0] == "tee":
        return Outcome((*outcome.touched, *outcome_of(words, cwd=cwd).touched), outcome.plain)
    return narrow(outcome, words)


def _redirected(outcome: Outcome, writes: Sequence[tuple[str, bool]], cwd: str) -> Outcome:
    """Return an outcome whose output went to files: it shows nothing, and what it read is unseen."""
    kept = [access for access in outcome.touched if access.action == "write"]
    for target, appends in writes:
        if not target.startswith("/dev/") and "$" not in target and "*" not in target:
            lines = (LAST_LINE, LAST_LINE) if appends else None
            kept.append(Access("write", path_of(target, cwd=cwd), lines))
    return Outcome(tuple(kept))


def _commands(body: str) -> Iterator[_Command]:
    """Yield the simple commands of a script in order, redirections taken out of their words."""
    command = _Command()
    redirect = ""
    for match in _TOKEN.finditer(body):
        kind, piece = match.lastgroup, match[0]
        if kind == "word" and redirect:
            _redirect(command, redirect, _unquote(piece))
            redirect = ""
        elif kind == "word":
            command.words.append(_unquote(piece))
        elif kind == "redirect":
            redirect = piece
        elif kind == "control" and (command.words or command.writes or piece != "\n"):
            yield command
            command = _Command(filters=piece in ("|", "|&"))
            redirect = ""
    yield command


def _redirect(command: _Command, operator: str, target: str) -> None:
    """Note where standard output goes; error output and input leave what is shown as it is."""
    stream = operator.rstrip("<>|&-") if operator[0].isdigit() else ""
    if operator.endswith(">&") or "<" in operator or stream not in ("", "1"):
        return
    command.writes.append((target, operator.endswith(">>")))


def _bare(words: list[str]) -> list[str]:
    """Return a command's words without assignments, `sudo` and the like in front."""
    start = 0
    while start < len(words):
        word = words[start]
        if word == "timeout":
            start += 1
            while start < len(words) and (words[start].startswith("-") or words[start][:1].isdigit()):
                start += 1
        elif word in PREFIXES or word in _JOINTS or _ASSIGNMENT.match(word):
            start += 1
        else:
            break
    return words[start:]


def _unquote(word: str) -> str:
    if not ("'" in word or '"' in word or "\\" in word):
        return word
    return _QUOTED.sub(_inner, word)


def _inner(match: re.Match[str]) -> str:
    if match[1] is not None:
        return match[1]
    if match[2] is not None:
        return re.sub(r'\\(["\\$`\n])', r"\1", match[2])
    return "" if match[3] == "\n" else match[3]
