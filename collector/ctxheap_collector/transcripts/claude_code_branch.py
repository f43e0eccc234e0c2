"""Keep the context of one conversation in a Claude Code transcript while its lines come in.

Branch    one session: the main conversation, a sub-agent, or a fork
Segment   its context between two compactions, cut into epochs
epoch     begins with a response or with what a person wrote; lines link to epochs, forks start at
their ends
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from ctxheap.heap.model import Compaction, Exchange, Part, Usage
from ctxheap.providers.anthropic import reports_usage, usage_of
from ctxheap.providers.json_fields import Fields
from ctxheap_collector.transcripts.claude_code_clearing import cleared_results
from ctxheap_collector.transcripts.timestamps import epoch_ns
from ctxheap_collector.transcripts.wire import provider_of

HIDDEN = Part(
    "system",
    "hidden",
    "system_prompt",
    where="not in the transcript: system prompt, tool definitions and memory files",
)
CLEARED = "[Old tool result content cleared]"

Key = tuple[str, bool, str]
"""Session id, whether it is a sub-agent's, and the sub-agent's id."""


@dataclass(slots=True, eq=False)
class Segment:
    """Hold the context since the last compaction; epoch i begins at `starts[i]`.

    `answered` is the epoch of the newest response; `first_billed` and `last_billed` are input tokens and
    parts of the first and the newest prompt with usage.
    """

    branch: Branch
    parts: list[Part]
    starts: list[int] = field(default_factory=lambda: [0])
    answered: int = 0
    first_billed: tuple[int, int] | None = None
    last_billed: tuple[int, int] | None = None

    @property
    def epoch(self) -> int:
        """Return the number of the running epoch."""
        return len(self.starts) - 1

    def until(self, epoch: int) -> list[Part]:
        """Return a copy of the context at the end of an epoch."""
        return self.parts[: self.starts[epoch + 1]] if epoch < self.epoch else list(self.parts)


@dataclass(slots=True)
class Response:
    """Hold a response whose lines are still coming in."""

    key: str
    call_id: str
    model: str
    started: object
    prompt: tuple[Part, ...] = ()
    insert_at: int = 0
    compaction: Compaction | None = None
    output: list[Part] = field(default_factory=list[Part])
    raw_usage: object = None
    usage: Usage | None = None

    def note_usage(self, raw: object) -> None:
        """Take a line's usage: the first lines of a stream count what was there so far, the last one all."""
        self.raw_usage = raw
        if reports_usage(raw):
            usage = usage_of(raw)
            if self.usage is None or (usage.output, usage.input) >= (self.usage.output, self.usage.input):
                self.usage = usage


