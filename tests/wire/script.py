"""Say what the scripted model answers, turn by turn, whatever wire it is asked over.

turn 0   reasoning, one tool call            read_file(notes.md)
turn 1   two tool calls in parallel          search(budget), read_file(plan.md)
turn 2   one tool call whose result fails    write_note(…)
turn 3   the final text
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

QUESTION = "What does the plan say about the budget? Save a note."
SYSTEM = "You are a careful analyst. Read before you answer."
MODEL = "gpt-5-mini"


@dataclass(frozen=True, slots=True)
class ToolUse:
    """Hold a tool call of the model."""

    id: str
    name: str
    arguments: Mapping[str, str]

    @property
    def json(self) -> str:
        """Return the arguments as the compact JSON that goes over the wire."""
        return json.dumps(self.arguments, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold what the model says in one turn."""

    text: str = ""
    reasoning: str = ""
    tools: tuple[ToolUse, ...] = ()


SCRIPT = (
    Answer(
        reasoning="The notes come first.",
        tools=(ToolUse("call00aaa", "read_file", {"path": "notes.md"}),),
    ),
    Answer(
        text="Now both at once.",
        tools=(
            ToolUse("call01bbb", "search", {"query": "budget"}),
            ToolUse("call02ccc", "read_file", {"path": "plan.md"}),
        ),
    ),
    Answer(tools=(ToolUse("call03ddd", "write_note", {"text": "Budget: 41,730 € – see plan.md"}),)),
    Answer(text="The plan sets 41,730 € aside; the note could not be saved ✓"),
)

TOOL_RESULTS = {
    "notes.md": "# Notes\n"
    + "".join(f"- point {n}: ask team {n % 7} about item {n * 37}\n" for n in range(40)),
    "plan.md": "# Plan\n\nBudget: 41,730 €. Owner: Ada. “Quoted”, a \\ backslash and a tab\t.\n" * 12,
    "budget": json.dumps([{"file": "plan.md", "line": 3, "score": 0.91}, {"file": "old.md", "line": 9}]),
}


def read_file(path: str) -> str:
    """Read a file of the project."""
    return TOOL_RESULTS[path]


def search(query: str) -> str:
    """Search the project."""
    return TOOL_RESULTS[query]


def write_note(text: str) -> str:
    """Write a note."""
    return f"error: disk full, {len(text)} characters not written"


TOOLS = {"read_file": read_file, "search": search, "write_note": write_note}
ARGUMENT = {"read_file": "path", "search": "query", "write_note": "text"}
TOOL_TAGS = ("tool_result:read_file", "tool_result:search", "tool_result:write_note")


def schema(name: str) -> dict[str, object]:
    """Return the JSON schema of a tool's arguments."""
    argument = ARGUMENT[name]
    return {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}


def run_tool(name: str, arguments: Mapping[str, object]) -> str:
    """Run a tool with the arguments that the model gave."""
    return TOOLS[name](str(arguments[ARGUMENT[name]]))
