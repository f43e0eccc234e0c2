"""Fix the colour, letter and order of every kind of tag, and the marks of phases and tiers.

Colours are Okabe and Ito's, greys for what nobody wrote on purpose. They never stand alone: kinds
carry a letter, phases a hatch, tiers a word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Tier = Literal["green", "yellow", "red"]

BLACK: Final = "#000000"
WHITE: Final = "#ffffff"
TITLE: Final = "bold"
FAINT: Final = "dim"
STRONG: Final = "bold"
ALARM: Final = "bold #d55e00"
FINE: Final = "#009e73"


@dataclass(frozen=True, slots=True)
class Group:
    """Hold how kinds of tags that belong together are drawn; `ink` is legible on `colour`."""

    letter: str
    label: str
    kinds: tuple[str, ...]
    colour: str
    ink: str = BLACK


# Bottom to top of a stack.
GROUPS: Final = (
    Group("S", "system", ("system_prompt",), "#0072b2", WHITE),
    Group("D", "definitions", ("tool_definition",), "#56b4e9"),
    Group("M", "memory", ("summary", "memory", "receipt"), "#e3b3cc"),
    Group("U", "user", ("user_turn", "example"), "#009e73"),
    Group("A", "agent", ("agent_output",), "#f0e442"),
    Group("R", "reasoning", ("agent_reasoning",), "#999999"),
    Group("C", "calls", ("tool_call",), "#e69f00"),
    Group("T", "results", ("tool_result",), "#d55e00"),
    Group("K", "retrieval", ("retrieval",), "#cc79a7"),
    Group("I", "media", ("media",), "#bbbbbb"),
    Group("H", "harness", ("harness",), "#777777"),
    Group("X", "rest", ("framing", "unattributed"), "#555555", WHITE),
)
_BY_KIND: Final = {kind: group for group in GROUPS for kind in group.kinds}

SOLID: Final = "█"
SHADE: Final = "▒"
HATCH: Final = "╱"
DOT: Final = "·"
# Phase, mark, colour.
PHASES: Final = (
    ("lag", DOT, "#56b4e9"),
    ("use", SOLID, "#0072b2"),
    ("drag", SHADE, "#e69f00"),
    ("void", HATCH, "#d55e00"),
)
TIER_COLOURS: Final[dict[Tier, str]] = {"green": "#009e73", "yellow": "#f0e442", "red": "#d55e00"}
YELLOW_SHARE: Final = 0.50
RED_SHARE: Final = 0.75


def group_of(tag: str) -> Group:
    """Return how a tag is drawn; a kind that SPEC 2 does not know belongs to the rest."""
    return _BY_KIND.get(tag.partition(":")[0], GROUPS[-1])


def tier_of(tokens: int, room: int) -> Tier:
    """Return the pressure tier of a context in the window less the room for the output (SPEC 8)."""
    share = tokens / room
    return "green" if share < YELLOW_SHARE else "yellow" if share <= RED_SHARE else "red"