@dataclass(slots=True, eq=False)
class Branch:
    """Hold one session while it is read.

    Attributes:
        key: Where its lines come from; forks share it.
        session: Session id.
        parent: Session that it came from.
        agent: Name of the sub-agent.
        is_incomplete: Whether what stood before its first line is missing.
        is_linked: Whether its lines know their parents, so that a line without one starts anew.
        waits_for_summary: Whether a compaction was announced whose summary has not come yet.
        answered: Keys of its responses.
    """

    key: Key
    session: str
    parent: str | None = None
    agent: str = ""
    is_incomplete: bool = False
    is_linked: bool = False
    waits_for_summary: bool = False
    last_input: object = None
    response: Response | None = None
    compaction: Compaction | None = None
    turn_start: int = 0
    answered: set[str] = field(default_factory=set[str])
    kept: list[Part] = field(default_factory=list[Part])
    before: Segment | None = None
    segment: Segment = field(init=False)

    def __post_init__(self) -> None:
        """Begin with nothing but what the transcript does not show."""
        self.segment = Segment(self, [HIDDEN])

    def begin_epoch(self) -> None:
        """Say that what comes next can be forked away from what is there."""
        self.segment.starts.append(len(self.segment.parts))

    def begin_turn(self) -> None:
        """Say that a user message comes that answers no tool call."""
        self.begin_epoch()
        self.turn_start = len(self.segment.parts)

    def append(self, parts: list[Part]) -> None:
        """Add to the end of the context."""
        self.segment.parts += parts

    def take_started(self, line: Fields) -> object:
        """Return when the call began: with its newest input, else with its first line."""
        started, self.last_input = self.last_input or line.get("timestamp"), None
        return started

    def begin_response(self, response: Response) -> None:
        """Say that a response comes in, to what the context is now."""
        self.begin_epoch()
        self.segment.answered = self.segment.epoch
        response.prompt = tuple(self.segment.parts)
        response.insert_at = len(response.prompt)
        response.compaction, self.compaction = self.compaction, None
        self.response = response

    def answer(self, parts: list[Part]) -> None:
        """Add to the running response, in front of results that were written down before it ended."""
        response, segment = self.response, self.segment
        if response is None:
            return
        at = response.insert_at
        segment.parts[at:at] = parts
        response.insert_at += len(parts)
        response.output += parts
        for epoch in range(segment.epoch, 0, -1):
            if segment.starts[epoch] <= at:
                break
            segment.starts[epoch] += len(parts)
        if self.turn_start > at:
            self.turn_start += len(parts)

    def finish_response(self) -> Iterator[Exchange]:
        """Yield the call whose response has ended, if there is one."""
        response, self.response = self.response, None
        if response is not None:
            yield Exchange(
                call_id=response.call_id,
                prompt=response.prompt,
                output=tuple(response.output),
                session=self.session,
                parent=self.parent,
                agent=self.agent,
                model=response.model,
                provider=provider_of(response.model),
                started_ns=epoch_ns(response.started),
                usage=response.usage,
                compaction=response.compaction,
                incomplete=self.is_incomplete,
            )

    def compact(self, before: int | None, trigger: str, *, kept_from: int | None = None) -> None:
        """Start the context anew; `kept_from` is the epoch from which on it is kept behind the summary."""
        old = self.segment
        self.kept = old.parts[old.starts[kept_from] :] if kept_from is not None else []
        if self.before is not None:
            # Nobody goes back past two compactions, and old contexts are what fills the memory.
            self.before.parts.clear()
        self.before = old
        self.restart()
        self.compaction = Compaction(before, trigger)
        self.waits_for_summary = True

    def summarise(self, parts: list[Part]) -> None:
        """Add the summary of a compaction, and behind it what the compaction kept."""
        if not self.waits_for_summary:
            self.compact(None, "")
        self.append(parts)
        self.append(self.kept)
        self.waits_for_summary, self.kept = False, []

    def restart(self) -> None:
        """Drop the whole context."""
        self.segment = Segment(self, [HIDDEN])
        self.turn_start = 0

    def clear_unlogged(self, billed_input: int) -> int:
        """Clear what the billed input says is gone; return how many results."""
        segment = self.segment
        cleared: set[str] = set()
        if segment.first_billed is not None and segment.last_billed is not None:
            last_input, known = segment.last_billed
            cleared = cleared_results(
                segment.parts,
                known=known,
                first=segment.first_billed,
                last_input=last_input,
                billed_input=billed_input,
            )
            self.clear_results(cleared)
        segment.last_billed = billed_input, len(segment.parts)
        segment.first_billed = segment.first_billed or segment.last_billed
        return len(cleared)

    def clear_results(self, call_ids: Collection[str]) -> None:
        """Put stubs in the place of tool results that the client cleared."""
        if not call_ids:
            return
        parts = self.segment.parts
        for index, part in enumerate(parts):
            if part.kind == "tool_result" and part.call_id in call_ids:
                parts[index] = replace(part, tag="receipt", text=CLEARED, tokens=None, identity=b"")

    def strip_old_reasoning(self) -> None:
        """Drop the reasoning of turns before the running one."""
        segment, end = self.segment, self.turn_start
        gone = [index for index in range(end) if segment.parts[index].kind == "reasoning"]
        if not gone:
            return
        lost = set(gone)
        segment.parts[:end] = [part for index, part in enumerate(segment.parts[:end]) if index not in lost]
        segment.starts[:] = [start - sum(index < start for index in gone) for start in segment.starts]
        self.turn_start -= len(gone)
