"""Read sessions of the pi coding agent: JSON Lines, one entry a line, a tree from version 2 on.

    session      header: id, version, the session that it was branched from
    message      role `user`, `assistant` (with usage), `toolResult`, `bashExecution`
    compaction   a summary in the place of what came before `firstKeptEntryId`, or `firstKeptEntryIndex`

Entries of version 1 follow each other; later ones name their `parentId`, and one that goes on from an older
entry than the newest is a fork. System prompt and tools are not written down.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ctxheap.heap.model import Compaction, Exchange, Part, Role, Usage
from ctxheap.providers.anthropic import block_parts
from ctxheap.providers.json_fields import Fields, fields, items, odd_counts, string, tokens
from ctxheap_collector.transcripts.message_lists import stem_of
from ctxheap_collector.transcripts.source import Head, Source, counted
from ctxheap_collector.transcripts.timestamps import epoch_ns
from ctxheap_collector.transcripts.wire import provider_of

FORMAT = "pi"
GLOBAL_CALL_IDS = True

HIDDEN = Part(
    "system", "hidden", "system_prompt", where="not in the session: system prompt and tool definitions"
)
_ROLES = frozenset({"user", "assistant", "toolResult", "bashExecution"})
_SILENT = frozenset({"session", "session_info", "thinking_level_change", "model_change", "label", "custom"})
_FAILED = frozenset({"aborted", "error"})
_COUNTS = ("input", "output", "cacheRead", "cacheWrite")


def looks_like(head: Head) -> bool:
    """Say whether one of the first records is a line of a session."""
    return any(map(_is_line, map(fields, head.records)))


def _is_line(line: Fields) -> bool:
    kind = string(line.get("type"))
    if kind == "session":
        return "id" in line and "timestamp" in line and "cwd" in line
    role = string(fields(line.get("message")).get("role"))
    return kind == "message" and "timestamp" in line and role in _ROLES


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls of a session in the order of its lines; forks are sessions with a parent."""
    session = _Session(source)
    count = 0
    for number, record in source.records():
        for exchange in session.feed(number, fields(record)):
            count += 1
            yield exchange
    session.say_what_was_left_out()
    if not count:
        source.skip(0, "no answer of a model, so no call")


@dataclass(slots=True, eq=False)
class _Entry:
    """Hold one line: its place in the tree, and what it adds to the context."""

    number: int
    before: _Entry | None
    parts: list[Part] = field(default_factory=list[Part])
    is_compaction: bool = False
    first_kept: _Entry | None = None
    session: str = ""


