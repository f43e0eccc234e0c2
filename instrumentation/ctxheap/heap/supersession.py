"""Find the objects that something later has put out of date: the surely dead of SPEC 5.2.

    call 2  read cfg.py   ──▶ T1                     call 4  edit cfg.py  ──▶ T1 invalidated by its result
    call 3  grep x cfg.py ──▶ T2                     call 6  read cfg.py  ──▶ T2 superseded

The ledger takes the objects of a session in the order of their birth. It says what is certain: an
answer that failed, was cut short or only points at an older one puts nothing out of date.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ctxheap.heap.access import EVERYTHING, PLAN, Access
from ctxheap.heap.claims import Claim, Edit, Resource
from ctxheap.heap.model import Part
from ctxheap.heap.results import holds_handle, is_cut, is_failure, is_hint, numbered_lines
from ctxheap.heap.subject import OWN_TEXT, base_of, is_inherent
from ctxheap.heap.touches import Touches

Reason = Literal[
    "superseded", "duplicate", "invalidated", "edit_done", "echo_done", "plan_replaced", "handed_over"
]

MIN_DUPLICATE_CHARS = 41
_REPEATABLE = frozenset({"tool_result", "text", "media"})


@dataclass(frozen=True, slots=True)
class Superseded:
    """Say that an object is surely dead from call `call` on, because of object `by`, born there."""

    number: int
    by: int
    reason: Reason
    call: int


class Ledger:
    """Keep what one session has read, written and repeated; feed it in birth order."""

    def __init__(self, touches: Touches | None = None) -> None:
        self._resources: dict[str, Resource] = {}
        self._repeats: dict[Access, Claim] = {}
        self._claims: dict[int, list[Claim]] = {}
        self._texts: dict[str, int] = {}
        self._copies: dict[int, list[int]] = {}
        self._text_of: dict[int, str] = {}
        self._reasons: dict[int, Reason] = {}
        self._answered: set[int] = set()
        self._plan: Claim | None = None
        self._written: set[str] = set()
        self._touches = touches or Touches()

    def take_written(self) -> frozenset[str]:
        """Return the resources changed since this was last asked, for the session that started it."""
        written, self._written = frozenset(self._written), set()
        return written

    def add(
        self,
        number: int,
        part: Part,
        request: Part | None = None,
        *,
        call: int,
        request_number: int | None = None,
    ) -> list[Superseded]:
        """Take in the next object and return what it puts out of date.

        Only the first answer to a call stands for the call: a later one is the same answer written
        anew (truncated, stubbed), or another part of it.

        Args:
            number: Its number; numbers rise with birth.
            part: Its content, kept until `dropped`.
            request: For a tool result, the tool call that it answers; None if that is not known.
            call: The call at which it was born.
            request_number: The number of `request`.
        """
        events = self._repeated(number, part, call)
        if part.kind == "tool_result" and request is not None and base_of(part.tag) != "receipt":
            touched: Sequence[Access] = self._touches.of(request, part)
            if is_failure(part) or request_number in self._answered:
                touched = [access for access in touched if access.action != "write"]
            else:
                for access in touched:
                    events.extend(self._settle(self._outdated(access, part), number, call))
            if touched:
                self._remember((number, part), (request_number, request), touched)
            if request_number is not None:
                self._answered.add(request_number)
        return events

    def dropped(self, number: int) -> tuple[int, ...]:
        """Forget an object that left the prompt, and return the duplicate that it leaves alone.

        That was dead only because of it, and is the newest copy again.
        """
        for claim in self._claims.pop(number, ()):
            claim.numbers = tuple(each for each in claim.numbers if each != number)
            claim.text = ""
            if not claim.numbers:
                claim.left = 0
        text = self._text_of.pop(number, None)
        earlier = [each for each in self._copies.pop(number, ()) if each in self._text_of]
        if text is None:
            return ()
        if self._texts[text] != number:
            self._copies.setdefault(self._texts[text], []).extend(earlier)
            return ()
        del self._texts[text]
        if not earlier:
            return ()
        newest = max(earlier)
        self._texts[text] = newest
        self._copies.setdefault(newest, []).extend(each for each in earlier if each != newest)
        if self._reasons.get(newest) != "duplicate":
            return ()
        del self._reasons[newest]
        return (newest,)

    def handed_over(self, resources: Mapping[str, int], *, by: int, call: int) -> list[Superseded]:
        """Return what a sub-agent put out of date that changed `resources`; `by` is its report.

        With each goes the number of the first object that may be younger than the change.
        """
        found = [
            claim
            for path, before in resources.items()
            for claim, _ in self._invalidated(Access("write", self._touches.known(path)), before=before)
        ]
        return list(self._settle(((claim, "handed_over") for claim in found), by, call))

    def _repeated(self, number: int, part: Part, call: int) -> list[Superseded]:
        """Return the earlier object with the same text, which this one makes redundant."""
        if part.kind not in _REPEATABLE or len(part.text) < MIN_DUPLICATE_CHARS:
            return []
        if is_inherent(part.tag, pinned=part.pinned) or base_of(part.tag) in OWN_TEXT:
            return []
        earlier = self._texts.get(part.text)
        self._texts[part.text] = number
        self._text_of[number] = part.text
        if earlier is None:
            return []
        self._copies[number] = [earlier]
        return list(self._dead((earlier,), number, "duplicate", call))

    def _outdated(self, access: Access, part: Part) -> Iterator[tuple[Claim, Reason]]:
        """Yield the claims that an access settles, with the reason."""
        if access.resource == PLAN:
            if self._plan is not None:
                yield self._plan, "plan_replaced"
            return
        if access.action == "write":
            yield from self._invalidated(access)
        elif not is_hint(part.text):
            yield from self._shown_again(access, part.text)

    def _shown_again(self, access: Access, text: str) -> Iterator[tuple[Claim, Reason]]:
        if access.detail or access.action != "read":
            earlier = None if access.starts else self._repeats.get(access)
            if earlier is None:
                return
            # what says the same names the same, so only other answers are searched
            is_other = access.action == "read" and earlier.text != text
            if not (is_other and holds_handle(earlier.text)):
                yield earlier, "superseded"
            return
        resource = self._resources.get(access.resource)
        if resource is not None and not is_cut(text):
            for claim in resource.take_covered(access, text):
                yield claim, "superseded"
            for claim in resource.take_reread(access, text):
                yield claim, "edit_done"

    def _invalidated(self, access: Access, *, before: int | None = None) -> Iterator[tuple[Claim, Reason]]:
        for resource in self._reached(access.resource):
            for claim in resource.take_touched(access, before=before):
                yield claim, "invalidated"
            for claim, is_echo in resource.take_rewritten(access, before=before):
                yield claim, "echo_done" if is_echo else "edit_done"

    def _reached(self, path: str) -> list[Resource]:
        """Return the resources that a write to `path` changes: a folder's files go with it."""
        if path == EVERYTHING:
            return [resource for resource in self._resources.values() if resource.is_written]
        resource = self._resources.get(path)
        if resource is not None:
            return [resource]
        return [each for name, each in self._resources.items() if name.startswith(f"{path}/")]

    def _settle(self, outdated: Iterable[tuple[Claim, Reason]], by: int, call: int) -> Iterator[Superseded]:
        for claim, reason in outdated:
            claim.left -= 1
            if claim.left == 0:
                yield from self._dead(claim.numbers, by, reason, call)

    def _dead(self, numbers: Iterable[int], by: int, reason: Reason, call: int) -> Iterator[Superseded]:
        for number in numbers:
            known = self._reasons.get(number)
            if known is None:
                yield Superseded(number, by, reason, call)
            if known in (None, "duplicate"):
                self._reasons[number] = reason

    def _remember(
        self, result: tuple[int, Part], request: tuple[int | None, Part], touched: Sequence[Access]
    ) -> None:
        """Watch what a result shows and what its call wrote."""
        number, part = result
        both = (number,) if request[0] is None else (number, request[0])
        if any(access.resource == PLAN for access in touched):
            self._plan = self._claim(both, part.text, 1)
            return
        writes = [access for access in touched if access.action == "write"]
        claim = self._claim(both[:1] if writes else both, part.text, len(touched))
        for access in touched:
            if access.action != "write":
                self._show(access, claim)
        if writes:
            arguments = self._claim(both[1:], request[1].text, len(writes))
            lines = numbered_lines(part.text)
            for access in writes:
                edit = Edit(replace(access, old=""), arguments, claim, lines)
                self._resources.setdefault(access.resource, Resource()).write(edit)
                self._written.add(access.resource)

    def _show(self, access: Access, claim: Claim) -> None:
        if (access.detail or access.action != "read") and not access.starts:
            self._repeats[access] = claim
        if access.action == "search" or not access.detail:
            self._resources.setdefault(access.resource, Resource()).show(access, claim)

    def _claim(self, numbers: tuple[int, ...], text: str, parts: int) -> Claim:
        claim = Claim(numbers, text, parts, parts)
        for number in numbers:
            self._claims.setdefault(number, []).append(claim)
        return claim
