"""Find where a session goes in circles, and sessions that were to change something and did not (SPEC 9).

    repeat    the same call with the same answer, three times in 12 steps, nothing else changed between
    block     the last calls are a block of at most 4, three times in a row
    few       at most 3 different calls in 12 steps, nothing changed
    failure   four different attempts in 16 steps that fail in the same way, nothing changed
    dialogue  four of 8 outputs in a row say again what was said, and no tool is called

Edit, run, look again is progress: a change that is new in the window ends what came before it. So do
repeated calls whose answers differ, if the session used one of those answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from ctxheap.analysis.study import Study
from ctxheap.heap.facts import Echo, Step

REPEATS = 3
WINDOW_STEPS = 12
LONGEST_BLOCK = 4
FEW_KEYS = 3
FAILURES = 4
FAILURE_STEPS = 16
ECHOES = 4
ECHO_OUTPUTS = 8
LEAST_CALLS = 8
"""Calls below which a session has not had the time to change anything (SPEC 6 takes no series below)."""

SpiralKind = Literal["repeat", "block", "few", "failure", "dialogue"]
IsUsed = Callable[[Step], bool]

_OPEN_ENDINGS = frozenset({"tool_call", "question"})
_WEAK_RULES = frozenset(
    {"answer", "request"}
)  # every result is answered once; that is no use of what it says


@dataclass(frozen=True, slots=True)
class Spiral:
    """Hold one stretch of a session that goes in circles.

    Attributes:
        kind: What repeats; see above.
        first: The call whose prompt first holds the first repeated answer (the first output, in a dialogue).
        last: The same of the last one.
        times: How often it came.
        tools: Names of the repeated tools, empty in a dialogue.
        numbers: The objects of the repeated calls and answers.
        input_tokens: Billed input of the calls after the first round, which brought nothing new.
    """

    kind: SpiralKind
    first: int
    last: int
    times: int
    tools: tuple[str, ...]
    numbers: tuple[int, ...]
    input_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ZeroWrite:
    """Say that a session was asked for a change at `asked` and ended at `last` without one."""

    asked: int
    last: int
    ending: str


def spirals(study: Study) -> list[Spiral]:
    """Return where a session goes in circles, by first call; each stretch once, under its first kind."""
    steps = study.heap.facts.steps

    def is_used(step: Step) -> bool:
        rules = study.account.uses[step.result] if step.result is not None else {}
        return any(rule not in _WEAK_RULES for rule in rules.values())

    found = [
        *repeats(steps),
        *blocks(steps, is_used),
        *few(steps, is_used),
        *failures(steps),
        *dialogues(study.heap.facts.echoes),
    ]
    return [_billed(each, study) for each in sorted(_apart(found), key=lambda each: each.first)]


def zero_write(study: Study) -> ZeroWrite | None:
    """Return whether a session was to change something and ended without it; None when not.

    One session does not show whether its class of task writes: it does where a person asks for a change
    in so many words (`phrases.json`), and nobody takes that back. The question of a sub-agent reaches no
    person, so that its text is its report.
    """
    heap, facts = study.heap, study.heap.facts
    if study.is_running or len(heap.calls) < LEAST_CALLS or not facts.change_asked or facts.last_writes:
        return None
    if facts.ending not in _OPEN_ENDINGS or (heap.parent is not None and facts.ending == "question"):
        return None
    if any(is_change(step) for step in facts.steps):
        return None
    return ZeroWrite(facts.change_asked, heap.calls[-1].number, facts.ending)


def is_change(step: Step) -> bool:
    """Return whether a step changed something."""
    return bool(step.writes) and not step.is_error


def repeats(steps: Sequence[Step]) -> Iterator[Spiral]:
    """Yield calls that came again with the same answer while nothing else changed."""
    for place, step in enumerate(steps):
        window = steps[max(0, place - WINDOW_STEPS + 1) : place + 1]
        same = [each for each in window if _is_again(each, step)]
        if not step.is_poll and _rounds(same) >= REPEATS:
            between = window[window.index(same[0]) :]
            if not any(is_change(each) and each.key != step.key for each in between):
                yield _spiral("repeat", same)


def blocks(steps: Sequence[Step], is_used: IsUsed) -> Iterator[Spiral]:
    """Yield blocks of at most four calls that end a session's steps so far three times in a row."""
    for end in range(1, len(steps) + 1):
        for period in range(1, LONGEST_BLOCK + 1):
            block = steps[max(0, end - period * REPEATS) : end]
            keys = [step.key for step in block]
            is_block = len(keys) == period * REPEATS and keys == keys[:period] * REPEATS
            if is_block and _is_idle(block, is_used) and _rounds(block[::period]) >= REPEATS:
                yield _spiral("block", block, times=REPEATS)
                break


