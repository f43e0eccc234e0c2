"""Follow a session and say, for every output, which objects of its context it used."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import fsum
from operator import attrgetter
from typing import NamedTuple

from ctxheap.heap.model import Part

from .atoms import Reader
from .memory import Call, Item, Memory
from .own import OwnText
from .plain import command, is_structured, plain, short_values, values, without_keys
from .score import Grade, Rule, grade, rule, score
from .terms import Credit, Output, Terms, credited, terms

KNOWN_CALLS = 2_000
"""Newest tool calls whose results may still arrive."""
_UNREAD = ("tool_definition", "media", "hidden")


@dataclass(frozen=True, slots=True)
class Use:
    """Say that the output of a call used an object.

    Attributes:
        number: The caller's number of the object.
        call: The call whose output used it.
        rule: The strongest evidence: `quote`, `handle`, `argument`, `answer` or `request`.
        score: Log-odds of use, 0 at the threshold of *used*.
        grade: `used`, or `probable` in the band below the threshold.
    """

    number: int
    call: int
    rule: Rule
    score: float
    grade: Grade


class _Spoken(NamedTuple):
    """Hold the atoms of an own part and, of a tool call, the key of `Call`."""

    atoms: frozenset[str]
    key: str


class Candidate(NamedTuple):
    """Hold an object that an output may have used, with what speaks for it."""

    item: Item
    credit: Credit
    terms: Terms


class EvidenceTracker:
    """Judge use causally: what comes later never changes what was said before.

    Feed it in call order: for every call what left the prompt (`drop`), what entered it (`see`, in
    prompt order, the model's own earlier text included) and then its `output`.
    """

    def __init__(self) -> None:
        self._reader = Reader()
        self._memory = Memory()
        self._own = OwnText()
        self._calls: dict[str, Call] = {}
        self._last_call: Call | str = Call()
        self._latest_turn: int | None = None
        self._arrived: list[int] = []
        self._spoken: dict[bytes, _Spoken] = {}
        self._order = 0
        self._turn = 0
        self._has_output = False
        self._in_own = False

    def see(self, number: int, part: Part, call: int) -> None:
        """Take in an object that enters the prompt of `call`."""
        del call
        self._order += 1
        if part.role == "assistant":
            self._see_own(number, part)
        elif part.kind not in _UNREAD:
            self._in_own = False
            self._see_other(number, part)

    def _see_own(self, number: int, part: Part) -> None:
        spoken = self._spoken.get(part.identity)
        if spoken is None:
            spoken = self._speak(part)
            self._memory.say(spoken.atoms, self._order)
        if not self._has_output:
            self._see_history()
        if part.kind != "tool_call":
            self._own.add(number, spoken.atoms, self._memory)
        if part.kind != "reasoning":
            self._note_call(part, spoken)

    def _speak(self, part: Part) -> _Spoken:
        if part.kind != "tool_call":
            return _Spoken(self._reader.atoms(plain(part.text)), "")
        arguments = values(part.text)
        return _Spoken(self._reader.atoms(plain(arguments)), f"{part.tool}\n{arguments}")

    def _see_history(self) -> None:
        # a prompt that opens with a history: its model texts are the outputs of old turns
        self._arrived = []
        if not self._in_own:
            self._turn += 1
        self._in_own = True

    def _note_call(self, part: Part, spoken: _Spoken) -> None:
        if part.kind == "text":
            self._last_call = part.text
            return
        # parts of other kinds carry no arguments, but their texts tell them apart as well
        key = spoken.key or f"{part.tool}\n{values(part.text)}"
        self._last_call = asked = Call(key=key, asked=spoken.atoms)
        if part.call_id:
            self._calls[part.call_id] = asked
            if len(self._calls) > KNOWN_CALLS:
                del self._calls[next(iter(self._calls))]

    def _see_other(self, number: int, part: Part) -> None:
        text = plain(part.text)
        is_result = part.kind == "tool_result"
        is_record = is_result and is_structured(text)
        leaves = self._reader.atoms(short_values(text)) if is_record else frozenset[str]()
        text = without_keys(text) if is_record else text
        item = Item(
            number=number,
            turn=self._turn,
            order=self._order,
            is_result=is_result,
            is_blank=not any(map(str.isalnum, text)),
            chars=len(text),
            atoms=self._reader.atoms(text),
            call=self._call_of(part) if is_result else Call(),
            leaves=leaves,
        )
        self._memory.add(item)
        if is_result:
            self._arrived.append(number)
        elif part.tag.partition(":")[0] == "user_turn":
            self._latest_turn = number

    def _call_of(self, part: Part) -> Call:
        if found := self._calls.get(part.call_id):
            return found
        if isinstance(self._last_call, str):
            # agents without function calling act by text: read only where a result answers it
            action = command(plain(self._last_call))
            self._last_call = Call(key=action, asked=self._reader.atoms(action))
        return self._last_call

    def supersede(self, number: int) -> None:
        """Accept that an object was superseded; nothing to do.

        What a newer object repeats is credited to the newer one anyway, and what it does not repeat
        can still be used (a later edit of a place that was read before).
        """

    def drop(self, number: int) -> None:
        """Forget an object that left the prompt: it is never credited again."""
        self._memory.drop(number)
        self._own.drop(number)

    def output(self, call: int, parts: Sequence[Part]) -> list[Use]:
        """Return what the output of a call used of what was in its context, by object number."""
        output = self._read(parts)
        uses = [use for found in self.candidates(output) if (use := _use(found, call))]
        uses.extend(
            Use(number, call, rule=why, score=value, grade=level)
            for number, why, value, level in self._own.uses(output.atoms, self._memory)
        )
        self._close(output)
        return sorted(uses, key=attrgetter("number"))

    def telling(self, text: str, *, least: float) -> frozenset[str]:
        """Return the atoms of a text that weigh at least so much."""
        weights = self._memory.weights
        return frozenset(atom for atom in self._reader.atoms(plain(text)) if weights[atom] >= least)

    def said(self, atoms: Collection[str]) -> dict[str, float]:
        """Return those of these atoms that the last output holds, with their weights."""
        found = _joined(self._spoken.values()).intersection(atoms)
        return {atom: self._memory.weights[atom] for atom in sorted(found)}

    def _read(self, parts: Sequence[Part]) -> Output:
        self._spoken = spoken = {part.identity: self._speak(part) for part in parts}
        calls = [spoken[part.identity] for part in parts if part.kind == "tool_call"]
        return Output(
            turn=self._turn,
            said=_joined(spoken[part.identity] for part in parts if part.kind != "tool_call"),
            asked=_joined(calls),
            calls=frozenset(call.key for call in calls),
        )

    def candidates(self, output: Output) -> Iterator[Candidate]:
        """Yield the objects worth a score: the credited, the new results, the latest user turn."""
        memory = self._memory
        found = credited(memory, output)
        total = fsum([share for credit in found.values() for share in credit.first])
        arrived = [memory.items[number] for number in self._arrived if number in memory.items]
        for item in arrived:
            item.group = len(arrived)
        numbers = {*found, *self._arrived, self._latest_turn, *memory.tiny}
        nothing = Credit()
        for item in [memory.items[n] for n in numbers if n is not None and n in memory.items]:
            credit = found.get(item.number, nothing)
            is_latest = item.number == self._latest_turn
            judged = terms(item, credit, output, total=total, is_latest_turn=is_latest, memory=memory)
            yield Candidate(item, credit, judged)

    def _close(self, output: Output) -> None:
        self._order += 1
        self._memory.say(output.atoms, self._order)
        self._arrived = []
        self._turn += 1
        self._has_output = True


def _joined(parts: Iterable[_Spoken]) -> frozenset[str]:
    return frozenset(chain.from_iterable(part.atoms for part in parts))


def _use(found: Candidate, call: int) -> Use | None:
    value = score(found.terms)
    level = grade(value)
    if level is None:
        return None
    return Use(found.item.number, call, rule(found.terms, found.credit), value, level)
