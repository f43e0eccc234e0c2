"""Make small sessions whose uses and deaths are known."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ctxheap.analysis.study import Study, study
from ctxheap.heap.evidence import Use
from ctxheap.heap.facts import Repeat
from ctxheap.heap.model import Compaction, Kind, Usage
from ctxheap.heap.records import Call, Heap, HeapObject
from ctxheap.heap.supersession import Superseded
from ctxheap.prices import Rates

RATES = Rates(3e-6, 3e-7, 3.75e-6, 6e-6, 15e-6, "test", "2026-01-01")


@dataclass(frozen=True, slots=True)
class Thing:
    """Describe one object: tag, tokens, birth, last call (0: the session's), the calls that used it."""

    tag: str
    tokens: int
    birth: int
    last: int = 0
    uses: tuple[int, ...] = ()
    superseded: int | None = None
    kind: Kind = "tool_result"
    contains: int | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """Describe what a session is made under."""

    compactions: Sequence[int] = field(default=())
    is_priced: bool = False
    is_running: bool = False


def session(things: Sequence[Thing], *, calls: int, setting: Setting | None = None) -> Study:
    """Return a session of the given objects."""
    chosen = setting or Setting()
    heap = Heap("s", None, "")
    for number, thing in enumerate(things):
        last = thing.last or calls
        heap.objects.append(
            HeapObject(
                number,
                str(number),
                thing.kind,
                thing.tag,
                "",
                thing.birth,
                last,
                0,
                pinned=False,
                error=False,
            )
        )
        heap.uses.extend(Use(number, call, "quote", 1.0, "used") for call in thing.uses)
        if thing.superseded:
            heap.superseded.append(Superseded(number, number, "superseded", thing.superseded))
        if thing.contains is not None:
            heap.facts.repeats.append(Repeat(number, thing.contains, "contains", 0.9, thing.birth))
    for number in range(1, calls + 1):
        held = {n: t.tokens for n, t in enumerate(things) if t.birth <= number <= (t.last or calls)}
        heap.calls.append(_call(number, held, is_compaction=number in chosen.compactions))
    return study(heap, lambda call: RATES if chosen.is_priced else None, is_running=chosen.is_running)


def _call(number: int, held: Mapping[int, int], *, is_compaction: bool) -> Call:
    return Call(
        number=number,
        id=str(number),
        model="m",
        provider="",
        started_ns=None,
        usage=Usage(uncached=sum(held.values())),
        numbers=array("I", held),
        tokens=array("q", held.values()),
        born=(),
        extends=True,
        exact=True,
        implied=False,
        incomplete=False,
        compaction=Compaction() if is_compaction else None,
        messages=0,
    )
