"""Build one session's heap from its exchanges, call by call.

    exchanges ──▶ HeapBuilder.add ──▶ objects, residents, uses, supersessions   (content ends here)
                  HeapBuilder.finish ──▶ Heap: the same with every billed token owned (SPEC 3.3)

`add` costs what is new in the prompt plus one pass over its length; content is dropped as soon as
it was counted and compared.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import is_

from ctxheap.heap.counts import Batch, TokenCounter
from ctxheap.heap.evidence import EvidenceTracker
from ctxheap.heap.facts import FactsTracker
from ctxheap.heap.model import Exchange, Part
from ctxheap.heap.names import name_of
from ctxheap.heap.owners import own_every_token
from ctxheap.heap.records import Call, Heap, HeapObject
from ctxheap.heap.sizes import Growth, measure
from ctxheap.heap.supersession import Ledger, Superseded
from ctxheap.heap.tags import result_tag
from ctxheap.heap.touches import Touches

_SUB_AGENTS = re.compile(r"task|agent|delegate|hand_?off", re.IGNORECASE)


class HeapBuilder:
    """Build the heap of one session; exchanges come in call order, repeated ones are ignored."""

    def __init__(self, *, session: str, counter_for: Callable[[str, str], TokenCounter]) -> None:
        self._heap = Heap(session, None, "")
        self._counter_for = counter_for
        self._evidence = EvidenceTracker()
        touches = Touches()
        self._ledger = Ledger(touches)
        self._facts = FactsTracker(touches, self._evidence)
        self._batch = Batch()
        self._numbers: dict[tuple[bytes, int], int] = {}
        self._occurrences: Tally[bytes] = Tally()
        self._prompt: Sequence[Part] = ()
        self._resident: array[int] = array("I")
        self._tool_calls: dict[str, tuple[int, Part]] = {}
        self._own: list[tuple[int, ...]] = []
        self._outputs: frozenset[str] = frozenset()
        self._seen_calls: set[str] = set()
        self._changed: dict[str, int] = {}
        self._objects_until = array("I", [0])

    @property
    def calls(self) -> int:
        """Return how many calls the session made so far."""
        return len(self._heap.calls)

    def take_written(self) -> frozenset[str]:
        """Return what the session changed since this was last asked, for the session that started it."""
        return self._ledger.take_written()

    def add(self, exchange: Exchange, *, handed_over: Mapping[str, int] | None = None) -> None:
        """Take in the next call of the session.

        `handed_over` names the resources that sub-agents changed since the call before, each with the
        last call of this session that surely came before the change: what that call or an earlier one
        had read of it is out of date from this call on, or from the next that brings something new.
        """
        for path, last in (handed_over or {}).items():
            self._changed[path] = self._objects_until[last]
        if exchange.call_id in self._seen_calls:
            return
        self._seen_calls.add(exchange.call_id)
        heap = self._heap
        heap.parent = heap.parent or exchange.parent
        heap.agent = heap.agent or exchange.agent
        number = len(heap.calls) + 1
        kept = _common_prefix(self._prompt, exchange.prompt)
        extends = kept == len(self._prompt)
        if not extends:
            self._occurrences = Tally(part.identity for part in exchange.prompt[:kept])
        counter = self._counter_for(exchange.model, exchange.provider)
        numbers = self._resident[:kept]
        entering = exchange.prompt[kept:]
        born = self._enter(entering, number, counter, numbers, staying=frozenset(self._resident[kept:]))
        if not extends:
            self._leave(self._resident[kept:], numbers[kept:], number)
        for resident in numbers[kept:]:
            heap.objects[resident].last = number
        call = _call(exchange, number, numbers=numbers, born=born)
        call.extends, call.exact = extends, counter.exact
        call.messages = _messages(exchange.prompt) if counter.exact else 0
        heap.calls.append(call)
        self._objects_until.append(len(heap.objects))
        self._outdate(born, number)
        self._own.append(tuple(n for n in born if heap.objects[n].id[:32] in self._outputs))
        self._prompt, self._resident = exchange.prompt, numbers
        self._outputs = frozenset(part.identity.hex() for part in exchange.output)
        heap.uses.extend(self._evidence.output(number, exchange.output))
        self._facts.output(number, exchange.output)

    def finish(self) -> Heap:
        """Return the heap with every billed token of every call owned by one object."""
        heap = self._heap
        for number in self._resident:
            heap.objects[number].last = len(heap.calls)
        heap.facts = self._facts.finish()
        self._batch.flush()
        self._measure()
        own_every_token(heap)
        return heap

    def _enter(
        self,
        entering: Sequence[Part],
        call: int,
        counter: TokenCounter,
        numbers: array[int],
        *,
        staying: frozenset[int],
    ) -> tuple[int, ...]:
        """Append the numbers of `entering` to `numbers` and return those of objects born here.

        `staying` are the objects of the call before that may only have changed their place.
        """
        objects = self._heap.objects
        born: list[tuple[int, Part]] = []
        for part in entering:
            self._occurrences[part.identity] += 1
            occurrence = self._occurrences[part.identity]
            number = self._numbers.get((part.identity, occurrence))
            if number is None:
                number = len(objects)
                self._numbers[part.identity, occurrence] = number
                part = self._plain_if_first(part)  # noqa: PLW2901
                objects.append(self._object(number, part, occurrence, call))
                born.append((number, part))
            elif number not in staying:
                self._evidence.see(number, part, call)
            numbers.append(number)
        for number, part in born:
            self._batch.add(objects[number], part, counter)
            self._evidence.see(number, part, call)
            self._supersede(number, part, call)
        return tuple(number for number, _ in born)

    def _plain_if_first(self, part: Part) -> Part:
        """Return a part as it is, but no receipt for a tool's own answer that only sounds like a stub."""
        if part.tag != "receipt" or part.kind != "tool_result":
            return part
        request = self._tool_calls.get(part.call_id)
        is_first = request is not None and request[1].identity.hex() in self._outputs
        return replace(part, tag=result_tag(part.tool, part.text, is_first=True)) if is_first else part

    def _object(self, number: int, part: Part, occurrence: int, call: int) -> HeapObject:
        request = self._tool_calls.get(part.call_id) if part.kind == "tool_result" else None
        if part.kind == "tool_call" and part.call_id:
            self._tool_calls[part.call_id] = (number, part)
        return HeapObject(
            number=number,
            id=part.identity.hex() + (f"#{occurrence}" if occurrence > 1 else ""),
            kind=part.kind,
            tag=part.tag,
            name=name_of(part, request[1] if request else None),
            birth=call,
            last=call,
            raw=0,
            pinned=part.pinned,
            error=part.error,
            answers=request[0] if request else None,
        )

    def _supersede(self, number: int, part: Part, call: int) -> None:
        answers = self._heap.objects[number].answers
        request = self._tool_calls[part.call_id][1] if answers is not None else None
        self._note(self._ledger.add(number, part, request, call=call, request_number=answers))
        self._facts.see(number, part, call, request=answers, asked=request)

    def _note(self, events: Iterable[Superseded]) -> None:
        for event in events:
            self._heap.superseded.append(event)
            self._evidence.supersede(event.number)

    def _outdate(self, born: tuple[int, ...], call: int) -> None:
        """Settle what sub-agents changed, because of the report of one if this call brings it."""
        if not self._changed or not born:
            return
        report = next((number for number in born if self._is_report(number)), born[-1])
        self._note(self._ledger.handed_over(self._changed, by=report, call=call))
        self._changed = {}

    def _is_report(self, number: int) -> bool:
        kind, _, tool = self._heap.objects[number].tag.partition(":")
        return kind == "tool_result" and _SUB_AGENTS.search(tool) is not None

    def _leave(self, before: array[int], after: array[int], call: int) -> None:
        for number in sorted(set(before) - set(after)):
            self._heap.objects[number].last = call - 1
            self._evidence.drop(number)
            self._facts.drop(number, call)
            for revived in self._ledger.dropped(number):
                self._heap.revived.append((revived, call))

    def _measure(self) -> None:
        """Replace estimates by what billed growth says (see `heap.sizes`)."""
        heap = self._heap
        raw = [item.raw for item in heap.objects]
        growths = [growth for growth in map(self._growth, heap.calls) if growth is not None]
        sizes = measure(growths, raw)
        for call in heap.calls:
            for item in [] if call.exact else [heap.objects[number] for number in call.born]:
                if not item.known:
                    item.raw = sizes.of(item.number, item.tag, item.raw)

    def _growth(self, call: Call) -> Growth | None:
        """Return what a call added to the prompt before it, None where that cannot be told."""
        objects = self._heap.objects
        before = self._heap.calls[call.number - 2] if call.number > 1 else None
        if call.exact or call.usage is None or not call.born:
            return None
        tag = max((objects[number] for number in call.born), key=lambda item: item.raw).tag
        if before is None or call.compaction:
            return self._restart(call, call.usage.input, tag)
        if before.usage is None or not call.extends or self._counter(before) != self._counter(call):
            return None
        own = self._own[call.number - 1]
        other = tuple(number for number in call.born if number not in own)
        return Growth(call.usage.input - before.usage.input, own, other, before.usage.output, tag)

    def _counter(self, call: Call) -> TokenCounter:
        return self._counter_for(call.model, call.provider)

    def _restart(self, call: Call, billed: int, tag: str) -> Growth | None:
        """Return the growth from nothing of a prompt in which, but for hidden content, all is new."""
        objects = self._heap.objects
        hidden = sum(objects[number].kind == "hidden" for number in call.numbers)
        born = tuple(number for number in call.born if objects[number].kind != "hidden")
        if len(born) + hidden < len(call.numbers):
            return None
        if not hidden:
            return Growth(billed, (), born, 0, tag)
        return Growth(billed - self._hidden_tokens(), (), born, 0, tag) if call.number > 1 else None

    def _hidden_tokens(self) -> int:
        """Return what the first call was billed beyond its visible parts."""
        first = self._heap.calls[0]
        visible = sum(self._heap.objects[number].raw for number in first.numbers)
        return max(0, first.usage.input - visible) if first.usage else 0


def _common_prefix(old: Sequence[Part], new: Sequence[Part]) -> int:
    length = min(len(old), len(new))
    if length and old[length - 1] is new[length - 1] and all(map(is_, old, new)):
        return length
    for i in range(length):
        if old[i] is not new[i] and old[i].identity != new[i].identity:
            return i
    return length


def _call(exchange: Exchange, number: int, *, numbers: array[int], born: tuple[int, ...]) -> Call:
    return Call(
        number=number,
        id=exchange.call_id,
        model=exchange.model,
        provider=exchange.provider,
        started_ns=exchange.started_ns,
        usage=exchange.usage,
        numbers=numbers,
        tokens=array("q"),
        born=born,
        extends=True,
        exact=True,
        implied=exchange.implied,
        incomplete=exchange.incomplete,
        compaction=exchange.compaction,
        messages=0,
        recorded_usd=exchange.recorded_usd,
    )


def _messages(prompt: Sequence[Part]) -> int:
    """Return the messages that a prompt is wrapped in: the parts of an assistant turn share one."""
    messages, role = 0, ""
    for part in prompt:
        if part.kind != "tool_definition" and not (part.role == role == "assistant"):
            messages += 1
        role = part.role
    return messages
