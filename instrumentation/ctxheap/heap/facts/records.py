"""Define what is noted of content while it is there, for analyses that come after it is gone.

Texts, paths and arguments appear as digests only: enough to tell whether two are the same.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Literal

DIGEST_BYTES = 8

Ending = Literal["", "tool_call", "answer", "question", "refusal", "hand_over"]


def digest(text: str) -> str:
    """Return 16 hexadecimal digits that stand for a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).hexdigest()


@dataclass(frozen=True, slots=True)
class Step:
    """Hold one tool call with its answer.

    Attributes:
        request: Number of the tool call's object.
        result: Number of the answer's object, None while there is none.
        call: The call whose prompt first holds the answer (the request, while there is none).
        tool: Name of the tool.
        key: Digest of the tool and its canonical arguments: equal keys ask for the same.
        reads: Digests of the resources it read or searched, with their ranges.
        writes: Digests of the resources it changed, without ranges; with `is_error`, of those that it
            was to change. A tool without a resource that changes something stands for itself.
        touched: Digests of all its resources, without ranges.
        content: Digest of the answer's text.
        is_error: Whether the answer reports a failure.
        is_notice: Whether the answer only says that nothing changed and points at an older one.
        fault: Digest of the line that names the failure, numbers left out; "" without one.
        is_poll: Whether its repetition shows something else (scrolling, waiting for a command).
    """

    request: int
    result: int | None
    call: int
    tool: str
    key: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()
    content: str = ""
    is_error: bool = False
    is_notice: bool = False
    fault: str = ""
    is_poll: bool = False


@dataclass(frozen=True, slots=True)
class Repeat:
    """Say that an object repeats what an earlier one in the same prompt holds.

    Attributes:
        number: The later object.
        of: The earlier object, the one it shares most with.
        kind: `contains` when the whole text of `of` is in it, `lines` when it shares lines.
        share: Share of the later object's characters that the repetition makes up, 0 to 1.
        call: The call at which the later object was born.
    """

    number: int
    of: int
    kind: Literal["contains", "lines"]
    share: float
    call: int


@dataclass(frozen=True, slots=True)
class Section:
    """Hold one paragraph of a system prompt.

    Attributes:
        number: The system prompt's object.
        index: Place of the paragraph in it, from 0.
        digest: Digest of its text, by which it is found again in other sessions.
        share: Its share of the object's characters, 0 to 1.
        uses: How many outputs took up something that only this paragraph holds.
        title: First words of it, for people; empty when content may not leave the process.
        telling: How many names and uncommon words only this paragraph of its prompt holds: with next
            to none, that nothing took it up says nothing.
    """

    number: int
    index: int
    digest: str
    share: float
    uses: int
    title: str = ""
    telling: int = 0


@dataclass(frozen=True, slots=True)
class Remark:
    """Say that the output of a call says something telling.

    `lost_sight`: that what it read is gone, or read twice already. `receipt_misread`: it quotes a
    receipt as if it were data. `phrase` names the phrase or the receipt's object.
    """

    call: int
    kind: Literal["lost_sight", "receipt_misread"]
    phrase: str


@dataclass(frozen=True, slots=True)
class Echo:
    """Say that an output without tool calls says again what an earlier one said.

    Attributes:
        call: The call whose output it is.
        place: How many outputs without tool calls came before it since the last tool call.
        share: Words that both have, of the words that one of them has, 0 to 1.
    """

    call: int
    place: int
    share: float


@dataclass(slots=True)
class Facts:
    """Hold what was noted of one session.

    Attributes:
        shapes: Digest of each system prompt and tool definition, by object number, with dates, ids
            and numbers left out: equal shapes differ in such things only. Of a tool call, the names
            of its arguments with the types of their values ("limit:int path:str").
        echoes: Outputs that say again what was said since the last tool call.
        ending: What the last output of the session was that said more than goodbye. A tool call that
            hands in a text is an answer.
        last_writes: Digests of what tool calls of the last output are to change.
        change_asked: The last call at which a person asked for a change; 0 when nobody did.
    """

    steps: list[Step] = field(default_factory=list[Step])
    repeats: list[Repeat] = field(default_factory=list[Repeat])
    sections: list[Section] = field(default_factory=list[Section])
    remarks: list[Remark] = field(default_factory=list[Remark])
    shapes: dict[int, str] = field(default_factory=dict[int, str])
    echoes: list[Echo] = field(default_factory=list[Echo])
    ending: Ending = ""
    last_writes: tuple[str, ...] = ()
    change_asked: int = 0
