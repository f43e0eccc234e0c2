"""Replay a list of messages without call boundaries as the calls that must have happened.

input, input, OUTPUT, input, OUTPUT, OUTPUT, input
─────────────▶ call 1                                   2 turns in its prompt
────────────────────────────▶ call 2                    4 turns; the last input was never sent
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ctxheap.heap.model import Exchange, Part, Usage


@dataclass(frozen=True, slots=True)
class Turn:
    """Hold one message of a list, made into parts.

    Attributes:
        parts: Its parts; the same objects stand in every prompt that holds the message.
        is_output: Whether the model wrote it in this session; an example of an assistant's turn is no output.
        usage: What its call billed, where the message says.
        reported: The same as the source has it.
        call_id: The provider's id of its response, "" when unknown.
        model: The model that answered, "" for the session's.
        started_ns: When, as nanoseconds since the epoch.
        recorded_usd: What it cost, where the message says.
    """

    parts: Sequence[Part]
    is_output: bool = False
    usage: Usage | None = None
    reported: object = None
    call_id: str = ""
    model: str = ""
    started_ns: int | None = None
    recorded_usd: float | None = None


@dataclass(frozen=True, slots=True)
class About:
    """Hold what the calls of one list have in common; `opening` comes before all messages in every prompt."""

    session: str
    model: str = ""
    provider: str = ""
    agent: str = ""
    opening: Sequence[Part] = ()
    incomplete: bool = False


def replay(turns: Iterable[Turn], about: About) -> Iterator[Exchange]:
    """Yield one call for each run of output turns; a turn with a usage of its own is a call of its own.

    Output that nothing precedes was not asked of a model: such a turn opens the prompt.
    """
    parts = list(about.opening)
    output: list[Turn] = []
    number = 0
    for turn in turns:
        if output and (not turn.is_output or _is_recorded(turn)):
            number += 1
            yield _exchange(parts, output, number, about)
            _extend(parts, output)
            output = []
        if turn.is_output and (len(parts) > len(about.opening) or _is_recorded(turn)):
            output.append(turn)
        else:
            parts.extend(turn.parts)
    if output:
        yield _exchange(parts, output, number + 1, about)


def _is_recorded(turn: Turn) -> bool:
    return turn.is_output and (turn.usage is not None or bool(turn.call_id))


def _extend(parts: list[Part], output: list[Turn]) -> None:
    for turn in output:
        parts.extend(turn.parts)


def _exchange(parts: list[Part], output: list[Turn], number: int, about: About) -> Exchange:
    first = output[0]
    answer: list[Part] = []
    _extend(answer, output)
    return Exchange(
        call_id=first.call_id or f"{about.session}/{number}",
        prompt=tuple(parts),
        output=tuple(answer),
        session=about.session,
        agent=about.agent,
        model=first.model or about.model,
        provider=about.provider,
        started_ns=first.started_ns,
        usage=first.usage,
        recorded_usd=first.recorded_usd,
        implied=not _is_recorded(first),
        incomplete=about.incomplete,
    )