class _Session:
    """Keep the tree of one file and the context of its newest entry."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._session = stem_of(source)
        self._parent: str | None = None
        self._entries: list[_Entry | None] = []
        self._by_id: dict[str, _Entry] = {}
        self._tip: _Entry | None = None
        self._context = [HIDDEN]
        self._tools: dict[str, str] = {}
        self._compaction: Compaction | None = None
        self._last_input: object = None
        self._unknown: dict[str, int] = {}

    def feed(self, number: int, line: Fields) -> Iterator[Exchange]:
        """Take in one line and yield the call that it holds."""
        kind = string(line.get("type"))
        if not kind:
            self._source.skip(number, "no entry of a session: " + ("no type" if line else "no object"))
            self._entries.append(None)
            return
        if kind == "session":
            self._begin(line)
        entry = self._place(number, line)
        if kind == "message":
            yield from self._message(entry, fields(line.get("message")), line)
        elif kind == "compaction":
            self._compact(entry, line)
        elif kind in ("branch_summary", "custom_message"):
            self._add(entry, self._noted(kind, line, number))
        elif kind not in _SILENT:
            self._unknown[kind] = self._unknown.get(kind, 0) + 1

    def say_what_was_left_out(self) -> None:
        """List the lines of types that no rule knows."""
        for kind, count in self._unknown.items():
            self._source.skip(0, f"{counted(count, 'line', 'lines')} of the unknown type {kind[:40]!r}")

    def _begin(self, header: Fields) -> None:
        self._session = string(header.get("id")) or self._session
        origin = string(header.get("parentSession")) or string(header.get("branchedFrom"))
        # The parent is given as its file, named by time and id.
        self._parent = Path(origin).stem.rpartition("_")[2] or None

    def _place(self, number: int, line: Fields) -> _Entry:
        """Hang an entry into the tree, going back to its parent where that is not the newest one."""
        before = self._tip
        if "parentId" in line:
            named = line.get("parentId")
            before = self._by_id.get(string(named))
            if before is None and named:
                self._source.skip(number, "its parent is not in the file: it goes on from the last entry")
                before = self._tip
        is_header = line.get("type") == "session"
        if before is not self._tip and self._tip is not None and not is_header:
            self._go_to(before, number)
        entry = _Entry(number, before, session=self._session)
        self._entries.append(entry)
        if named := string(line.get("id")):
            self._by_id[named] = entry
        if not is_header:
            self._tip = entry
        return entry

    def _go_to(self, entry: _Entry | None, number: int) -> None:
        """Take up the context of an older entry in a session of its own."""
        self._parent = entry.session if entry else self._parent
        self._session = f"{self._session.partition('/fork-')[0]}/fork-{number}"
        self._context = _context_of(entry)

    def _add(self, entry: _Entry, parts: list[Part]) -> None:
        entry.parts = parts
        self._context += parts

    def _message(self, entry: _Entry, message: Fields, line: Fields) -> Iterator[Exchange]:
        role = string(message.get("role"))
        where = str(entry.number)
        stamp = message.get("timestamp") or line.get("timestamp")
        if role == "assistant":
            yield from self._answer(entry, message, stamp)
            return
        self._last_input = stamp
        if role == "toolResult":
            self._add(entry, self._result(message, where))
        elif role == "bashExecution":
            text = f"Ran `{string(message.get('command'))}`\n```\n{string(message.get('output'))}\n```"
            shown = [Part("user", "text", "harness:command-output", text, where=where)]
            self._add(entry, [] if message.get("excludeFromContext") is True else shown)
        elif role == "user":
            self._add(entry, self._blocks(message, where))
        else:
            self._source.skip(entry.number, f"a message of the unknown role {role[:40]!r}")

    def _answer(self, entry: _Entry, message: Fields, stamp: object) -> Iterator[Exchange]:
        usage = message.get("usage")
        for problem in odd_counts({f"{key}_tokens": fields(usage).get(key) for key in _COUNTS}, "usage"):
            self._source.skip(entry.number, problem)
        output = self._blocks(message, str(entry.number))
        billed = _usage(usage)
        reason = string(message.get("stopReason"))
        if not output and billed is None:
            said = string(message.get("errorMessage")) or reason or "no reason given"
            self._source.skip(entry.number, f"an answer without content and usage: {said}")
            return
        model = string(message.get("model"))
        compaction, self._compaction = self._compaction, None
        started, self._last_input = self._last_input or stamp, None
        yield Exchange(
            call_id=_call_id(stamp, output, fields(usage)),
            prompt=tuple(self._context),
            output=tuple(output),
            session=self._session,
            parent=self._parent,
            model=model,
            provider=provider_of(model) or string(message.get("provider")),
            started_ns=epoch_ns(started),
            usage=billed,
            compaction=compaction,
        )
        # What was cut off is not sent back: the next input held it in none of 9 cases that were looked at.
        self._add(entry, [] if reason in _FAILED else output)

    def _compact(self, entry: _Entry, line: Fields) -> None:
        entry.is_compaction = True
        entry.parts = [_summary(line, entry.number)]
        index = line.get("firstKeptEntryIndex")
        entry.first_kept = self._by_id.get(string(line.get("firstKeptEntryId")))
        if entry.first_kept is None and isinstance(index, int) and 0 <= index < len(self._entries):
            entry.first_kept = self._entries[index]
        self._context = _context_of(entry)
        self._compaction = Compaction(tokens(line.get("tokensBefore")) or None)

    def _noted(self, kind: str, line: Fields, number: int) -> list[Part]:
        if kind == "branch_summary":
            return [_summary(line, number)] if line.get("summary") else []
        name = string(line.get("customType")) or "custom"
        parts = self._blocks(line, str(number), plain=f"harness:{name}")
        self._last_input = line.get("timestamp")
        return parts

    def _blocks(self, message: Fields, where: str, plain: str = "") -> list[Part]:
        content = message.get("content")
        parts: list[Part] = []
        role: Role = "assistant" if message.get("role") == "assistant" else "user"
        for index, block in enumerate(items(content) or (content,)):
            told = _anthropic_block(block)
            place = f"{where}:{index}"
            parts += block_parts(told, role=role, tools=self._tools, where=place, plain=plain)
        return parts

    def _result(self, message: Fields, where: str) -> list[Part]:
        call_id, name = string(message.get("toolCallId")), string(message.get("toolName"))
        if call_id and name:
            self._tools.setdefault(call_id, name)
        content = message.get("content")
        block = {
            "type": "tool_result",
            "tool_use_id": call_id,
            "content": [_anthropic_block(item) for item in items(content)] or content,
            "is_error": message.get("isError"),
        }
        return block_parts(block, role="user", tools=self._tools, where=where)


def _context_of(entry: _Entry | None) -> list[Part]:
    """Return what the context is behind an entry: since the newest compaction, with what that one kept."""
    path: list[_Entry] = []
    compaction: _Entry | None = None
    while entry is not None:
        path.append(entry)
        if entry.is_compaction and compaction is None:
            compaction = entry
            if entry.first_kept is None:
                break
        if compaction is not None and entry is compaction.first_kept:
            break
        entry = entry.before
    kept = [item for item in reversed(path) if item is not compaction and not item.is_compaction]
    opening = [HIDDEN, *(compaction.parts if compaction else [])]
    return [*opening, *(part for item in kept for part in item.parts)]


def _summary(line: Fields, number: int) -> Part:
    return Part("user", "text", "summary", string(line.get("summary")), where=str(number))


def _anthropic_block(block: object) -> object:
    """Return a block of pi as Anthropic's, whatever provider the message went to."""
    body = fields(block)
    kind = body.get("type")
    if kind == "toolCall":
        return {**body, "type": "tool_use", "input": body.get("arguments", {})}
    if kind == "thinking":
        return {**body, "signature": body.get("thinkingSignature")}
    if kind == "image":
        data = {"type": "base64", "media_type": body.get("mimeType"), "data": body.get("data")}
        return {"type": "image", "source": data}
    return block


def _usage(raw: object) -> Usage | None:
    usage = fields(raw)
    counts = {key: tokens(usage.get(key)) for key in _COUNTS}
    if not any(counts.values()):
        return None
    return Usage(
        uncached=counts["input"],
        cache_read=counts["cacheRead"],
        cache_write_5m=counts["cacheWrite"],
        output=counts["output"],
    )


def _call_id(stamp: object, output: list[Part], usage: Fields) -> str:
    """Return an id that every copy of the entry gives: forks start with a copy of their parent."""
    counts = ":".join(str(tokens(usage.get(key))) for key in _COUNTS)
    told = b"".join(part.identity for part in output) + f"{stamp}:{counts}".encode("utf-8", "surrogatepass")
    return f"pi:{hashlib.sha256(told).hexdigest()[:20]}"
