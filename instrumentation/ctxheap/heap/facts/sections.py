"""Cut system prompts into paragraphs and count the outputs that took up what few others of them hold.

    system prompt ──▶ paragraph 0 ──▶ its names and uncommon words, those that most paragraphs hold left out
                      paragraph 1 ──▶ …
    output ──▶ shared with paragraph 1, each divided by the paragraphs that hold it ──▶ uses += 1

What a user or a tool said first counts as well: the question is whether a paragraph was ever to the
point, and only "never" is acted on. Obedience leaves no words behind, so even that makes a paragraph
only a candidate, and one with next to nothing of its own cannot be judged: `telling` says how much it has.
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from dataclasses import dataclass
from itertools import chain

from ctxheap.heap.evidence import EvidenceTracker
from ctxheap.heap.facts.records import Section, digest
from ctxheap.heap.model import Part

MIN_CHARS = 80
"""A shorter paragraph (a heading) goes with the next one."""
MAX_SECTIONS = 400
TAKEN_UP = 0.6
"""Weight of shared atoms from which on a paragraph counts as taken up: one name, or an uncommon word
and another. At 1.2, 17 of the 26 paragraphs of an airline agent's policy were never taken up in 200
sessions, at 0.6 only three of one line; of four foreign paragraphs planted in it two never, one once.
"""
TELLING = 0.2
"""Weight of an atom that is worth a look."""
MAX_HOLDERS = 6
"""Paragraphs that may hold an atom that still tells something of each."""
TITLE_CHARS = 60
_BREAK = re.compile(r"\n[ \t]*\n")


@dataclass(slots=True)
class _Open:
    """Hold a paragraph; `own` are its atoms that few others of the prompt have."""

    number: int
    index: int
    text: str
    share: float
    own: frozenset[str]
    uses: int = 0


class SectionTracker:
    """Follow the paragraphs of one session's system prompts."""

    def __init__(self, evidence: EvidenceTracker) -> None:
        self._evidence = evidence
        self._all: list[_Open] = []
        self._holders: dict[str, list[_Open]] = {}
        self._resident: set[int] = set()

    def see(self, number: int, part: Part) -> None:
        """Take in an object; only system prompts are cut."""
        if part.tag != "system_prompt" or part.kind != "text" or not part.text.strip():
            return
        self._resident.add(number)
        texts = paragraphs(part.text)
        atoms = [self._evidence.telling(text, least=TELLING) for text in texts]
        counts = Tally(chain.from_iterable(atoms))
        for index, text in enumerate(texts):
            own = frozenset(atom for atom in atoms[index] if counts[atom] <= MAX_HOLDERS)
            section = _Open(number, index, text, len(text) / len(part.text), own)
            self._all.append(section)
            for atom in own:
                self._holders.setdefault(atom, []).append(section)

    def drop(self, number: int) -> None:
        """Note that an object left the prompt."""
        self._resident.discard(number)

    def output(self) -> None:
        """Count what the output that the evidence was fed last took up."""
        if not self._resident:
            return
        weights: dict[int, float] = {}
        for atom, weight in self._evidence.said(self._holders.keys()).items():
            holders = [each for each in self._holders[atom] if each.number in self._resident]
            for section in holders:
                weights[id(section)] = weights.get(id(section), 0.0) + weight / len(holders)
        for section in self._all:
            section.uses += weights.get(id(section), 0.0) >= TAKEN_UP

    def sections(self) -> list[Section]:
        """Return the paragraphs of all prompts, in their order."""
        return [
            Section(
                number=each.number,
                index=each.index,
                digest=digest(each.text),
                share=round(each.share, 6),
                uses=each.uses,
                title=" ".join(each.text[: 4 * TITLE_CHARS].split())[:TITLE_CHARS],
                telling=len(each.own),
            )
            for each in self._all
        ]


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, short ones together with the next; joined, they are the text."""
    cuts = [match.end() for match in _BREAK.finditer(text)][: 10 * MAX_SECTIONS]
    found: list[str] = []
    start = 0
    for cut in [*cuts, len(text)]:
        is_last = cut == len(text)
        if (len(text[start:cut].strip()) >= MIN_CHARS and len(found) < MAX_SECTIONS) or is_last:
            found.append(text[start:cut])
            start = cut
    if len(found) > 1 and not found[-1].strip():
        found[-2:] = [found[-2] + found[-1]]
    return found
