"""Read sessions of Gemini CLI: one JSON document in old versions, since then a log of changes to it.

    {"sessionId", "projectHash", "messages": […]}       the document, or the log's first line
    {"id", "type": "user" | "gemini", "content", …}     a message; one with a known id replaces it
    {"$set": {"messages": […]}}                         the history is replaced: compression, a turn undone
    {"$rewindTo": id}                                   that message and all behind it are gone

A message of type `gemini` is a call with its tokens, its tool calls and their results. What is rewound was
billed all the same: its calls are yielded before it goes. System prompt and tools are not written down.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ctxheap.heap.model import Compaction, Exchange, Part, Usage
from ctxheap.providers import gemini, openai
from ctxheap.providers.json_fields import Fields, fields, items, objects, string, tokens
from ctxheap_collector.transcripts.message_lists import elements, skip_odd_counts, stem_of
from ctxheap_collector.transcripts.source import Head, Source
from ctxheap_collector.transcripts.timestamps import epoch_ns
from ctxheap_collector.transcripts.wire import provider_of

FORMAT = "gemini-cli"
GLOBAL_CALL_IDS = True

HIDDEN = Part(
    "system", "hidden", "system_prompt", where="not in the session: system prompt and tool definitions"
)
_CONTEXT = "<session_context>"
_COUNTS = ("input", "output", "cached", "thoughts", "tool")
_VERSION = re.compile(r"gemini-(\d+)")
# From Gemini 3 on thoughts come back as signatures: input grew by 22,534 tokens behind a call of 8,960
# tokens of output, 10,849 of thoughts, and results of some 2,700.
_SENDS_THOUGHTS_SINCE = 3
_SILENT = frozenset({"info", "error", "warning"})


def looks_like(head: Head) -> bool:
    """Say whether the source opens with a session, or with a change to one."""
    values = [head.document] if head.document is not None else head.records
    first = fields(next(iter(values), None))
    is_header = "sessionId" in first and "projectHash" in first and "type" not in first
    return is_header or any("messages" in fields(fields(value).get("$set")) for value in values)


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls of a session."""
    session = _Session(source)
    count = 0
    for line, value in elements(source):
        for exchange in session.feed(line, fields(value)):
            count += 1
            yield exchange
    for exchange in session.calls():
        count += 1
        yield exchange
    if not count:
        source.skip(0, "no answer of a model, so no call")


