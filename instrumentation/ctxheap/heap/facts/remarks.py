"""Note telling outputs: that something read before is lost, or a receipt taken for data (SPEC 9)."""

from __future__ import annotations

from collections.abc import Sequence

from ctxheap.heap.facts.phrases import phrase_in, plain
from ctxheap.heap.facts.records import Remark
from ctxheap.heap.model import Part
from ctxheap.heap.results import is_hint
from ctxheap.heap.subject import base_of

_LEAST_QUOTE_CHARS = 24  # shorter lines of a receipt are no sign of a quotation
_SCANNED_CHARS = 20_000


class RemarkTracker:
    """Keep the receipts that are in the prompt, and read every output once."""

    def __init__(self) -> None:
        self.remarks: list[Remark] = []
        self._receipts: dict[int, tuple[str, ...]] = {}

    def drop(self, number: int) -> None:
        """Forget a receipt that is not in the prompt any more."""
        self._receipts.pop(number, None)

    def see(self, number: int, part: Part) -> None:
        """Take in an object: a receipt, or an answer that only points at an older one."""
        if base_of(part.tag) == "receipt" or (part.kind == "tool_result" and is_hint(part.text)):
            lines = tuple(line.strip() for line in part.text.splitlines())
            quotable = tuple(line for line in lines if len(line) >= _LEAST_QUOTE_CHARS)
            if quotable:
                self._receipts[number] = quotable

    def output(self, call: int, parts: Sequence[Part]) -> None:
        """Read what the model returned at a call."""
        for part in parts:
            if part.kind == "tool_call":
                self._misread(call, part.text)
            elif part.text:
                self._lost_sight(call, part.text)

    def _misread(self, call: int, arguments: str) -> None:
        """Note a receipt's line among arguments: what should have been data is its stand-in."""
        for number, lines in self._receipts.items():
            if any(line in arguments for line in lines):
                self.remarks.append(Remark(call, "receipt_misread", str(number)))

    def _lost_sight(self, call: int, text: str) -> None:
        name = phrase_in(plain(text[:_SCANNED_CHARS]), "lost_sight")
        if name and not (self.remarks and self.remarks[-1] == Remark(call, "lost_sight", name)):
            self.remarks.append(Remark(call, "lost_sight", name))
