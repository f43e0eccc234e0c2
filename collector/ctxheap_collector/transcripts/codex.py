"""Read Codex rollouts: JSON Lines of {"timestamp", "type", "payload"}.

    session_meta      the thread: its id, the thread that spawned it or that it was forked from
    turn_context      the model
    response_item     what was sent or returned: messages, reasoning, tool calls and their outputs
    event_msg         `token_count`: usage of the last call and running totals; the rest is for the screen
    compacted         the history is replaced by a summary

Old versions write a call's `token_count` in front of its items, newer ones behind them; each file is of one
kind. Counts are written again whenever a limit changes or a thread is resumed: only those that move the
running totals are calls. A thread that was forked or spawned with its parent's history starts with a copy.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxheap.heap.model import Exchange
from ctxheap.providers.json_fields import Fields, fields, items, odd_counts, string
from ctxheap_collector.transcripts.codex_thread import Thread, counts_of
from ctxheap_collector.transcripts.message_lists import stem_of
from ctxheap_collector.transcripts.source import STDIN, Head, Source, counted

FORMAT = "codex"
GLOBAL_CALL_IDS = True

_TYPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_ITEMS = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call"})


def looks_like(head: Head) -> bool:
    """Say whether one of the first records is a line of a rollout."""
    return any(map(_is_line, map(fields, head.records))) or _is_oldest(head)


def _is_line(line: Fields) -> bool:
    return string(line.get("type")) in _TYPES and isinstance(line.get("payload"), dict)


def _is_oldest(head: Head) -> bool:
    """Say whether the source opens like the first versions: a header and items without an envelope."""
    first = fields(next(iter(head.records), None))
    return {"id", "timestamp", "instructions"} <= first.keys() and "type" not in first


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls of a thread as they end."""
    reader = _Reader(source)
    count = 0
    for number, record in source.records():
        for exchange in reader.feed(number, fields(record)):
            count += 1
            yield exchange
    for exchange in reader.thread.finish():
        count += 1
        yield exchange
    reader.say_what_was_left_out()
    if not count:
        source.skip(0, "no answer of a model and no count of tokens, so no call")


def _fallback(source: Source) -> str:
    """Return what a thread without an id is called; other folders have files of the same name."""
    path = source.files[0]
    return "stdin" if path == STDIN else f"{path.absolute().parent.name}/{stem_of(source)}"


class _Reader:
    """Hand the lines of a rollout to its thread."""

    def __init__(self, source: Source) -> None:
        self.thread = Thread(_fallback(source))
        self._source = source
        self._unknown: dict[str, int] = {}
        self._repeated = 0
        self._metas = 0

    def feed(self, number: int, line: Fields) -> Iterator[Exchange]:
        """Take in one line and yield the calls that it ends."""
        kind, payload = string(line.get("type")), line.get("payload")
        body = fields(payload)
        if kind == "response_item" or (payload is None and kind in _ITEMS):
            yield from self.thread.take_item(body or line, line.get("timestamp"), str(number))
        elif kind == "event_msg":
            yield from self._event(number, body, line.get("timestamp"))
        elif kind == "turn_context":
            self.thread.model = string(body.get("model")) or self.thread.model
        elif kind == "compacted":
            history = items(body.get("replacement_history"))
            yield from self.thread.compact(string(body.get("message")), history, str(number))
        elif kind == "session_meta" or (not kind and "id" in line):
            self._meta(fields(body.get("meta")) or body or line)
        elif not line:
            self._source.skip(number, "no line of a rollout: no object")
        elif line.get("record_type") != "state":
            self._unknown[kind or "none"] = self._unknown.get(kind or "none", 0) + 1

    def say_what_was_left_out(self) -> None:
        """List what was seen more than once, and lines of a type that no rule knows."""
        if self._repeated:
            again = counted(self._repeated, "count of tokens was", "counts of tokens were")
            self._source.skip(0, f"{again} written again: not billed twice")
        for kind, count in self._unknown.items():
            self._source.skip(0, f"{counted(count, 'line', 'lines')} of the unknown type {kind[:40]!r}")

    def _meta(self, meta: Fields) -> None:
        self._metas += 1
        spawned = fields(fields(fields(meta.get("source")).get("subagent")).get("thread_spawn"))
        parent = string(spawned.get("parent_thread_id")) or string(meta.get("forked_from_id"))
        named = string(meta.get("id"))
        if self._metas > 1:
            self.thread.continues(named)
            return
        agent = string(meta.get("agent_role")) or string(spawned.get("agent_role"))
        instructions = string(fields(meta.get("base_instructions")).get("text"))
        self.thread.begin(named, parent or None, agent, instructions)

    def _event(self, number: int, event: Fields, stamp: object) -> Iterator[Exchange]:
        kind = string(event.get("type"))
        if kind == "token_count":
            yield from self._count(number, fields(event.get("info")), stamp)
        elif kind in ("turn_aborted", "task_complete", "turn_complete"):
            self.thread.end_turn()
        elif kind == "thread_rolled_back":
            turns = event.get("num_turns")
            yield from self.thread.roll_back(turns if isinstance(turns, int) else 0)

    def _count(self, number: int, info: Fields, stamp: object) -> Iterator[Exchange]:
        last, total = info.get("last_token_usage"), info.get("total_token_usage")
        if not fields(last) and not fields(total):
            return
        for name, usage in (("last_token_usage", last), ("total_token_usage", total)):
            for problem in odd_counts(usage, name):
                self._source.skip(number, problem)
        self.thread.model = string(info.get("model")) or self.thread.model
        before, after = self.thread.total, counts_of(total)
        if fields(total) and after == before:
            self._repeated += 1
            return
        moved = after - before if fields(total) and after.holds(before) else None
        said = counts_of(last) if fields(last) else moved or after
        if moved is not None and moved != said:
            self._source.skip(number, f"running totals moved by {moved}, the call itself says {said}")
        yield from self.thread.count(said, after if fields(total) else before + said, stamp, str(number))