def few(steps: Sequence[Step], is_used: IsUsed) -> Iterator[Spiral]:
    """Yield windows of twelve steps with at most three different calls and no change."""
    for end in range(WINDOW_STEPS, len(steps) + 1):
        window = steps[end - WINDOW_STEPS : end]
        is_narrow = len({step.key for step in window}) <= FEW_KEYS
        if is_narrow and not any(map(is_change, window)) and _is_idle(window, is_used):
            yield _spiral("few", window, times=WINDOW_STEPS // FEW_KEYS)


def failures(steps: Sequence[Step]) -> Iterator[Spiral]:
    """Yield attempts that failed in the same way while nothing changed."""
    recent: deque[Step] = deque(maxlen=FAILURE_STEPS)
    for step in steps:
        if is_change(step):
            recent.clear()
        recent.append(step)
        same = [each for each in recent if step.fault and each.fault == step.fault]
        if _rounds(same) >= FAILURES:
            yield _spiral("failure", same)


def dialogues(echoes: Iterable[Echo]) -> Iterator[Spiral]:
    """Yield runs of outputs without tool calls in which the same is said again and again."""
    for _, run in groupby(echoes, key=lambda echo: echo.call - echo.place):
        said = list(run)
        for place in range(ECHOES - 1, len(said)):
            window = [each for each in said[: place + 1] if said[place].place - each.place < ECHO_OUTPUTS]
            if len(window) >= ECHOES:
                yield Spiral("dialogue", window[0].call, said[place].call, len(window), (), ())


def _is_again(earlier: Step, later: Step) -> bool:
    if earlier.key != later.key or later.result is None:
        return False
    return earlier.content == later.content or bool(later.fault and earlier.fault == later.fault)


def _is_idle(steps: Sequence[Step], is_used: IsUsed) -> bool:
    """Return whether repetition brought nothing: no call has differing answers one of which was used."""
    by_key: dict[str, list[Step]] = {}
    for step in steps:
        by_key.setdefault(step.key, []).append(step)
    return not any(
        len({step.content for step in group}) > 1 and any(map(is_used, group)) for group in by_key.values()
    ) and not any(step.is_poll for step in steps)


def _rounds(steps: Iterable[Step]) -> int:
    """Return in how many calls the steps were answered: equal calls side by side are one round."""
    return len({step.call for step in steps})


def _spiral(kind: SpiralKind, steps: Sequence[Step], *, times: int | None = None) -> Spiral:
    tools = tuple(dict.fromkeys(step.tool for step in steps))
    pairs = ((step.request, step.result) for step in steps)
    numbers = sorted({number for pair in pairs for number in pair if number is not None})
    return Spiral(kind, steps[0].call, steps[-1].call, times or _rounds(steps), tools, tuple(numbers))


def _apart(found: Iterable[Spiral]) -> list[Spiral]:
    """Return the stretches with those that overlap joined, whatever their kind."""
    apart: list[Spiral] = []
    for each in found:
        joined = each
        for other in [other for other in apart if other.first <= joined.last and joined.first <= other.last]:
            apart.remove(other)
            joined = _joined(other, joined)
        apart.append(joined)
    return apart


def _joined(left: Spiral, right: Spiral) -> Spiral:
    numbers = tuple(sorted({*left.numbers, *right.numbers}))
    tools = tuple(dict.fromkeys((*left.tools, *right.tools)))
    return replace(
        left,
        first=min(left.first, right.first),
        last=max(left.last, right.last),
        times=max(left.times, right.times, len(numbers) // (2 * max(1, len(tools)))),
        tools=tools,
        numbers=numbers,
    )


def _billed(spiral: Spiral, study: Study) -> Spiral:
    calls = study.heap.calls[spiral.first : spiral.last]
    return replace(spiral, input_tokens=sum(sum(call.tokens) for call in calls))
