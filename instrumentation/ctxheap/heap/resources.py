"""Tell what a tool call touches: which resource, which lines, reading or writing (SPEC 5.2).

    Read {"file_path": "/a/b.py", "offset": 10, "limit": 5}   read    /a/b.py  10-14
    bash {"command": "cd /a && sed -n 10,14p b.py"}           read    /a/b.py  10-14
    str_replace_editor {"command": "insert", "path": …}       write   /a/b.py
    get_user {"id": 7}                                        read    get_user  detail {"id":7}

Names of tools differ from harness to harness, their arguments much less: a tool is known by the
words in its name and by which of its arguments hold a path.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import cast

from ctxheap.heap.access import LAST_LINE, OPEN_FILE, PLAN, Access, Action, Range, anchor_of, names, path_of
from ctxheap.heap.shell import shell_accesses
from ctxheap.heap.shell_commands import window

__all__ = ["Access", "accesses", "canonical"]

_PATH_KEYS = (
    "file_path", "path", "filename", "filepath", "file", "notebook_path", "absolute_path", "target_file",
    "relative_path", "relative_workspace_path", "file_name", "filePath", "absolutePath", "directory",
    "dir_path", "dir", "url", "uri",
)  # fmt: skip
_OLD_KEYS = ("old_string", "old_str", "old_text", "oldText", "oldString", "search", "find")
_NEW_KEYS = (
    "new_string",
    "new_str",
    "new_text",
    "newText",
    "newString",
    "replace",
    "replacement_text",
    "new_source",
)
_FIRST_KEYS = ("offset", "start_line", "line_start", "startLine", "start_line_one_indexed")
_LAST_KEYS = ("end_line", "line_end", "endLine", "end_line_one_indexed_inclusive", "end_line_one_indexed")
_SHELLS = names(
    "bash shell execute_bash run_shell_command terminal run_command run_terminal_cmd execute_command cmd"
    " local_shell shell_command exec exec_command run"
)
_SHELL_KEYS = ("command", "cmd", "commands", "script", "input")
_BACKGROUND_KEYS = ("run_in_background", "is_background", "isBackground", "background")
_PLANS = names("todowrite todo_write write_todos update_plan task_tracker todolist updateplan todo")
# What these show next depends on what was shown before, so a repetition supersedes nothing.
_INCREMENTAL = names(
    "bashoutput taskoutput wait write_stdin read_terminal scroll_down scroll_up next_page think finish"
)
_COMMANDS_OF_TEXT = frozenset({"open", "goto", "create", "edit", "find_file", "search_dir", "search_file"})
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ACTIONS: tuple[tuple[Action, frozenset[str]], ...] = (
    ("write", names("write create edit replace insert patch append delete undo modify remove")),
    ("list", names("ls list glob tree")),
    ("search", names("grep search find ripgrep rg")),
    ("read", names("read view open cat fetch")),
)
_EDITOR_COMMANDS: Mapping[str, Action] = {
    "view": "read", "create": "write", "str_replace": "write", "insert": "write", "undo_edit": "write",
}  # fmt: skip
_PATCH_SECTION = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
_SHORT_CHARS = 256
_REMEMBERED_CALLS = 64

Arguments = Mapping[str, object]


def command_of(tool: str, arguments: str) -> str | None:
    """Return the command line that a call hands to a shell, None for other calls; never raises."""
    name = re.split(r"__|\.", tool.lower())[-1]
    try:
        parsed = _parse(arguments)
    except RecursionError:
        return None
    if isinstance(parsed, dict):
        args = cast("Arguments", parsed)
        command = None if _editor_action(args) else _command(args)
        is_shell = command is not None and (name in _SHELLS or _is_command_line(tool, command, args))
        return command if is_shell else None
    return (parsed if isinstance(parsed, str) else arguments) if name in _SHELLS else None


def accesses(tool: str, arguments: str) -> tuple[Access, ...]:
    """Return what a tool call touches, in order; never raises, whatever the text.

    A tool without a known resource is a read of itself with its canonical arguments as `detail`.
    Nothing is returned for a call whose repetition shows something else (scrolling, polling).

    Args:
        tool: The tool's own name.
        arguments: Its arguments as they were sent: JSON, or the text of a command.
    """
    return _known(tool, arguments)


@lru_cache(maxsize=_REMEMBERED_CALLS)
def _known(tool: str, arguments: str) -> tuple[Access, ...]:
    """Remember the last calls: one is looked at when it is named and again when its result comes."""
    name = re.split(r"__|\.", tool.lower())[-1]
    if name in _INCREMENTAL:
        return ()
    try:
        parsed = _parse(arguments)
        if name in _PLANS:
            return _plan(parsed)
        if isinstance(parsed, dict):
            args = cast("Arguments", parsed)
            found = _of_mapping(tool, name, args)
            is_start = any(args.get(key) in (True, "true") for key in _BACKGROUND_KEYS)
            return tuple(replace(access, starts=True) for access in found) if is_start else found
    except RecursionError:  # nested deeper than the interpreter can follow
        return (Access("read", tool, detail=_digest(arguments)),)
    return _of_text(tool, name, parsed if isinstance(parsed, str) else arguments)


@lru_cache(maxsize=_REMEMBERED_CALLS)
def _parse(arguments: str) -> object:
    """Return arguments as JSON or as they are; what is returned is shared, and only read."""
    try:
        return cast("object", json.loads(arguments))
    except ValueError:
        return arguments


def _plan(parsed: object) -> tuple[Access, ...]:
    looks_only = isinstance(parsed, dict) and cast("Arguments", parsed).get("command") == "view"
    return (Access("read" if looks_only else "write", PLAN),)


def _of_text(tool: str, name: str, text: str) -> tuple[Access, ...]:
    if name in _SHELLS or ("\n" in text and "*** Begin Patch" in text):
        return _patched(text) or shell_accesses(text, tool=tool)
    if name in _COMMANDS_OF_TEXT:
        return shell_accesses(text if text.startswith(name) else f"{name} {text}", tool=tool)
    return (Access("read", tool, detail=_digest(text.strip())),)


def _of_mapping(tool: str, name: str, args: Arguments) -> tuple[Access, ...]:
    command = None if _editor_action(args) else _command(args)
    if command is not None and (name in _SHELLS or _is_command_line(tool, command, args)):
        is_input = args.get("is_input") in (True, "true")
        return () if is_input else _patched(command) or shell_accesses(command, tool=tool)
    patched = _patched(command or _text(args, ("patch", "patchText", "diff")) or "")
    path, action = _text(args, _PATH_KEYS), _action(tool, args)
    if patched or action is None or not path:
        return patched or _nameless(tool, name, args)
    return _of_action(action, path, tool, args)


def _is_command_line(tool: str, command: str, args: Arguments) -> bool:
    """Return whether a call is a line of a shell: its only argument, or one that starts with the tool."""
    return set(args) == {"command"} or command.startswith(f"{tool} ")


def _nameless(tool: str, name: str, args: Arguments) -> tuple[Access, ...]:
    """Return what a call without a path touches: the file that is open, or only itself."""
    if name == "goto":
        return (Access("read", OPEN_FILE, window(_number(args, ("line_number",)))),)
    if name == "edit":
        return tuple(_writes(OPEN_FILE, args))
    paths = args.get("paths")
    if isinstance(paths, list) and _action(tool, args) == "read":
        return tuple(
            Access("read", path_of(path)) for path in cast("list[object]", paths) if isinstance(path, str)
        )
    return (Access("read", tool, detail=_canonical(args)),)


def _of_action(action: Action, path: str, tool: str, args: Arguments) -> tuple[Access, ...]:
    resource = path_of(path)
    if action == "write":
        return tuple(_writes(resource, args))
    if action == "read" and "://" in resource:
        return (Access("read", resource, detail=_canonical(args)),)
    if action == "read" and tool == "open":
        return (Access("read", resource, window(_number(args, ("line_number",))), opens=True),)
    if action == "read":
        return (Access("read", resource, _lines(args)),)
    return (Access(action, resource, detail=tool + _canonical(args)),)


def _action(tool: str, args: Arguments) -> Action | None:
    edited = _editor_action(args)
    if edited:
        return edited
    words = {word.lower() for word in _WORDS.findall(tool)}
    return next((action for action, known in _ACTIONS if words & known), None)


def _editor_action(args: Arguments) -> Action | None:
    """Return what an editor with commands of its own does, None for all other tools."""
    command = args.get("command")
    return _EDITOR_COMMANDS.get(command) if isinstance(command, str) else None


def _writes(resource: str, args: Arguments) -> Iterable[Access]:
    """Yield one write for each piece that a call replaces; a single one without a range for a file."""
    edits = args.get("edits")
    pieces: list[Arguments] = [args]
    if isinstance(edits, list):
        items = cast("list[object]", edits)
        pieces = [cast("Arguments", edit) for edit in items if isinstance(edit, dict)] or pieces
    opens = "filename" in args and len(args) == 1
    for piece in pieces:
        old, new = _text(piece, _OLD_KEYS), _text(piece, _NEW_KEYS)
        is_insert = piece.get("insert_line") is not None
        yield Access(
            "write",
            resource,
            _written_lines(piece),
            before=anchor_of(old or ""),
            after=anchor_of(new or "") if old is not None or is_insert else "",
            opens=opens,
            old=old or "",
            new=(new or "") if old is not None or is_insert else "",
        )


def _written_lines(args: Arguments) -> Range | None:
    after = _number(args, ("insert_line",))
    if after is not None:
        return after, after + 1
    first, last = _number(args, _FIRST_KEYS), _number(args, _LAST_KEYS)
    return None if first is None or last is None else (max(1, first), max(1, last))


def _lines(args: Arguments) -> Range | None:
    """Return the lines that a read asks for, None for the whole."""
    view = args.get("view_range")
    if isinstance(view, list):
        ends = [end for end in cast("list[object]", view) if isinstance(end, int)]
        return _range(ends[0], ends[1] if ends[1] > 0 else LAST_LINE) if len(ends) == 2 else None
    first, last = _number(args, _FIRST_KEYS), _number(args, _LAST_KEYS)
    count = _number(args, ("limit", "num_lines", "max_lines", "length"))
    if last is None and count is not None:
        last = max(1, first or 1) + count - 1
    if first is None and last is None:
        return None
    return _range(first or 1, LAST_LINE if last is None or last < 0 else last)


def _range(first: int, last: int) -> Range | None:
    first = max(1, first)
    return None if first == 1 and last >= LAST_LINE else (first, max(first, last))


def _command(args: Arguments) -> str | None:
    for key in _SHELL_KEYS:
        value = args.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return _joined([word for word in cast("list[object]", value) if isinstance(word, str)])
    return None


def _joined(words: list[str]) -> str:
    """Return an argument vector as a command line; `bash -lc SCRIPT` is the script."""
    if len(words) == 3 and words[0].endswith("sh") and words[1].startswith("-"):
        return words[2]
    return shlex.join(words)


def _patched(text: str) -> tuple[Access, ...]:
    """Return the writes of a patch in the `*** Update File:` format."""
    if "*** " not in text:
        return ()
    _, *sections = _PATCH_SECTION.split(text)
    return tuple(
        Access(
            "write",
            path_of(path),
            before=_marked(body, "-"),
            after=_marked(body, "+"),
            old=_side(body, "-"),
            new=_side(body, "+"),
        )
        for path, body in zip(sections[::2], sections[1::2], strict=True)
    )


def _marked(body: str, mark: str) -> str:
    return anchor_of("\n".join(line[1:] for line in body.splitlines() if line.startswith(mark)))


def _side(body: str, mark: str) -> str:
    """Return the lines before or after the change in a patch's only hunk; "" where there are more."""
    lines = body.strip("\n").splitlines()
    if lines and lines[0].startswith("@@"):
        lines = lines[1:]
    if any(line.startswith("@@") for line in lines):
        return ""
    return "\n".join(line[1:] for line in lines if line.startswith((mark, " ")))


def _text(args: Arguments, keys: Iterable[str]) -> str | None:
    for key in keys:
        if key in args:
            value = args[key]
            if isinstance(value, str):
                return value
    return None


def _number(args: Arguments, keys: Iterable[str]) -> int | None:
    for key in keys:
        value = args.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and value.isdecimal() and len(value) < 10:
            return int(value)
        if isinstance(value, float) and value.is_integer():
            return int(value)
    return None


def canonical(arguments: str) -> str:
    """Return the arguments of a tool call in one spelling; never raises, whatever the text."""
    try:
        parsed = _parse(arguments)
        return _canonical(cast("Arguments", parsed)) if isinstance(parsed, dict) else arguments.strip()
    except RecursionError:
        return arguments


def _canonical(args: Arguments) -> str:
    """Return arguments in one spelling: sorted keys, no spaces, a hash instead where it is long."""
    return _digest(_ENCODER.encode(args))


def _digest(text: str) -> str:
    if len(text) <= _SHORT_CHARS:
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
