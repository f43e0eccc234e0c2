"""Read the stream of Claude Code and its agent SDK (`--output-format stream-json`), a message a line.

    {"type": "system", "subtype": "init", "session_id", "model", "tools"}
    {"type": "user" | "assistant", "message": {…}, "parent_tool_use_id", "session_id"}
    {"type": "result", "usage": {…}}                totals of the run

The messages are those of a transcript under other names, and are read by its reader; those of a sub-agent
name the call that started it. A log of the SDK's transport holds the same, each message with its direction.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxheap.heap.model import Exchange
from ctxheap.providers.json_fields import Fields, fields, items, objects, string, tokens
from ctxheap_collector.transcripts.claude_code_session import Reader
from ctxheap_collector.transcripts.message_lists import elements, stem_of
from ctxheap_collector.transcripts.source import Head, Source

FORMAT = "claude-stream"
GLOBAL_CALL_IDS = True

_UNNAMED = frozenset({"", "default"})
_TOLD = frozenset({"user", "assistant", "system"})


def looks_like(head: Head) -> bool:
    """Say whether one of the first records is a message of the stream."""
    values = [head.document] if head.document is not None else head.records
    return any(_is_line(line) for value in values for line in _lines(value)[:20])


def _is_line(line: Fields) -> bool:
    if line.get("type") == "system":
        return line.get("subtype") == "init" and "session_id" in line and "tools" in line
    is_told = line.get("type") in ("user", "assistant") and isinstance(line.get("message"), dict)
    return is_told and "session_id" in line and "parent_tool_use_id" in line


def _lines(value: object) -> list[Fields]:
    """Return the messages in a value: itself, a list of them, or a log of the transport."""
    body = fields(value)
    if "metadata" in body and items(body.get("messages")):
        return [fields(item.get("message")) for item in objects(body.get("messages")) if "direction" in item]
    inner = fields(body.get("message"))
    if "direction" in body and inner:
        return [inner]
    return objects(value) or [body]


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls as responses end; sub-agents are sessions with a parent."""
    stream = _Stream(source)
    count = output = 0
    for exchange in stream.calls():
        count += 1
        output += exchange.usage.output if exchange.usage else 0
        yield exchange
    if (told := stream.output) > output:
        source.skip(0, f"the calls report {output} output tokens, the result of the run {told}")
    if not count:
        source.skip(0, "no assistant message")


class _Stream:
    """Hand the messages of one file to the reader of transcripts; `output` is what results count in all."""

    def __init__(self, source: Source) -> None:
        self.output = 0
        self._source = source
        self._reader = Reader(fallback_session=stem_of(source))
        self._session = ""
        self._waiting: list[tuple[int, Fields]] = []

    def calls(self) -> Iterator[Exchange]:
        """Yield the calls."""
        for number, line in _numbered(self._source):
            kind = string(line.get("type"))
            if not line:
                self._source.skip(number, "no message: no object")
            elif kind == "result":
                self.output += tokens(fields(line.get("usage")).get("output_tokens"))
            elif kind in _TOLD:
                yield from self._take(number, line)
        yield from self._flush()
        yield from self._reader.finish()

    def _take(self, number: int, line: Fields) -> Iterator[Exchange]:
        """Take in a message; what is sent before the client says which session it is waits for that."""
        named = string(line.get("session_id"))
        self._session = named if named not in _UNNAMED else self._session
        self._waiting.append((number, line))
        if self._session:
            yield from self._flush()

    def _flush(self) -> Iterator[Exchange]:
        for number, line in self._waiting:
            yield from self._reader.feed(number, _as_transcript(line, self._session), self._source.skip)
        self._waiting.clear()


def _numbered(source: Source) -> Iterator[tuple[int, Fields]]:
    for line, value in elements(source):
        for number, message in enumerate(_lines(value), 1):
            yield line or number, message


def _as_transcript(line: Fields, session: str) -> Fields:
    """Return a message under the names that a transcript gives its fields."""
    started_by = string(line.get("parent_tool_use_id"))
    told: dict[str, object] = {
        **line,
        "sessionId": session,
        "isSidechain": bool(started_by),
        "agentId": started_by,
    }
    if metadata := fields(line.get("compact_metadata")):
        told["compactMetadata"] = {
            "preTokens": metadata.get("pre_tokens"),
            "trigger": metadata.get("trigger"),
        }
    return told
