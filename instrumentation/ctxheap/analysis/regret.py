"""Tell whether reclaiming hurt: what was fetched again, missed or taken for lost (SPEC 9).

    call   1      2      3      4      5
    a.py   read ──────── gone ──────── read again   same text, no write between: a regret fetch, distance 2
    b.py   read ──────── gone   edit fails          an edit miss

All of it follows from steps and residency; nothing here needs content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from ctxheap.analysis.study import Study
from ctxheap.heap.access import EVERYTHING
from ctxheap.heap.facts import Remark, Step, digest
from ctxheap.heap.records import Call, Heap

THRASH_CALLS = 20
THRASH_LIMIT = 0.3
"""Thrash index above which the tag must not be evicted any more (SPEC 9)."""
EDIT_MISS_CALLS = 3

FetchKind = Literal["regret", "necessary", "duplicate"]

_EVERYTHING = digest(EVERYTHING)


@dataclass(frozen=True, slots=True)
class Departure:
    """Say that an object left the prompt: `call` is the first without it.

    `back` is the call at which the same object was in the prompt again, None if it never was.
    """

    number: int
    call: int
    tokens: int
    is_compaction: bool
    back: int | None = None


@dataclass(frozen=True, slots=True)
class Fetch:
    """Say that a step asked again for what an earlier one had shown.

    Attributes:
        number: The new answer's object; `of` is the earlier answer's.
        call: The call whose prompt first holds the new answer.
        kind: `regret` when the earlier text had left the prompt and came back the same, with no write
            between; `necessary` when it changed; `duplicate` when the same text was still there.
        distance: Calls from the departure to the new answer; 0 for what was still there.
        tokens: Size of the new answer at its first call.
        departed_tokens: Size of the earlier answer when it left; 0 for what was still there.
    """

    number: int
    of: int
    call: int
    kind: FetchKind
    distance: int
    tokens: int
    tag: str
    departed_tokens: int = 0


@dataclass(frozen=True, slots=True)
class EditMiss:
    """Say that the edit answered by object `number` failed right after its file's text had left."""

    number: int
    of: int
    call: int
    distance: int


@dataclass(frozen=True, slots=True)
class Misread:
    """Say that a receipt stood for data: quoted as such, or pointing at a text that is gone."""

    call: int
    kind: Literal["quoted", "points at nothing"]
    number: int


@dataclass(frozen=True, slots=True)
class Regret:
    """Hold what one session regrets.

    Attributes:
        departed_tokens: Tokens of tool results that left the prompt.
        thrash: Worst thrash index of each tag that lost objects (see `thrash_index`).
        lost_sight: Outputs that say that something read before is gone or was read twice.
        completion_per_reasoning: Output tokens without reasoning, by reasoning tokens; None where no
            reasoning is reported. `reasoning_per_prompt`: reasoning by billed input.
    """

    departures: tuple[Departure, ...]
    fetches: tuple[Fetch, ...]
    departed_tokens: int
    thrash: dict[str, float]
    edit_misses: tuple[EditMiss, ...]
    misreads: tuple[Misread, ...]
    lost_sight: tuple[Remark, ...]
    completion_per_reasoning: float | None
    reasoning_per_prompt: float | None

    @property
    def regret_fetches(self) -> tuple[Fetch, ...]:
        """Return the fetches that reclaiming caused."""
        return tuple(fetch for fetch in self.fetches if fetch.kind == "regret")

    @property
    def regret_distance(self) -> float | None:
        """Return the median distance of regret fetches in calls; None without any."""
        distances = [fetch.distance for fetch in self.regret_fetches]
        return median(distances) if distances else None

    @property
    def never_evict(self) -> tuple[str, ...]:
        """Return the tags whose thrash index is above the limit."""
        return tuple(tag for tag, index in self.thrash.items() if index > THRASH_LIMIT)


def regret(study: Study) -> Regret:
    """Return what a session regrets of what left its prompt."""
    heap = study.heap
    gone = departures(heap)
    found = list(fetches(heap, gone))
    results = [each for each in gone if heap.objects[each.number].kind == "tool_result"]
    remarks = heap.facts.remarks
    return Regret(
        departures=tuple(gone),
        fetches=tuple(found),
        departed_tokens=sum(each.tokens for each in results),
        thrash=thrash_index(heap, gone, found),
        edit_misses=tuple(edit_misses(heap, gone)),
        misreads=tuple(misreads(heap, gone)),
        lost_sight=tuple(remark for remark in remarks if remark.kind == "lost_sight"),
        completion_per_reasoning=completion_per_reasoning(heap.calls),
        reasoning_per_prompt=reasoning_per_prompt(heap.calls),
    )


def departures(heap: Heap) -> list[Departure]:
    """Return every object that left the prompt while the session went on, in the order of leaving."""
    found: list[Departure] = []
    away: dict[int, int] = {}
    for before, call in zip(heap.calls, heap.calls[1:], strict=False):
        if call.extends and not away:
            continue
        now = set(call.numbers)
        for number in sorted(away.keys() & now):
            place = away.pop(number)
            left = found[place]
            found[place] = Departure(number, left.call, left.tokens, left.is_compaction, call.number)
        for number, tokens in zip(before.numbers, before.tokens, strict=True):
            if number not in now:
                away[number] = len(found)
                found.append(Departure(number, call.number, tokens, call.compaction is not None))
    return found


