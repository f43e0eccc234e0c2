"""Read Claude Code transcripts: JSON Lines, one line a content block, linked by `uuid` and `parentUuid`.

    user 1 ── assistant A (thinking) ── assistant A (tool_use) ── user (tool_result) ── assistant B ── …
       └──── user 1' (the person went back and asked something else): a fork, a session of its own

All lines of one response repeat its `message.id`, `requestId` and usage: together they are one call. Its
prompt is what stands on the chain before its first line. A response's lines may be interleaved with the
results of its first tool calls; it did not see those. What the client sends without writing it down (system
prompt, tool definitions, CLAUDE.md) is one hidden part at the front of every prompt.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson

from ctxheap.heap.model import Exchange
from ctxheap.providers.json_fields import Fields, fields, string
from ctxheap_collector.transcripts.claude_code_session import Reader
from ctxheap_collector.transcripts.source import STDIN, Head, Source, counted

FORMAT = "claude-code"
GLOBAL_CALL_IDS = True
MAX_CHARACTERS_PER_TOKEN = 8
"""No text of a model is this thin; English has four or five."""

# Lines that only this client writes, whatever else stands in the file.
_OWN_TYPES = frozenset({"file-history-snapshot", "queue-operation", "progress", "attachment"})
_LINKS = ("sessionId", "parentUuid", "isSidechain", "userType", "cwd")


def looks_like(head: Head) -> bool:
    """Say whether one of the first records is a line of a Claude Code transcript."""
    return any(map(_is_line, head.records))


def _is_line(record: object) -> bool:
    line = fields(record)
    kind = string(line.get("type"))
    if kind in _OWN_TYPES:
        return "timestamp" in line or "messageId" in line
    if kind == "summary":
        return "leafUuid" in line
    if kind in ("started", "result"):
        # The journal of a workflow lies beside the transcripts of its agents and holds no calls.
        return "agentId" in line and "key" in line
    if kind == "system":
        return "sessionId" in line and "uuid" in line
    if kind in ("user", "assistant"):
        message = fields(line.get("message"))
        return "content" in message and (any(key in line for key in _LINKS) or "timestamp" in line)
    return not kind and _is_bare_usage(line)


def _is_bare_usage(line: Fields) -> bool:
    """Say whether a line is of the oldest kind: a message with usage, without a type."""
    message = fields(line.get("message"))
    return "sessionId" in line and isinstance(message.get("usage"), dict)


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls of a transcript as responses end; sub-agents and forks are sessions with a parent."""
    path = source.files[0]
    reader = Reader(fallback_session=_session_name(path), agent=_agent_name(path))
    count = underreported = 0
    for exchange in _exchanges(reader, source):
        count += 1
        underreported += _is_underreported(exchange)
        yield exchange
    if reader.repeated:
        source.skip(0, counted(reader.repeated, "line stands", "lines stand") + " in the file more than once")
    if underreported:
        some = f"{underreported} of {counted(count, 'call', 'calls')}"
        reports = "reports" if underreported == 1 else "report"
        source.skip(0, f"{some} {reports} fewer output tokens than the text holds")
    if not count:
        source.skip(0, "no assistant message")


def _exchanges(reader: Reader, source: Source) -> Iterator[Exchange]:
    for number, record in source.records():
        yield from reader.feed(number, record, source.skip)
    yield from reader.finish()


def _is_underreported(exchange: Exchange) -> bool:
    """Say whether the client wrote down a count from the beginning of the stream only."""
    characters = sum(len(part.text) for part in exchange.output)
    return exchange.usage is not None and exchange.usage.output < characters / MAX_CHARACTERS_PER_TOKEN


def _session_name(path: Path) -> str:
    """Return what lines without a session id are counted under; other folders have files of the same name."""
    return "stdin" if path == STDIN else f"{path.absolute().parent.name}/{path.stem}"


def _agent_name(path: Path) -> str:
    """Return the kind of a sub-agent from the small file that newer clients put beside its transcript."""
    if not path.stem.startswith("agent-"):
        return ""
    try:
        described = orjson.loads(path.with_suffix(".meta.json").read_bytes())
    except (OSError, ValueError):
        return ""
    return string(fields(described).get("agentType"))
