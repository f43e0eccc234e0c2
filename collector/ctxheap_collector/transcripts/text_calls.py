"""Find tool calls that models without function calling write into their text, and cut them out as calls.

The fences around a call are dropped: the JSON of its arguments, which stands for it, costs about as much.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ctxheap.heap.model import Part
from ctxheap.providers.json_fields import json_text

_BASH = re.compile(r"```(?:mswea_bash_command|bash)\s*\n(.*?)\n?```", re.DOTALL)
_FUNCTION = re.compile(r"<function=([\w.-]+)>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>\n?(.*?)\n?</parameter>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Spoken:
    """Hold a call found in a text: its place there, its tool and its arguments."""

    start: int
    end: int
    tool: str
    arguments: dict[str, str]


def bash_call(text: str) -> Spoken | None:
    """Return the command of a text with exactly one bash block; mini-swe-agent runs no other."""
    blocks = list(_BASH.finditer(text))
    if len(blocks) != 1:
        return None
    return Spoken(blocks[0].start(), blocks[0].end(), "bash", {"command": blocks[0][1].strip()})


def function_calls(text: str) -> list[Spoken]:
    """Return the calls in OpenHands' markup: <function=name><parameter=key>value</parameter></function>."""
    return [
        Spoken(found.start(), found.end(), found[1], dict(_PARAMETER.findall(found[2])))
        for found in _FUNCTION.finditer(text)
    ]


def command_call(text: str, action: str) -> Spoken | None:
    """Return a command that the source names, where the text has it last; the tool is its first word."""
    command = action.strip()
    at = text.rfind(command) if command else -1
    if at < 0:
        return None
    start, end = at, at + len(command)
    fence = text.rfind("```", 0, at)
    if fence >= 0 and "\n" in text[fence:at] and not text[fence:at].partition("\n")[2].strip():
        start = fence
    closing = text.find("```", end)
    if start == fence and closing >= 0:
        end = closing + 3
    return Spoken(start, end, command.split(maxsplit=1)[0], {"command": command})


def spoken_parts(text: str, calls: list[Spoken], *, ids: list[str], where: str) -> list[Part]:
    """Return a text cut at its calls, in order; white space alone is no part."""
    return list(_cut(text, calls, ids, where))


def _cut(text: str, calls: list[Spoken], ids: list[str], where: str) -> Iterator[Part]:
    at = 0
    for call, call_id in zip(calls, ids, strict=True):
        if text[at : call.start].strip():
            yield Part("assistant", "text", "agent_output", text[at : call.start], where=where)
        tag, arguments = f"tool_call:{call.tool}", json_text(call.arguments)
        yield Part("assistant", "tool_call", tag, arguments, call.tool, call_id, where=where)
        at = call.end
    if text[at:].strip():
        yield Part("assistant", "text", "agent_output", text[at:], where=where)