def fetches(heap: Heap, gone: Iterable[Departure]) -> Iterator[Fetch]:
    """Yield the steps that asked again for the newest answer to the same question."""
    left = _by_number(gone)
    newest: dict[object, Step] = {}
    changed: dict[str, int] = {}
    for step in heap.facts.steps:
        questions: list[object] = [step.key, step.reads] if step.reads else [step.key]
        earlier = next((newest[question] for question in questions if question in newest), None)
        is_shown = step.result is not None and not (step.is_error or step.is_notice or step.is_poll)
        if is_shown and step.reads and not step.writes:
            if earlier is not None:
                since = changed.get(_EVERYTHING, 0), *(changed.get(each, 0) for each in step.touched)
                yield _fetch(heap, step, earlier, left=left, is_changed=max(since) > earlier.call)
            newest.update(dict.fromkeys(questions, step))
        if step.writes and not step.is_error:
            changed.update(dict.fromkeys(step.writes, step.call))


def _fetch(
    heap: Heap, step: Step, earlier: Step, *, left: Mapping[int, Sequence[Departure]], is_changed: bool
) -> Fetch:
    assert step.result is not None
    assert earlier.result is not None
    departed = _away(left.get(earlier.result, ()), step.call - 1)
    is_same = step.content == earlier.content and not is_changed
    kind: FetchKind = "necessary" if not is_same else "duplicate" if departed is None else "regret"
    return Fetch(
        number=step.result,
        of=earlier.result,
        call=step.call,
        kind=kind,
        distance=0 if departed is None else step.call - departed.call,
        tokens=_first_tokens(heap, step.result, step.call),
        tag=heap.objects[step.result].tag,
        departed_tokens=0 if departed is None else departed.tokens,
    )


def thrash_index(heap: Heap, gone: Iterable[Departure], found: Iterable[Fetch]) -> dict[str, float]:
    """Return, by tag, the most of the tokens evicted in 20 calls that was fetched again within them.

    TI at call k = re-fetched / evicted tokens over the calls k−19 to k, of objects evicted in them. Both
    are sizes at eviction, under the tag that was evicted, and what came back twice counts once: 0 to 1.
    """
    evicted: dict[str, list[Departure]] = {}
    for each in gone:
        if heap.objects[each.number].kind == "tool_result":
            evicted.setdefault(heap.objects[each.number].tag, []).append(each)
    worst = dict.fromkeys(evicted, 0.0)
    regretted: dict[str, list[Fetch]] = {}
    for fetch in found:
        if fetch.kind == "regret":
            regretted.setdefault(heap.objects[fetch.of].tag, []).append(fetch)
    for tag, again in regretted.items():
        for last in again:
            start = last.call - THRASH_CALLS + 1
            lost = sum(each.tokens for each in evicted.get(tag, ()) if start <= each.call <= last.call)
            back = {
                (each.of, each.call - each.distance): each.departed_tokens
                for each in again
                if each.call <= last.call and each.call - each.distance >= start
            }
            worst[tag] = max(worst.get(tag, 0.0), sum(back.values()) / lost if lost else 0.0)
    return worst


def edit_misses(heap: Heap, gone: Iterable[Departure]) -> Iterator[EditMiss]:
    """Yield edits that failed within three calls after a text of their file had left the prompt."""
    shown = {step.result: step for step in heap.facts.steps if step.result is not None and not step.is_error}
    left = [(each, shown[each.number]) for each in gone if each.number in shown]
    for step in heap.facts.steps:
        if step.result is None or not step.is_error or not step.writes:
            continue
        for each, earlier in reversed(left):
            distance = step.call - each.call
            is_near = 0 < distance <= EDIT_MISS_CALLS and (each.back is None or each.back >= step.call)
            if is_near and set(earlier.touched) & set(step.writes):
                yield EditMiss(step.result, each.number, step.call, distance)
                break


def misreads(heap: Heap, gone: Iterable[Departure]) -> Iterator[Misread]:
    """Yield receipts that were quoted as data, and answers that point at a text which is gone."""
    for remark in heap.facts.remarks:
        if remark.kind == "receipt_misread":
            yield Misread(remark.call, "quoted", int(remark.phrase))
    left = _by_number(gone)
    shown: dict[object, list[int]] = {}
    for step in heap.facts.steps:
        if step.result is None or step.is_error:
            continue
        questions: list[object] = [step.key, step.reads] if step.reads else [step.key]
        if not step.is_notice:
            for question in questions:
                shown.setdefault(question, []).append(step.result)
            continue
        earlier = {number for question in questions for number in shown.get(question, ())}
        if earlier and all(_away(left.get(number, ()), step.call) for number in earlier):
            yield Misread(step.call, "points at nothing", step.result)


def completion_per_reasoning(calls: Iterable[Call]) -> float | None:
    """Return output tokens without reasoning by reasoning tokens, of calls that report reasoning."""
    usages = [call.usage for call in calls if call.usage is not None and call.usage.reasoning]
    reasoning = sum(usage.reasoning for usage in usages)
    return sum(usage.output - usage.reasoning for usage in usages) / reasoning if reasoning else None


def reasoning_per_prompt(calls: Iterable[Call]) -> float | None:
    """Return reasoning tokens by billed input tokens, of calls that report reasoning."""
    usages = [call.usage for call in calls if call.usage is not None and call.usage.reasoning]
    billed = sum(usage.input for usage in usages)
    return sum(usage.reasoning for usage in usages) / billed if billed else None


def _by_number(gone: Iterable[Departure]) -> dict[int, list[Departure]]:
    left: dict[int, list[Departure]] = {}
    for each in gone:
        left.setdefault(each.number, []).append(each)
    return left


def _away(gone: Sequence[Departure], call: int) -> Departure | None:
    """Return the departure because of which an object is not in the prompt of `call`."""
    return next(
        (each for each in gone if each.call <= call and (each.back is None or each.back > call)), None
    )


def _first_tokens(heap: Heap, number: int, call: int) -> int:
    at = heap.calls[call - 1]
    return at.tokens[at.numbers.index(number)]
