"""Know what single shell commands show and change, from their words alone (SPEC 5.2).

Only what is certain is said: a path with a wildcard or a variable in it is no path, and a command
that is not known here shows more than its files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ctxheap.heap.access import EVERYTHING, LAST_LINE, OPEN_FILE, Access, Action, Range, names, path_of

_UNRESOLVED = re.compile(r"""[$*?`\[{'"]""")
_SED_PRINT = re.compile(r"(\d+)(?:,(\d+|\$))?p$")
_SED_PLACE = re.compile(r"(\d+)(?:,(\d+|\$))?[a-zA-Z]")
_AWK_LINES = re.compile(
    r"\s*NR\s*>=\s*(\d+)\s*&&\s*NR\s*<=\s*(\d+)\s*(?:\{\s*print(?:\s*\$0)?\s*;?\s*\})?\s*$"
)
_GREP_VALUED = names(
    "-A -B -C -m -e -f -g -t -T --include --exclude --exclude-dir --max-count --context --type --glob"
)
_WINDOW_LINES = 100  # what SWE-agent shows of a file
_WINDOW_ABOVE = 16  # a sixth of it stands above the line that was asked for


@dataclass(frozen=True, slots=True)
class Outcome:
    """Hold what a command touches, and whether its output is nothing but that (`plain`)."""

    touched: tuple[Access, ...] = ()
    plain: bool = True


UNKNOWN = Outcome(plain=False)


def outcome_of(words: Sequence[str], *, cwd: str) -> Outcome:
    """Return what one simple command does, its redirections aside."""
    handler = _HANDLERS.get(words[0].rpartition("/")[2])
    return handler(list(words[1:]), cwd) if handler else UNKNOWN


def window(line: int | None) -> Range:
    """Return the lines that SWE-agent's `open` and `goto` show around a line."""
    first = 1 if line is None else max(1, line - _WINDOW_ABOVE)
    return first, first + _WINDOW_LINES - 1


def is_resolved(path: str) -> bool:
    """Return whether a path names one file, without a wildcard or a variable in it."""
    return not _UNRESOLVED.search(path)


def narrow(outcome: Outcome, words: Sequence[str]) -> Outcome:
    """Return what is left of a command's output behind a filter such as `| head -5`.

    A filter counts the lines of all that comes in: behind several files nobody knows whose are left.
    """
    name = words[0].rpartition("/")[2]
    if name in _PASSING and not _operands(words[1:]):
        return outcome
    if name not in FILTERS:
        kept = tuple(access for access in outcome.touched if access.action == "write")
        return Outcome(kept, plain=False)
    text = " ".join(words)
    is_one = outcome.plain and sum(access.action != "write" for access in outcome.touched) == 1
    if is_one:
        lines = _filtered_lines(name, list(words[1:]))
    else:
        lines, text = None, f"{text} of {' '.join(map(_spelled, outcome.touched))}"
    facts = "facts " if name in _COMPUTING or _counts_only(name, words) else ""
    return replace(outcome, touched=tuple(_behind(access, lines, text, facts) for access in outcome.touched))


def _behind(access: Access, lines: Range | None, text: str, facts: str) -> Access:
    if access.action == "write":
        return access
    if access.action == "read" and lines is not None and not access.detail:
        inner = _within(access.range, lines)
        if inner is not None:
            return replace(access, range=inner)
    action: Action = "search" if access.action == "read" else access.action
    return replace(access, action=action, detail=f"{facts}{access.detail} | {text}")


def _spelled(access: Access) -> str:
    return f"{access.resource}#{access.range}"


def _counts_only(name: str, args: Sequence[str]) -> bool:
    """Return whether `grep` only says how often: a number that its file does not show."""
    return name in _GREPS and any(re.match(r"-[a-zA-Z]*c|--count$", word) for word in args)


def _within(outer: Range | None, lines: Range) -> Range | None:
    """Return lines counted from the start of `outer` as lines of the file; None if it is not known."""
    if outer is None:
        return lines
    if lines[0] < 0 or outer[0] < 0:
        return None
    return outer[0] + lines[0] - 1, min(outer[1], outer[0] + lines[1] - 1)


def _filtered_lines(name: str, args: list[str]) -> Range | None:
    if name == "head":
        return _head_lines(args)
    if name == "tail":
        return _tail_lines(args)
    ranges = _sed_ranges(args)[0] if name == "sed" else []
    return ranges[0] if len(ranges) == 1 else None


def _operands(args: Sequence[str], valued: frozenset[str] = frozenset()) -> list[str]:
    """Return the words that are neither options nor the values of the `valued` ones."""
    found: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--":
            return [*found, *words]
        if word in valued:
            next(words, None)
        elif not word.startswith("-") or word == "-":
            found.append(word)
    return found


def _touch(
    action: Action, paths: Sequence[str], cwd: str, *, lines: Range | None = None, detail: str = ""
) -> Outcome:
    """Return the same access to each path; unresolved paths make the outcome uncertain."""
    known = [path_of(path, cwd=cwd) for path in paths if path != "-"]
    touched = tuple(Access(action, path, lines, detail) for path in known if is_resolved(path))
    return Outcome(touched, plain=bool(touched) and len(touched) == len(paths))


def _cat(args: list[str], cwd: str) -> Outcome:
    return _touch("read", _operands(args), cwd)


def _head(args: list[str], cwd: str) -> Outcome:
    return _ends(args, cwd, _head_lines(args))


def _tail(args: list[str], cwd: str) -> Outcome:
    if {"-f", "-F", "--follow"} & set(args):
        return UNKNOWN
    return _ends(args, cwd, _tail_lines(args))


def _ends(args: list[str], cwd: str, lines: Range | None) -> Outcome:
    files = [word for word in _operands(args, frozenset({"-n", "-c", "--lines"})) if not word.startswith("+")]
    if lines is None:
        return _touch("search", files, cwd, detail=" ".join(args))
    return _touch("read", files, cwd, lines=lines)


def _count(args: Sequence[str]) -> str | None:
    """Return the line count of `head` or `tail` as written, sign included; None for other units."""
    text = " ".join(args)
    if re.search(r"(?:^|\s)-(?:c|-bytes|z)", text):
        return None
    match = re.search(r"(?:^|\s)(?:-n\s*|--lines[= ])([+-]?\d+)(?!\S)|(?:^|\s)-(\d+)(?!\S)", text)
    if match:
        return match[1] or match[2]
    return None if re.search(r"(?:^|\s)-n", text) else "10"


def _head_lines(args: Sequence[str]) -> Range | None:
    count = _count(args)
    return None if count is None or count[0] in "+-" else (1, max(1, int(count)))


def _tail_lines(args: Sequence[str]) -> Range | None:
    count = _count(args)
    if count is None:
        return None
    if count[0] == "+":
        return max(1, int(count)), LAST_LINE
    return -max(1, abs(int(count))), -1


def _sed(args: list[str], cwd: str) -> Outcome:
    ranges, script, files = _sed_ranges(args)
    if any(word.startswith(("-i", "--in-place")) for word in args):
        place = _SED_PLACE.match(script)
        return _touch("write", files, cwd, lines=_sed_range(place[1], place[2]) if place else None)
    if not ranges or (len(files) > 1 and not {"-s", "--separate"} & set(args)):
        return _touch("search", files, cwd, detail="sed " + " ".join(args))
    touched = [_touch("read", files, cwd, lines=lines) for lines in ranges]
    return Outcome(tuple(access for each in touched for access in each.touched), touched[0].plain)


def _sed_ranges(args: Sequence[str]) -> tuple[list[Range], str, list[str]]:
    """Return the line ranges that a `sed -n` prints, its script and its files."""
    scripts = [value for option, value in pairwise(args) if option in ("-e", "--expression")]
    files = _operands(args, frozenset({"-e", "--expression", "-f", "-l"}))
    if not scripts and files:
        scripts = [files.pop(0)]
    script = ";".join(scripts)
    quiet = any(re.match(r"-[a-zA-Z]*n|--(quiet|silent)", word) for word in args)
    prints = [_SED_PRINT.fullmatch(part.strip()) for part in script.split(";") if part.strip()]
    if not quiet or not all(prints):
        return [], script, files
    return [_sed_range(match[1], match[2]) for match in prints if match], script, files


def _sed_range(first: str, last: str | None) -> Range:
    return int(first), LAST_LINE if last == "$" else max(int(first), int(last or first))


def _awk(args: list[str], cwd: str) -> Outcome:
    program, *files = _operands(args, frozenset({"-F", "-v"})) or [""]
    lines = _AWK_LINES.match(program)
    if lines and len(files) == 1:
        return _touch("read", files, cwd, lines=(int(lines[1]), int(lines[2])))
    return _touch("search", files, cwd, detail="facts awk " + " ".join(args))


def _grep(args: list[str], cwd: str) -> Outcome:
    words = _operands(args, _GREP_VALUED)
    has_pattern_option = any(word in ("-e", "-f") for word in args)
    paths = words if has_pattern_option else words[1:]
    options = " ".join(word for word in args if word not in paths)
    facts = "facts " if _counts_only("grep", args) else ""
    return _touch("search", paths or ["."], cwd, detail=f"{facts}grep {options}")


def _facts(name: str) -> Callable[[list[str], str], Outcome]:
    """Return what reads a command that says of its files what their text does not."""

    def outcome(args: list[str], cwd: str) -> Outcome:
        return _touch("search", _operands(args), cwd, detail=" ".join((f"facts {name}", *args)))

    return outcome


def _ls(args: list[str], cwd: str) -> Outcome:
    paths = _operands(args, frozenset({"-I", "-L", "-P", "--ignore"}))
    options = " ".join(word for word in args if word not in paths)
    return _touch("list", paths or ["."], cwd, detail="ls " + options)


def _find(args: list[str], cwd: str) -> Outcome:
    if any(word.startswith(("-exec", "-ok", "-delete")) for word in args):
        return UNKNOWN
    tests = next((i for i, word in enumerate(args) if word[:1] in ("-", "(", "!")), len(args))
    return _touch("list", args[:tests] or ["."], cwd, detail="find " + " ".join(args[tests:]))


def _write(args: list[str], cwd: str) -> Outcome:
    return Outcome(_touch("write", _operands(args), cwd).touched)


def _copy(args: list[str], cwd: str) -> Outcome:
    *sources, target = _operands(args) or [""]
    return Outcome(_touch("write", _landing(sources, target), cwd).touched)


def _move(args: list[str], cwd: str) -> Outcome:
    *sources, target = _operands(args) or [""]
    return Outcome(_touch("write", [*sources, *_landing(sources, target)], cwd).touched)


def _landing(sources: Sequence[str], target: str) -> list[str]:
    """Return where copies land: the target, or below it if it is a folder, which a name may hide."""
    names = [source.rstrip("/").rpartition("/")[2] for source in sources]
    return [path for path in (target, *(f"{target}/{name}" for name in names)) if target]


def _tee(args: list[str], cwd: str) -> Outcome:
    appends = bool({"-a", "--append"} & set(args))
    lines = (LAST_LINE, LAST_LINE) if appends else None
    return Outcome(_touch("write", _operands(args), cwd, lines=lines).touched)


def _git(args: list[str], cwd: str) -> Outcome:
    if args[:1] == ["-C"]:
        cwd, args = path_of(args[1], cwd=cwd) if len(args) > 1 else cwd, args[2:]
    verb, *rest = [word for word in args if word != "--no-pager"] or [""]
    return Outcome(tuple(_restored(verb, rest, cwd)), plain=False)


def _restored(verb: str, args: list[str], cwd: str) -> list[Access]:
    """Return the writes by which git takes files back to an earlier state."""
    everything = [Access("write", EVERYTHING)]
    if verb == "stash":
        return [] if args[:1] and args[0] in ("list", "show", "drop") else everything
    if verb == "reset":
        return everything if "--hard" in args else []
    if verb == "restore" and "--staged" in args and "--worktree" not in args:
        return []
    if verb not in ("checkout", "restore", "switch") or {"-b", "-B", "-c"} & set(args):
        return []
    paths = _operands(args[args.index("--") :]) if "--" in args else _operands(args)
    named = [path for path in paths if verb == "restore" or "--" in args or "." in path]
    if not named or any(path in (".", ":/") for path in named):
        return everything
    return list(_touch("write", named, cwd).touched)


def _open(args: list[str], cwd: str) -> Outcome:
    path, *rest = _operands(args) or [""]
    line = int(rest[0]) if rest and rest[0].isdigit() and len(rest[0]) < 9 else None
    touched = _touch("read", [path] if path else [], cwd, lines=window(line))
    return replace(touched, touched=tuple(replace(access, opens=True) for access in touched.touched))


def _create(args: list[str], cwd: str) -> Outcome:
    touched = _touch("write", _operands(args)[:1], cwd).touched
    return Outcome(tuple(replace(access, opens=True) for access in touched))


def _goto(args: list[str], cwd: str) -> Outcome:
    del cwd
    line = int(args[0]) if args and args[0].isdigit() and len(args[0]) < 9 else None
    return Outcome((Access("read", OPEN_FILE, window(line)),)) if line else UNKNOWN


def _search_tool(args: list[str], cwd: str) -> Outcome:
    term, *places = args or [""]
    if not places:
        return UNKNOWN  # the open file or the working directory, which may change in between
    return _touch("search", places, cwd, detail="search " + term)


FILTERS = names("head tail sed grep egrep fgrep rg awk sort uniq cut tr wc column jq cat nl less rev")
IGNORED = names(
    "cd echo printf pwd true false : export set unset mkdir sleep exit source . touch chmod alias umask popd"
)
PREFIXES = names("sudo time nohup command builtin env stdbuf nice")
_GREPS = names("grep egrep fgrep rg ag ack zgrep")
_COMPUTING = names("wc awk jq uniq")  # say what the text does not
_PASSING = frozenset({"cat", "nl", "less", "more"})
_HANDLERS: dict[str, Callable[[list[str], str], Outcome]] = {
    **dict.fromkeys(names("cat nl less more bat batcat"), _cat),
    **dict.fromkeys(_GREPS, _grep),
    **{name: _facts(name) for name in names("wc stat file md5sum sha1sum sha256sum")},
    **dict.fromkeys(names("ls dir tree du"), _ls),
    **dict.fromkeys(names("rm unlink truncate shred rmdir"), _write),
    **dict.fromkeys(names("awk gawk mawk"), _awk),
    **dict.fromkeys(names("search_file search_dir find_file"), _search_tool),
    "head": _head,
    "tail": _tail,
    "sed": _sed,
    "find": _find,
    "cp": _copy,
    "install": _copy,
    "mv": _move,
    "tee": _tee,
    "git": _git,
    "open": _open,
    "create": _create,
    "goto": _goto,
}
