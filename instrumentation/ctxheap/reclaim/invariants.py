"""Say what no policy may free, and check that a prompt still holds it (SPEC 8).

A tool call and its result leave together or stay together; reasoning stays with its turn; pins, the
task and the newest calls stay. What the provider would refuse is checked in `requests`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ctxheap.heap.model import Part
from ctxheap.heap.subject import base_of, is_inherent


@dataclass(frozen=True, slots=True)
class Resident:
    """Hold one object of a prompt, and what is known of it before the call.

    Attributes:
        number: Its number in the session.
        part: What stands in the prompt for it now.
        tokens: Its size, in tokens.
        birth: First call whose prompt held it.
        last_use: The last call known to have used it, None when none did.
        superseded: Why it is surely dead ("duplicate", "superseded", …), "" when it is not.
        answers: Number of the tool call that it answers, if it is a result.
        signature: Signature of its leak trace where it is known, else "".
        is_freed: Whether the part is a receipt, record or cut text put in its place before.
    """

    number: int
    part: Part
    tokens: int
    birth: int
    last_use: int | None = None
    superseded: str = ""
    answers: int | None = None
    signature: str = ""
    is_freed: bool = False


def must_stay(item: Resident, *, call: int, recent_calls: int) -> bool:
    """Return whether an object is out of reach of eviction and compaction, by itself."""
    return is_pinned(item) or item.birth > call - recent_calls


def is_pinned(item: Resident) -> bool:
    """Return whether an object stays as it is: pins, instructions and what people wrote."""
    part = item.part
    return part.kind in {"hidden", "tool_definition", "reasoning"} or is_inherent(
        part.tag, pinned=part.pinned
    )


def turns(residents: Sequence[Resident]) -> Iterator[tuple[Resident, ...]]:
    """Yield the turns of a prompt: what the model said at once, with the results that answer it.

    Other parts (instructions, what people wrote) belong to no turn.
    """
    turn: list[Resident] = []
    for item in residents:
        role, kind = item.part.role, item.part.kind
        is_said = role == "assistant" and kind not in {"tool_result", "tool_definition"}
        if is_said and turn and turn[-1].part.role != "assistant":
            yield tuple(turn)
            turn = []
        if is_said or (turn and kind == "tool_result"):
            turn.append(item)
    if turn:
        yield tuple(turn)


def broken(before: Sequence[Part], after: Sequence[Part]) -> list[str]:
    """Return which invariants a projection of a prompt breaks, in words; none when it may be sent."""
    return [*_pairs(before, after), *_pins(before, after), *_reasoning(before, after)]


def _pairs(before: Sequence[Part], after: Sequence[Part]) -> Iterator[str]:
    whole = _ids(before, "tool_call") & _ids(before, "tool_result")
    asked, answered = _ids(after, "tool_call"), _ids(after, "tool_result")
    for call_id in sorted(whole & (asked ^ answered)):
        left = "result" if call_id in asked else "call"
        yield f"tool call {call_id}: the {left} left without the other"


def _pins(before: Sequence[Part], after: Sequence[Part]) -> Iterator[str]:
    kept = {part.identity for part in after}
    for part in before:
        if (part.pinned or base_of(part.tag) in {"system_prompt", "tool_definition", "user_turn"}) and (
            part.identity not in kept
        ):
            yield f"{part.tag} {part.identity.hex()[:8]}: must stay, and is gone"


def _reasoning(before: Sequence[Part], after: Sequence[Part]) -> Iterator[str]:
    """Yield reasoning that is gone while what was said behind it in the same turn is there."""
    kept = {part.identity for part in after} | {b""}
    asked = _ids(after, "tool_call")
    for turn in _said(before):
        follows = any(part.call_id in asked for part in turn if part.kind == "tool_call" and part.call_id)
        for part in turn:
            if part.kind == "reasoning" and follows and part.identity not in kept:
                yield f"reasoning {part.identity.hex()[:8]}: left without its turn"


def _said(parts: Iterable[Part]) -> Iterator[list[Part]]:
    turn: list[Part] = []
    for part in parts:
        if part.role == "assistant":
            turn.append(part)
        elif turn:
            yield turn
            turn = []
    if turn:
        yield turn


def _ids(parts: Iterable[Part], kind: str) -> set[str]:
    return {part.call_id for part in parts if part.kind == kind and part.call_id}
