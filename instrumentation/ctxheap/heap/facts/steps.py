"""Note each tool call with its answer as a step: what was asked, what it touched, how it ended.

    tool call ──▶ pending ──answer──▶ Step(key, reads, writes, content, …)
                     └────no answer───▶ Step(result=None)

Nothing of the texts is kept but digests of 8 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ctxheap.heap.access import PLAN, Access, Range, names
from ctxheap.heap.facts.records import Step, digest
from ctxheap.heap.model import Part
from ctxheap.heap.resources import accesses, canonical
from ctxheap.heap.results import is_failure, is_hint
from ctxheap.heap.touches import Touches

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# What tools of services do that have no resource of their own: the first verb of a name decides.
_CHANGING = names(
    "activate add apply approve assign block book cancel change charge close commit confirm create"
    " deactivate delete deploy disable edit enable exchange execute grant insert install issue make"
    " merge modify move order patch pay place post publish purchase push put reboot refuel refund"
    " register remove rename replace reschedule reseat reserve reset resume return revoke save schedule"
    " send set start stop store submit subscribe suspend swap switch toggle unassign unblock uninstall"
    " unsubscribe update upgrade upload write"
)
_LOOKING = names(
    "calculate check count describe fetch find get glance inspect is list load look lookup ls peek"
    " query read retrieve search show think validate verify view"
)
# Shell commands that change something beyond files named in them; they stand in JSON, so that a line
# may begin with the two characters of an escaped line break.
_SHELL_CHANGE = re.compile(
    r"(?:\b|\\n)git\s+(?:-C\s+\S+\s+)?(?:commit|push|merge|rebase|cherry-pick|am|apply|revert|tag\s+\w|mv|rm)\b"
    r"|(?:\b|\\n)gh\s+(?:pr|issue|release)\s+(?:create|comment|edit|close|merge|review)\b"
    r"|(?:\b|\\n)(?:patch\s+-|perl\s+-\w*i|sed\s+-\w*i)|\.write_text\("
    r"|\b(?:edit_file|insert_content|append_file|create_file|write_file)\w*\("
    r"|open\([^()\n]{1,99}\\?['\"][wax]b?\+?\\?['\"]"
)
_SHELL_CHANGE_WORDS = ("git ", "gh ", "patch ", "perl ", "sed ", "_text(", "_file", "_content", "open(")
_FAULT_CHARS = 3_000
_LONG_ARGUMENT_CHARS = 500
_FAULT_LINE = re.compile(
    r"error\b|exception\b|fatal|not found|no such|failed|denied|cannot|can't|unable|refused|invalid"
    r"|not allowed|timed out|no replacement",
    re.IGNORECASE,
)
_EXIT_CODE = re.compile(r"exit(?:ed)?(?: with)?(?: code| status)|returncode", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")


class StepTracker:
    """Collect the steps of one session, fed in birth order."""

    def __init__(self, touches: Touches) -> None:
        self._touches = touches
        self._steps: list[Step] = []
        self._pending: dict[int, tuple[Part, int]] = {}
        self._answered: set[int] = set()

    def see(self, number: int, part: Part, call: int, *, request: int | None, asked: Part | None) -> None:
        """Take in an object; only the first answer to a tool call makes its step."""
        if part.kind == "tool_call":
            self._pending[number] = part, call
        elif request is not None and asked is not None and request not in self._answered:
            self._answered.add(request)
            self._pending.pop(request, None)
            self._steps.append(self._step((request, asked), (number, part), call))

    def steps(self) -> list[Step]:
        """Return the steps so far, unanswered ones among them, in the order of calls and requests."""
        open_steps = [unanswered(number, part, call) for number, (part, call) in self._pending.items()]
        return sorted((*self._steps, *open_steps), key=lambda step: (step.call, step.request))

    def _step(self, request: tuple[int, Part], answer: tuple[int, Part], call: int) -> Step:
        asked, part = request[1], answer[1]
        touched = self._touches.of(asked, part)
        tool, failed = asked.tool or part.tool, is_failure(part)
        return Step(
            request=request[0],
            result=answer[0],
            call=call,
            tool=tool,
            key=_key(tool, asked.text),
            reads=tuple(map(_place, _looks(touched))),
            writes=_writes(tool, asked.text, touched),
            touched=_unique(access.resource for access in _with_resource(touched, tool)),
            content=digest(part.text),
            is_error=failed,
            is_notice=is_hint(part.text),
            fault=fault_of(part.text) if failed else "",
            is_poll=not touched and not accesses(tool, asked.text),
        )


def unanswered(number: int, part: Part, call: int) -> Step:
    """Return the step of a tool call that has no answer yet; paths stay in their own spelling."""
    touched = accesses(part.tool, part.text)
    return Step(
        request=number,
        result=None,
        call=call,
        tool=part.tool,
        key=_key(part.tool, part.text),
        reads=tuple(map(_place, _looks(touched))),
        writes=_writes(part.tool, part.text, touched),
        touched=_unique(access.resource for access in _with_resource(touched, part.tool)),
    )


@lru_cache(maxsize=256)
def changes_by_name(tool: str) -> bool:
    """Return whether the name of a tool says that it changes something (`cancel_order`, `sendEmail`)."""
    words = [word.lower() for word in _WORDS.findall(re.split(r"__|\.", tool)[-1])]
    if words == ["submit"]:  # hands in what was changed before
        return False
    verb = next((word for word in words if word in _CHANGING or word in _LOOKING), "")
    return verb in _CHANGING


def fault_of(text: str) -> str:
    """Return a digest of the last line that names a failure, numbers left out; "" without one."""
    for line in reversed(text[-_FAULT_CHARS:].splitlines()):
        if _FAULT_LINE.search(line) and not _EXIT_CODE.search(line):
            return digest(_DIGITS.sub("", line.strip()))
    return ""


def _key(tool: str, arguments: str) -> str:
    """Return what equal calls share; long arguments are taken as they stand, in the model's own order."""
    text = canonical(arguments) if len(arguments) <= _LONG_ARGUMENT_CHARS else arguments
    return digest(f"{tool}\0{text}")


def _looks(touched: Iterable[Access]) -> Iterator[Access]:
    return (access for access in touched if access.action != "write")


def _with_resource(touched: Iterable[Access], tool: str) -> Iterator[Access]:
    """Yield the accesses to something that other tools can touch as well."""
    return (access for access in touched if access.resource != tool)


def _writes(tool: str, arguments: str, touched: Sequence[Access]) -> tuple[str, ...]:
    """Return what a call changes; for one whose name or command only says that it does, the tool."""
    found = [access.resource for access in touched if access.action == "write" and access.resource != PLAN]
    is_own = any(access.resource == tool for access in touched)
    if not found and is_own and (changes_by_name(tool) or _changes_by_command(arguments)):
        found = [tool]
    return _unique(found)


def _changes_by_command(arguments: str) -> bool:
    if not any(word in arguments for word in _SHELL_CHANGE_WORDS):  # far cheaper than the pattern
        return False
    return _SHELL_CHANGE.search(arguments) is not None


def _place(access: Access) -> str:
    return _known_digest(f"{access.action}\0{access.resource}\0{_lines(access.range)}\0{access.detail}")


def _lines(lines: Range | None) -> str:
    return f"{lines[0]}-{lines[1]}" if lines else ""


def _unique(resources: Iterable[str]) -> tuple[str, ...]:
    return tuple(_known_digest(resource) for resource in dict.fromkeys(resources))


@lru_cache(maxsize=1024)
def _known_digest(name: str) -> str:
    """Remember the digests of names: a session comes back to the same files."""
    return digest(name)