class _Session:
    """Hold the history as it is after the lines so far."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._session = stem_of(source)
        self._parent: str | None = None
        self._agent = ""
        self._messages: dict[str, tuple[int, Fields]] = {}
        self._made: dict[str, tuple[Fields, list[Part], list[Part]]] = {}
        self._yielded: set[str] = set()
        self._tools: dict[str, str] = {}
        self._compaction: Compaction | None = None

    def feed(self, line: int, record: Fields) -> Iterator[Exchange]:
        """Take in one line, and yield the calls of what it removes."""
        if "$rewindTo" in record:
            yield from self.calls()
            self._rewind(string(record.get("$rewindTo")))
        elif string(record.get("type")) and "sessionId" not in record:
            self._add(line, record)
        elif "$set" in record or "sessionId" in record:
            patch = fields(record.get("$set")) or record
            self._about(patch)
            if isinstance(patch.get("messages"), list):
                yield from self.calls()
                self._replace(line, objects(patch.get("messages")))
        else:
            self._source.skip(line, "no message and no change: " + ("no type" if record else "no object"))

    def _about(self, patch: Fields) -> None:
        self._session = string(patch.get("sessionId")) or self._session
        if patch.get("kind") == "subagent":
            # Sub-agents lie in a folder that is named after the session that started them.
            self._agent = "subagent"
            self._parent = self._source.files[0].absolute().parent.name

    def _add(self, line: int, message: Fields) -> None:
        self._messages[string(message.get("id")) or f"line {line}"] = (line, message)

    def _rewind(self, target: str) -> None:
        known = list(self._messages)
        for gone in known[known.index(target) if target in known else 0 :]:
            del self._messages[gone]

    def _replace(self, line: int, messages: Sequence[Fields]) -> None:
        before = list(self._messages)
        self._messages = {}
        for index, message in enumerate(messages):
            self._messages[string(message.get("id")) or f"line {line}:{index}"] = (line or index, message)
        kept = list(self._messages)[: len(before)]
        if before and kept != before[: len(kept)]:
            self._compaction = Compaction()

    def calls(self) -> Iterator[Exchange]:
        """Yield the calls that the history holds, each once."""
        context = [HIDDEN]
        stamp: object = None
        for key, (line, message) in self._messages.items():
            kind = string(message.get("type"))
            if kind == "gemini":
                output, sent = self._answer(key, line, message)
                if key not in self._yielded and (output or fields(message.get("tokens"))):
                    self._yielded.add(key)
                    self._check(line, fields(message.get("tokens")))
                    yield self._exchange(key, message, context, output, stamp)
                context += sent
            elif kind == "user":
                context += self._told(key, line, message)
            elif kind not in _SILENT:
                self._source.skip(line, f"a message of the unknown type {kind[:40]!r}")
            stamp = message.get("timestamp")

    def _check(self, line: int, counts: Fields) -> None:
        skip_odd_counts(
            self._source, line, {f"{name}_tokens": counts.get(name) for name in _COUNTS}, "tokens"
        )

    def _exchange(
        self, key: str, message: Fields, context: Sequence[Part], output: Sequence[Part], stamp: object
    ) -> Exchange:
        counts = fields(message.get("tokens"))
        model = string(message.get("model"))
        compaction, self._compaction = self._compaction, None
        return Exchange(
            call_id=f"{self._session}/{key}",
            prompt=tuple(context),
            output=tuple(output),
            session=self._session,
            parent=self._parent,
            agent=self._agent,
            model=model,
            provider=provider_of(model) or "gcp.gemini",
            started_ns=epoch_ns(stamp or message.get("timestamp")),
            usage=_usage(counts),
            compaction=compaction,
            implied=not counts,
        )

    def _told(self, key: str, line: int, message: Fields) -> list[Part]:
        if key not in self._made or self._made[key][0] is not message:
            parts = gemini.message_parts(
                {"role": "user", "parts": _parts(message)}, tools=self._tools, where=str(line)
            )
            parts = [
                replace(part, tag="harness:session-context") if part.text.startswith(_CONTEXT) else part
                for part in parts
            ]
            self._made[key] = message, parts, parts
        return self._made[key][1]

    def _answer(self, key: str, line: int, message: Fields) -> tuple[list[Part], list[Part]]:
        """Return what a call returned, and what of it is sent back with the results of its tools."""
        if key not in self._made or self._made[key][0] is not message:
            where = str(line)
            called = objects(message.get("toolCalls"))
            pieces = [*_parts(message), *({"functionCall": call} for call in called)]
            said = gemini.message_parts({"role": "model", "parts": pieces}, tools=self._tools, where=where)
            results = [piece for call in called for piece in _results(call)]
            answers = gemini.message_parts({"role": "user", "parts": results}, tools=self._tools, where=where)
            thoughts = tokens(fields(message.get("tokens")).get("thoughts"))
            reasoning = openai.with_reasoning_tokens(_thoughts(message, where), thoughts)
            thought = reasoning if _sends_thoughts(string(message.get("model"))) else []
            self._made[key] = message, [*reasoning, *said], [*thought, *said, *answers]
        return self._made[key][1], self._made[key][2]


def _sends_thoughts(model: str) -> bool:
    found = _VERSION.search(model)
    return found is not None and int(found[1]) >= _SENDS_THOUGHTS_SINCE


def _parts(message: Fields) -> list[Fields]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"text": content}] if content else []
    return [{"text": item} if isinstance(item, str) else fields(item) for item in items(content)]


def _results(call: Fields) -> list[Fields]:
    """Return what a tool call was answered with; a call that was cancelled may have no answer."""
    given = call.get("result")
    if isinstance(given, str) and given:
        return [
            {
                "functionResponse": {
                    "id": call.get("id"),
                    "name": call.get("name"),
                    "response": {"output": given},
                }
            }
        ]
    return objects(given)


def _thoughts(message: Fields, where: str) -> list[Part]:
    told = [
        "\n".join(filter(None, (string(thought.get("subject")), string(thought.get("description")))))
        for thought in objects(message.get("thoughts"))
    ]
    text = "\n\n".join(filter(None, told))
    return [Part("assistant", "reasoning", "agent_reasoning", text, where=where)] if text else []


def _usage(counts: Fields) -> Usage | None:
    """Return the usage; input holds the cached tokens, thoughts are beside the output."""
    if not any(tokens(counts.get(name)) for name in _COUNTS):
        return None
    entered = tokens(counts.get("input")) + tokens(counts.get("tool"))
    read = min(entered, tokens(counts.get("cached")))
    thoughts = tokens(counts.get("thoughts"))
    return Usage(entered - read, read, output=tokens(counts.get("output")) + thoughts, reasoning=thoughts)
