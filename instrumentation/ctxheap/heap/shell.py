"""Read a shell command the way a reviewer does: which files it shows, which it changes (SPEC 5.2).

    cd /a && cat b.py | head -50; sed -i s/x/y/ c.py > log
    └ cwd    └ read /a/b.py 1-50  └ write /a/c.py    └ write /a/log

A command whose output is more than what its files hold (a test run, a loop, a script) also counts
as a read of itself, so that only the same command again takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ctxheap.heap.access import EVERYTHING, LAST_LINE, OPEN_FILE, Access, anchor_of, path_of
from ctxheap.heap.shell_commands import IGNORED, PREFIXES, UNKNOWN, Outcome, is_resolved, narrow, outcome_of

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
_CLOSING = frozenset({"}", "done", "fi", "esac"})
_SUBSHELLS = frozenset({"(", "$("})
_ENDS = frozenset({"(", "$(", ")", ";", "&", "\n"})
_PIPES = frozenset({"|", "|&"})
_MOVES = frozenset({"cd", "pushd", "popd"})
ELSEWHERE = "$"  # a folder that nobody knows: no path below it is one
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_KEYS = frozenset({"", "C-c", "C-d", "C-z"})  # input to a running program, not a command


@dataclass(slots=True)
class _Command:
    """Collect one simple command while its words come in; `after` and `until` are the signs around it."""

    after: str = ""
    until: str = ""
    words: list[str] = field(default_factory=list[str])
    writes: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])

    @property
    def filters(self) -> bool:
        """Return whether a pipe feeds it."""
        return self.after in _PIPES


@dataclass(frozen=True, slots=True)
class _Group:
    """Hold where an open group of commands began: in the folder `cwd`, behind `start` accesses.

    `sign` is what opened it: `(`, `$(`, `{` or the word of a block.
    """

    sign: str
    cwd: str
    start: int


@dataclass(slots=True)
class _Script:
    """Follow a script: where it stands, what it touched, and which groups of commands are open.

    `cwd` is `ELSEWHERE` where nobody knows the folder; `list_cwd` is where the running list of
    commands began, to which a list in the background leaves the shell.
    """

    cwd: str = ""
    list_cwd: str = ""
    touched: list[Access] = field(default_factory=list[Access])
    outcome: Outcome = field(default_factory=Outcome)
    is_plain: bool = True
    starts: bool = False
    groups: list[_Group] = field(default_factory=list["_Group"])

    def run(self, body: str, *, depth: int) -> None:
        """Take in the commands of a script."""
        for command in _commands(body):
            self._step(command, depth)
        self._flush()

    def _step(self, command: _Command, depth: int) -> None:
        if command.after in _ENDS:
            self._sign(command.after)
        if command.filters and (_opening(command.words) or command.until in _SUBSHELLS):
            self.outcome = _unseen(self.outcome)
        words = self._grouped(command.words)
        if words and words[0] in _MOVES:
            self._flush()
            self.cwd = _moved(words, self.cwd) if command.after != "||" else ELSEWHERE
            return
        if command.filters:
            self.outcome = _piped(self.outcome, words, self.cwd)
        elif words:
            self._flush()
            outcome = _simple(words, self.cwd, depth)
            self.outcome = _unseen(outcome) if command.after == "||" and outcome.touched else outcome
        if command.writes:
            self.outcome = _redirected(self.outcome, command.writes, self.cwd)

    def _flush(self) -> None:
        self.touched.extend(self.outcome.touched)
        self.is_plain = self.is_plain and self.outcome.plain
        self.outcome = Outcome()

    def _sign(self, sign: str) -> None:
        self._flush()
        if sign in _SUBSHELLS:
            self._open(sign)
        elif sign == ")" and self.groups and self.groups[-1].sign in _SUBSHELLS:
            self._close()
        elif sign == "&":
            self.cwd, self.starts = self.list_cwd, True
        self.list_cwd = self.cwd

    def _grouped(self, words: list[str]) -> list[str]:
        """Open and close the groups that have words for it; return a command without these."""
        if words and words[0] in _CLOSING:
            self._flush()
            self._close()
            return _bare(words[1:])
        opening = _opening(words)
        if opening:
            self._flush()
            self._open(opening)
        return _bare(words)

    def _open(self, sign: str) -> None:
        self.groups.append(_Group(sign, self.cwd, len(self.touched)))

    def _close(self) -> None:
        """End a group: what follows takes the output of all of it, and blocks may have run or not."""
        if not self.groups:
            return
        group = self.groups.pop()
        outcome = Outcome(tuple(self.touched[group.start :]))
        del self.touched[group.start :]
        if group.sign in _SUBSHELLS:
            self.cwd = group.cwd
        elif group.sign in _BLOCK_WORDS and self.cwd != group.cwd:
            self.cwd = ELSEWHERE
        self.outcome = outcome if group.sign in ("(", "{") else _unseen(outcome)


def _opening(words: Sequence[str]) -> str:
    """Return the word by which a command opens a group, "" if it does not."""
    first = next((word for word in words if word not in _JOINTS or word == "{"), "")
    return first if first == "{" or first in _BLOCK_WORDS else ""


def shell_accesses(command: str, *, tool: str) -> tuple[Access, ...]:
    """Return what a command line touches, in its order; never raises, whatever the text."""
    text = command.strip()
    if text in _KEYS:
        return ()
    edited = _LINE_EDIT.match(command)
    if edited:
        lines = int(edited[1][:9]), int(edited[2][:9])
        return (Access("write", OPEN_FILE, lines, after=anchor_of(edited[3])),)
    script = _script(text, cwd="", depth=0)
    touched, is_plain, starts = script.touched, script.is_plain, script.starts
    if _STASHED_AND_BACK.search(text):
        touched = [access for access in touched if access.resource != EVERYTHING]
    if not (is_plain and touched):
        touched = [Access("read", tool, detail=text), *touched]
    return tuple(replace(each, starts=True) for each in touched) if starts else tuple(touched)


def folder_after(command: str, folder: str) -> str:
    """Return where a shell stands after a command line that began in `folder`, "" for its first one."""
    return _script(command.strip(), cwd=folder, depth=0).cwd


def _script(text: str, *, cwd: str, depth: int) -> _Script:
    body = _HEREDOC.sub(r"\1", text) if "<<" in text else text
    script = _Script(cwd, cwd, is_plain="$(" not in body and "`" not in body)
    script.run(body, depth=depth)
    return script


def _moved(words: Sequence[str], cwd: str) -> str:
    """Return the folder after a `cd`; one that is not known stays so until an absolute one comes."""
    target = next((word for word in words[1:] if word not in ("--", "-P", "-L")), "")
    if words[0] == "popd" or target == "-" or (words[0] == "pushd" and not target):
        return ELSEWHERE
    folder = path_of(target, cwd=cwd) if target else "~"
    return folder if is_resolved(folder) else ELSEWHERE


def _unseen(outcome: Outcome) -> Outcome:
    """Return what a command surely did whose output may not be there, or not as it was."""
    kept = tuple(access for access in outcome.touched if access.action == "write")
    return Outcome(kept, plain=False)


def _simple(words: Sequence[str], cwd: str, depth: int) -> Outcome:
    if not words or words[0] in IGNORED:
        return Outcome()
    if words[0] in _BLOCK_WORDS:
        return UNKNOWN
    if words[0] in _SHELLS and depth == 0 and len(words) > 2 and words[1].startswith("-") and "c" in words[1]:
        script = _script(words[2], cwd=cwd, depth=1)
        return Outcome(tuple(script.touched), script.is_plain)
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
        if not target.startswith("/dev/"):
            path = path_of(target, cwd=cwd)
            lines = (LAST_LINE, LAST_LINE) if appends else None
            kept.extend([Access("write", path, lines)] if is_resolved(path) else [])
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
            is_captured = piece == "(" and (redirect or "".join(command.words[-1:]).endswith("$"))
            command.until = "$(" if is_captured else piece
            yield command
            command = _Command(command.until)
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
