"""Watch a session's content go by and note what later analyses need of it."""

from __future__ import annotations

from collections.abc import Sequence

from ctxheap.heap.evidence import EvidenceTracker
from ctxheap.heap.facts.endings import EndingTracker
from ctxheap.heap.facts.records import Facts
from ctxheap.heap.facts.remarks import RemarkTracker
from ctxheap.heap.facts.repeats import RepeatTracker
from ctxheap.heap.facts.sections import SectionTracker
from ctxheap.heap.facts.shapes import shape_of
from ctxheap.heap.facts.steps import StepTracker
from ctxheap.heap.model import Part
from ctxheap.heap.touches import Touches


class FactsTracker:
    """Feed it in call order: what left the prompt, what was born in it, then its output."""

    def __init__(self, touches: Touches | None = None, evidence: EvidenceTracker | None = None) -> None:
        self._facts = Facts()
        self._steps = StepTracker(touches or Touches())
        self._remarks = RemarkTracker()
        self._ending = EndingTracker()
        self._repeats = RepeatTracker()
        self._sections = SectionTracker(evidence or EvidenceTracker())

    def drop(self, number: int, call: int) -> None:
        """Note that an object is not in the prompt of `call` any more."""
        del call
        self._remarks.drop(number)
        self._repeats.drop(number)
        self._sections.drop(number)

    def see(self, number: int, part: Part, call: int, *, request: int | None, asked: Part | None) -> None:
        """Take in an object born at `call`; a tool result comes with the call that it answers."""
        self._steps.see(number, part, call, request=request, asked=asked)
        self._remarks.see(number, part)
        self._ending.see(part, call)
        self._repeats.see(number, part, call)
        self._sections.see(number, part)
        if shape := shape_of(part):
            self._facts.shapes[number] = shape

    def output(self, call: int, parts: Sequence[Part]) -> None:
        """Take in what the model returned at `call`."""
        self._remarks.output(call, parts)
        self._ending.output(call, parts)
        self._sections.output()

    def finish(self) -> Facts:
        """Return what was noted."""
        facts = self._facts
        facts.steps = self._steps.steps()
        facts.remarks = self._remarks.remarks
        facts.repeats = self._repeats.repeats()
        facts.sections = self._sections.sections()
        facts.echoes = self._ending.echoes
        facts.ending = self._ending.ending
        facts.last_writes = self._ending.last_writes
        facts.change_asked = self._ending.change_asked
        return facts
