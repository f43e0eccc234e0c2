"""Define what a context is made of: parts, exchanges, calls and objects (SPEC 1).

    Exchange   one inference call with its content: what a capture path yields
      Part     one content block of a prompt or an output, with its tag
    Call       one inference call without content: identities and counts only
      Resident one object in the prompt of one call, with its billed tokens

Content is needed only where a `Call` is made; everything after works on identities and counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["system", "user", "assistant", "tool"]
Kind = Literal["text", "reasoning", "tool_call", "tool_result", "tool_definition", "media", "hidden"]

IDENTITY_BYTES = 16


@dataclass(frozen=True, slots=True)
class Part:
    """Hold one content block: the maximal piece of a prompt with one tag and one identity.

    Attributes:
        role: Who speaks, in the wire's own terms.
        kind: What the block is, whatever role carries it. `hidden` stands for content that was
            billed and is known not to be in the capture (a coding agent's own system prompt).
        tag: Where the tokens came from (SPEC 2), `kind` or `kind:name`.
        text: The content as it is billed. A tool call's text is its arguments as JSON, a tool
            definition's is its schema as JSON; media and encrypted blocks may have none.
        tool: Name of the tool of a call, result or definition, else "".
        call_id: Id that ties a tool result to its call, else "".
        tokens: Size where it is known and must not be counted from the text, in tokens.
        error: Whether a tool result reports a failure.
        pinned: Whether an application asked to keep it.
        where: Place in the source, for messages to people ("12:0" is line 12, block 0).
        identity: 16 bytes over role, kind, tool, call id and content; made when not given.
    """

    role: Role
    kind: Kind
    tag: str
    text: str = ""
    tool: str = ""
    call_id: str = ""
    tokens: int | None = None
    error: bool = False
    pinned: bool = False
    where: str = field(default="", compare=False)
    identity: bytes = b""

    def __post_init__(self) -> None:
        """Make the identity once, so that a part that stays in the prompt is hashed once."""
        if not self.identity:
            object.__setattr__(self, "identity", identity_of(self))


def identity_of(part: Part) -> bytes:
    """Return the 128-bit truncated SHA-256 of a part, fields behind their lengths (SPEC 1)."""
    fields = (part.role, part.kind, part.tool, part.call_id, part.text)
    encoded = [field.encode("utf-8", "surrogatepass") for field in fields]
    lengths = b"".join(len(data).to_bytes(8, "big") for data in encoded)
    return hashlib.sha256(lengths + b"".join(encoded)).digest()[:IDENTITY_BYTES]


@dataclass(frozen=True, slots=True)
class Usage:
    """Hold one call's usage in tokens, cache included: the four input classes add up to `input`.

    `reasoning` is a share of `output`, never added to it.
    """

    uncached: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0
    service_tier: str = ""

    @property
    def cache_write(self) -> int:
        """Return the tokens written to the cache, whatever their time to live."""
        return self.cache_write_5m + self.cache_write_1h

    @property
    def input(self) -> int:
        """Return the whole billed input T of SPEC 3.3."""
        return self.uncached + self.cache_read + self.cache_write_5m + self.cache_write_1h


@dataclass(frozen=True, slots=True)
class Compaction:
    """Say that the prompt of a call replaced its history by a summary.

    `before` is what the source itself reports as the size before, in tokens; None if it is silent.
    """

    before: int | None = None
    trigger: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """Hold one inference call with its content, as a capture path saw it.

    Readers should hand the *same* `Part` objects over again for what stays in the prompt: the
    profiler then pays only for what is new.

    Attributes:
        call_id: Stable id of the call within its source.
        session: Explicit session id, "" when it has to be found by stitching (SPEC 4).
        parent: Session that started this one (sub-agents, forks), else None.
        agent: Name of the agent or sub-agent, "" when unknown.
        model: The model's name as reported, "" when unknown.
        provider: `openai`, `anthropic`, `gcp.gemini`, … as in the GenAI conventions; "" unknown.
        started_ns: Start as nanoseconds since the epoch; None when the source has no times.
        prompt: All parts sent, in the provider's cache order (definitions, system, messages).
        output: All parts the model returned.
        usage: What was billed; None when the source does not say.
        compaction: Set on the first call after a compaction.
        implied: True for calls that no record shows but that must have happened.
        incomplete: True when parts of the prompt are known to be missing from the capture.
        place: Where the call stands in a source that was written in order, which goes before clocks;
            None where lines may stand in any order.
        recorded_usd: What the source itself says that the call cost; None where it says nothing.
    """

    call_id: str
    prompt: Sequence[Part]
    output: Sequence[Part]
    session: str = ""
    parent: str | None = None
    agent: str = ""
    model: str = ""
    provider: str = ""
    started_ns: int | None = None
    usage: Usage | None = None
    compaction: Compaction | None = None
    implied: bool = False
    incomplete: bool = False
    place: int | None = None
    recorded_usd: float | None = None
