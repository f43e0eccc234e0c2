"""Keep the context of one Codex thread while its lines come in, and find where its calls begin and end."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import orjson

from ctxheap.heap.model import Compaction, Exchange, Part, Usage
from ctxheap.providers import openai
from ctxheap.providers.json_fields import Fields, fields, string, tokens
from ctxheap_collector.transcripts.timestamps import epoch_ns
from ctxheap_collector.transcripts.wire import provider_of

HIDDEN = Part(
    "system", "hidden", "system_prompt", where="not in the rollout: instructions and tool definitions"
)
KEPT_CHARACTERS = 80_000
"""What Codex keeps of the person's messages when it compacts: the newest 20,000 tokens of four characters."""

_FAILED = re.compile(r"(?:Exit code|Process exited with code):? (?!0\b)-?\d+")
_EXIT_SEARCH_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Counts:
    """Hold the four counts of a `token_count`: cached tokens are in `input`, reasoning is in `output`."""

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.input + other.input,
            self.cached + other.cached,
            self.output + other.output,
            self.reasoning + other.reasoning,
        )

    def __sub__(self, other: Counts) -> Counts:
        return self + Counts(-other.input, -other.cached, -other.output, -other.reasoning)

    def __str__(self) -> str:
        return f"{self.input}/{self.cached} in, {self.output}/{self.reasoning} out"

    def holds(self, other: Counts) -> bool:
        """Say whether no count is smaller: running totals only grow, unless they start anew."""
        rest = self - other
        return min(rest.input, rest.cached, rest.output, rest.reasoning) >= 0

    def usage(self) -> Usage:
        """Return the counts as disjoint classes."""
        read = min(self.cached, self.input)
        reasoning = min(self.reasoning, self.output)
        return Usage(uncached=self.input - read, cache_read=read, output=self.output, reasoning=reasoning)


def counts_of(raw: object) -> Counts:
    """Return the counts in a usage; what is missing or odd is 0."""
    usage = fields(raw)
    return Counts(
        tokens(usage.get("input_tokens")),
        tokens(usage.get("cached_input_tokens")),
        tokens(usage.get("output_tokens")),
        tokens(usage.get("reasoning_output_tokens")),
    )


@dataclass(slots=True)
class _Call:
    """Hold a call whose lines are still coming in.

    Attributes:
        prompt: What was sent.
        model: The model's name as it was then.
        at: Where in the context its next output goes: in front of results that came before it ended.
        counts: What was billed; None until a count says.
        total: Running totals behind it, which name it in every copy of the thread.
        is_answered: Whether a tool's result came.
        is_over: Whether nothing of it can come any more.
    """

    prompt: tuple[Part, ...]
    at: int
    model: str
    started: object
    compaction: Compaction | None
    output: list[Part] = field(default_factory=list[Part])
    counts: Counts | None = None
    total: Counts = field(default_factory=Counts)
    is_answered: bool = False
    is_over: bool = False


