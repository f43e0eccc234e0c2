"""Define what a leak trace holds: nodes from the root to the object, and traces of one cause together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ctxheap.heap.retain import EdgeKind

Verdict = Literal["Expected", "Stuck", "Unknown"]
Hold = Literal["root", "history"] | EdgeKind


@dataclass(frozen=True, slots=True)
class Node:
    """Hold one step of a trace.

    Attributes:
        number: Number of the object; -1 for the application's message list.
        tag: Its tag, "" for the message list.
        name: Its name for people.
        hold: How the node before it holds it: `root`, `history` or the kind of the retain edge.
        verdict: `Expected` for what is used at this call or later, `Stuck` for what is surely dead,
            whole in a later object, or idle for θ calls (half the session while θ is not known),
            `Unknown` for what shows no later use but has not been idle for so long.
        is_suspect: Whether the edge to it lies between the last needed and the first stuck node.
        is_forced: Whether the provider's API asks for that edge.
        tokens: Size at the call of the trace.
        drag_calls: Calls since its last use, all of its life when it was never used.
    """

    number: int
    tag: str
    name: str
    hold: Hold
    verdict: Verdict
    is_suspect: bool
    is_forced: bool
    tokens: int
    drag_calls: int


@dataclass(frozen=True, slots=True)
class Forced:
    """Hold an object that has to leave together with the traced one, because the API asks for it."""

    number: int
    tag: str
    kind: EdgeKind
    tokens: int


@dataclass(frozen=True, slots=True)
class Trace:
    """Hold why an object is in the prompt of a call.

    Attributes:
        session: The session it belongs to.
        number: The object.
        call: The call that is looked at, the object's last unless asked otherwise.
        rule: Why it is dead: the reason of what superseded it, `contained`, `void` (never used),
            `drag` (no longer used), or "" when it is not.
        nodes: From the root to the object.
        forced: What leaves together with it because the API asks for it, the object left out.
        tokens: Its size at that call.
        rent_usd: Gross money paid for it so far, None when the price of a call is unknown.
        dead_usd: The part of it that was paid while no later use was seen.
        to_come_usd: Gross money it will cost if it stays for the calls expected; None without price.
        signature: SHA-1 over agent, rule, tag, the suspect edges and the argument names of its call.
        started_ns: Start of the session's first and last call, None when unknown.
    """

    session: str
    number: int
    call: int
    rule: str
    nodes: tuple[Node, ...]
    forced: tuple[Forced, ...]
    tokens: int
    rent_usd: float | None
    dead_usd: float | None
    to_come_usd: float | None
    signature: str
    started_ns: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Leaks:
    """Hold the traces with one signature.

    Attributes:
        signature: What they have in common.
        count: Number of objects.
        sessions: Number of sessions.
        tokens: Sum of their sizes.
        dead_usd: Gross money paid for them while dead, None when any of it is unknown.
        usd_per_week: The same per week, from the first to the last call of these sessions but never
            less than one week, None when money or times are unknown.
        example: The trace that costs most.
    """

    signature: str
    count: int
    sessions: int
    tokens: int
    dead_usd: float | None
    usd_per_week: float | None
    example: Trace