class Thread:
    """Turn the lines of one thread into calls.

    Attributes:
        model: The model's name as last said.
        total: Running totals as last said.
    """

    def __init__(self, fallback: str) -> None:
        self.model = ""
        self.total = Counts()
        self._session = self._root = fallback
        self._parent: str | None = None
        self._agent = ""
        self._opening = [HIDDEN]
        self._context: list[Part] = [HIDDEN]
        self._tools: dict[str, str] = {}
        self._turns: list[int] = []
        self._chain = b""
        self._call: _Call | None = None
        self._counts_first: bool | None = None
        self._last_input: object = None
        self._last_counts: Counts | None = None
        self._compaction: Compaction | None = None

    def begin(self, session: str, parent: str | None, agent: str, instructions: str) -> None:
        """Take the thread's own header."""
        self._session = self._root = session or self._session
        self._parent, self._agent = parent, agent
        if instructions:
            own = Part("system", "text", "system_prompt", instructions, where="base_instructions")
            self._opening = [HIDDEN, own]
            self._context = [*self._opening]

    def continues(self, session: str) -> None:
        """Say that what follows is a copy of another thread, or the same one resumed."""
        if session and session != self._session:
            self._root = session
            self._parent = self._parent or session

    def take_item(self, item: Fields, stamp: object, where: str) -> Iterator[Exchange]:
        """Take in what was sent or returned, and yield the call that it shows to be over."""
        if _is_output(item):
            yield from self._take_output(item, stamp, where)
            return
        parts = self._parts(item, where)
        self._last_input = stamp
        if item.get("role") == "user":
            if any(part.tag == "user_turn" for part in parts):
                self._turns.append(len(self._context))
                self.end_turn()
        elif self._call is not None and not item.get("role"):
            self._call.is_answered = True
        self._add(len(self._context), parts)

    def _take_output(self, item: Fields, stamp: object, where: str) -> Iterator[Exchange]:
        if self._call is None or self._is_next(self._call):
            yield from self.finish()
            self._call = self._new_call(stamp)
        call = self._call
        parts = self._parts(item, where)
        call.output += parts
        # Reasoning that was kept nowhere cannot be sent back.
        sent = [part for part in parts if part.kind != "reasoning" or _is_kept(item)]
        self._add(call.at, sent)
        call.at += len(sent)

    def _is_next(self, call: _Call) -> bool:
        """Say whether another output belongs to a new call."""
        if call.is_over:
            return True
        # Without counts a result tells where a call ended; with them, several results may stand within one.
        return self._counts_first is None and call.is_answered

    def count(self, said: Counts, total: Counts, stamp: object, where: str) -> Iterator[Exchange]:
        """Take the counts of one more call: of the next one in old rollouts, else of the one that is open."""
        call = self._call
        if self._counts_first is None:
            self._counts_first = call is None
        if self._counts_first or call is None or call.counts is not None:
            yield from self.finish()
            call = self._call = self._new_call(stamp)
        call.counts, call.total, call.model = said, total, self.model
        call.is_over = not self._counts_first
        self.total, self._last_counts = total, said

    def end_turn(self) -> None:
        """Say that no more output of the open call can come."""
        # In old rollouts the next count says so: what a turn's end looks like differs there.
        if self._call is not None and self._call.output:
            self._call.is_over = True

    def compact(self, summary: str, history: Sequence[object], where: str) -> Iterator[Exchange]:
        """Replace the context; a call without output just before it is the one that wrote the summary."""
        told = [Part("user", "text", "summary", summary, where=where)] if summary else []
        if self._call is not None and not self._call.output:
            self._call.output = [replace(part, role="assistant", identity=b"") for part in told]
        yield from self.finish()
        kept = [part for item in history for part in self._parts(fields(item), where)]
        if history and told:
            kept = [replace(part, tag="summary") if summary in part.text else part for part in kept]
        self._context = [*self._opening, *(kept or [*_said(self._context), *told])]
        self._turns.clear()
        last = self._last_counts
        self._compaction = Compaction(last.input + last.output if last else None)

    def roll_back(self, turns: int) -> Iterator[Exchange]:
        """Drop the newest turns."""
        yield from self.finish()
        if 0 < turns <= len(self._turns):
            del self._context[self._turns[-turns] :]
            del self._turns[-turns:]

    def finish(self) -> Iterator[Exchange]:
        """Yield the call that is open."""
        call, self._call = self._call, None
        if call is None:
            return
        usage = call.counts.usage() if call.counts else None
        if usage is not None:
            self._size_reasoning(call, usage)
        yield Exchange(
            call_id=self._call_id(call),
            prompt=call.prompt,
            output=tuple(call.output),
            session=self._session,
            parent=self._parent,
            agent=self._agent,
            model=call.model,
            provider=provider_of(call.model),
            started_ns=epoch_ns(call.started),
            usage=usage,
            compaction=call.compaction,
            implied=usage is None,
        )

    def _call_id(self, call: _Call) -> str:
        """Return an id that every copy of the thread gives: running totals, else what was said so far."""
        if call.counts:
            total = call.total
            return f"{self._root}:{total.input}:{total.cached}:{total.output}:{total.reasoning}"
        return f"{self._root}:{self._chain.hex()[:16]}"

    def _new_call(self, stamp: object) -> _Call:
        started, self._last_input = self._last_input or stamp, None
        compaction, self._compaction = self._compaction, None
        return _Call(tuple(self._context), len(self._context), self.model, started, compaction)

    def _size_reasoning(self, call: _Call, usage: Usage) -> None:
        """Let reasoning weigh what was billed for it, also where it is sent back."""
        sized = openai.with_reasoning_tokens(call.output, usage.reasoning)
        new = {id(old): part for old, part in zip(call.output, sized, strict=True) if old is not part}
        if new:
            start = max(0, call.at - len(call.output))
            tail = self._context[start:]
            self._context[start:] = [new.get(id(part), part) for part in tail]
        call.output = sized

    def _add(self, at: int, parts: list[Part]) -> None:
        self._context[at:at] = parts
        for part in parts:
            self._chain = hashlib.sha256(self._chain + part.identity).digest()

    def _parts(self, item: Fields, where: str) -> list[Part]:
        parts = openai.message_parts(item, tools=self._tools, where=where)
        if item.get("type") in ("function_call_output", "custom_tool_call_output") and _has_failed(item):
            return [replace(part, error=True) for part in parts]
        return parts


def _is_output(item: Fields) -> bool:
    kind = string(item.get("type"))
    if role := string(item.get("role")):
        return role == "assistant"
    return kind == "reasoning" or kind.endswith("_call")


def _is_kept(item: Fields) -> bool:
    return bool(item.get("encrypted_content") or item.get("content"))


def _said(context: list[Part]) -> list[Part]:
    """Return what Codex keeps: the person's newest messages up to a limit, and its own beside them."""
    kept: list[Part] = []
    room = KEPT_CHARACTERS
    for part in reversed(context):
        if part.role != "user" or part.tag == "summary":
            continue
        if part.tag == "user_turn":
            if room <= 0:
                continue
            room -= len(part.text)
        kept.append(part)
    return kept[::-1]


def _has_failed(item: Fields) -> bool:
    """Say whether the output of a command reports another exit code than 0."""
    output = item.get("output")
    text = output if isinstance(output, str) else ""
    if text.startswith("{"):
        try:
            code = fields(fields(orjson.loads(text)).get("metadata")).get("exit_code")
        except ValueError:
            return False
        return code not in (0, None)
    return _FAILED.search(text, 0, _EXIT_SEARCH_CHARACTERS) is not None
