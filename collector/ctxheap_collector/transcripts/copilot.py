"""Read events of Copilot's CLI: JSON Lines of {"type", "data", "id", "timestamp", "parentId"}.

    session.start, session.model_change     session id and model
    system.message, user.message            what was sent, as it was sent
    assistant.message                       one call: text, `toolRequests`, its output tokens
    assistant.usage                         its whole usage; only in the stream of `--output-format json`
    tool.execution_complete                 a tool result
    session.compaction_complete             a summary, the usage of the call that wrote it, and Copilot's own
                                            split of the context by class; `session.shutdown` has one too

The saved log has no input tokens for single calls: they are counted, and the totals of `session.shutdown` are
listed. System prompt and tool definitions are not in it, but the split says how large they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ctxheap.heap.model import Compaction, Exchange, Kind, Part, Usage
from ctxheap.heap.tags import result_parts, text_parts
from ctxheap.providers.json_fields import Fields, fields, objects, odd_counts, string, tokens
from ctxheap.providers.openai_blocks import call_part
from ctxheap_collector.transcripts.message_lists import stem_of
from ctxheap_collector.transcripts.source import Head, Source
from ctxheap_collector.transcripts.timestamps import epoch_ns
from ctxheap_collector.transcripts.wire import provider_of

FORMAT = "copilot"
GLOBAL_CALL_IDS = True

_FAMILIES = ("session.", "assistant.", "user.", "tool.", "system.", "subagent.")
_SPLIT = ("systemTokens", "toolDefinitionsTokens")
_TOTALS = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")


def looks_like(head: Head) -> bool:
    """Say whether one of the first records is an event of the CLI."""
    return any(map(_is_event, map(fields, head.records)))


def _is_event(event: Fields) -> bool:
    return string(event.get("type")).startswith(_FAMILIES) and isinstance(event.get("data"), dict)


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls of a session; sub-agents are sessions with it as parent."""
    # The sizes of what is in front of every prompt stand at the end.
    events = [(number, fields(record)) for number, record in source.records()]
    session = _Session(source, _opening(event for _, event in events))
    count = 0
    for number, event in events:
        for exchange in session.feed(number, event):
            count += 1
            yield exchange
    for exchange in session.finish():
        count += 1
        yield exchange
    if not count:
        source.skip(0, "no answer of a model, so no call")


def _opening(events: Iterator[Fields]) -> list[Part]:
    """Return what stands in front of every prompt, by the sizes that Copilot last reported."""
    split = dict.fromkeys(_SPLIT, 0)
    written = False
    for event in events:
        data = fields(event.get("data"))
        written = written or event.get("type") == "system.message"
        split.update({key: tokens(data.get(key)) for key in _SPLIT if tokens(data.get(key))})
    parts: list[Part] = []
    if size := split["toolDefinitionsTokens"]:
        where = "not in the log: tool definitions, sized by Copilot"
        parts.append(_sized("tool_definition:copilot", size, where))
    if (size := split["systemTokens"]) and not written:
        parts.append(_sized("system_prompt", size, "not in the log: system prompt, sized by Copilot"))
    return parts or [Part("system", "hidden", "system_prompt", where="not in the log: system prompt, tools")]


def _sized(tag: str, size: int, where: str) -> Part:
    kind: Kind = "tool_definition" if tag.startswith("tool_definition") else "text"
    return Part("system", kind, tag, tokens=size, where=where)


@dataclass(slots=True)
class _Agent:
    """Hold the context of the session or of one sub-agent, and its call that is still open.

    Attributes:
        places: Length of the context behind each event, so that a rewind can go back there.
        kept_from: Where the running compaction started: what comes later stays.
    """

    session: str
    parent: str | None
    name: str
    context: list[Part]
    call: Exchange | None = None
    places: dict[str, int] = field(default_factory=dict[str, int])
    kept_from: int = 0
    compaction: Compaction | None = None
    last_input: object = None
    is_incomplete: bool = False


class _Session:
    def __init__(self, source: Source, opening: list[Part]) -> None:
        self._source = source
        self._opening = opening
        self._model = ""
        self._tools: dict[str, str] = {}
        self._prompts: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._main = _Agent(stem_of(source), None, "", [*opening])
        self._agents: dict[str, _Agent] = {}

    def feed(self, number: int, event: Fields) -> Iterator[Exchange]:
        """Take in one event and yield the calls that it ends."""
        kind, data = string(event.get("type")), fields(event.get("data"))
        if not kind:
            self._source.skip(number, "no event: " + ("no type" if event else "no object"))
            return
        agent = self._agent(data)
        stamp, where = event.get("timestamp"), str(number)
        if kind in ("session.start", "session.resume"):
            self._main.session = string(data.get("sessionId")) or self._main.session
            self._model = string(data.get("selectedModel")) or self._model
        elif kind == "session.model_change":
            self._model = string(data.get("newModel")) or self._model
        elif kind in ("user.message", "system.message", "skill.invoked"):
            yield from self._close(agent)
            agent.context += self._told(kind, data, where)
            agent.last_input = stamp
        elif kind == "assistant.message":
            yield from self._close(agent)
            agent.call = self._call(agent, data, stamp, number, string(event.get("id")))
        elif kind == "assistant.usage":
            self._bill(agent, data, number)
        elif kind == "tool.execution_complete":
            yield from self._close(agent)
            agent.context += self._result(data, where)
            agent.last_input = stamp
        elif kind == "subagent.started":
            self._names[string(data.get("toolCallId"))] = string(data.get("agentName"))
        else:
            yield from self._session_event(kind, data, number)
        agent.places[string(event.get("id"))] = len(agent.context)

    def finish(self) -> Iterator[Exchange]:
        """Yield the calls that are still open."""
        for agent in (self._main, *self._agents.values()):
            yield from self._close(agent)

    def _agent(self, data: Fields) -> _Agent:
        called = string(data.get("parentToolCallId"))
        if not called:
            return self._main
        if called not in self._agents:
            asked = self._prompts.get(called, "")
            told = text_parts("user", asked, where=f"prompt of {called}") if asked else []
            session = f"{self._main.session}/{called}"
            name = self._names.get(called, "")
            # A sub-agent has a system prompt and tools of its own, of which nothing is said.
            hidden = Part("system", "hidden", "system_prompt", where="not in the log: the sub-agent's own")
            self._agents[called] = _Agent(session, self._main.session, name, [hidden, *told])
        return self._agents[called]

    def _told(self, kind: str, data: Fields, where: str) -> list[Part]:
        text = string(data.get("transformedContent")) or string(data.get("content"))
        if not text:
            return []
        if kind == "user.message":
            return text_parts("user", text, where=where)
        tag = "system_prompt" if kind == "system.message" else "harness:skill"
        return [Part("system" if kind == "system.message" else "user", "text", tag, text, where=where)]

    def _call(self, agent: _Agent, data: Fields, stamp: object, number: int, event_id: str) -> Exchange:
        where = str(number)
        output: list[Part] = []
        if reasoning := string(data.get("reasoningText")):
            output.append(Part("assistant", "reasoning", "agent_reasoning", reasoning, where=where))
        if text := string(data.get("content")):
            output += text_parts("assistant", text, where=where)
        for index, call in enumerate(objects(data.get("toolRequests"))):
            call_id, name = string(call.get("toolCallId")), string(call.get("name"))
            given = call.get("arguments")
            output.append(call_part(call_id, name, given, self._tools, where=f"{where}:{index}"))
            self._prompts[call_id] = string(fields(given).get("prompt"))
        model = string(data.get("model")) or self._model
        compaction, agent.compaction = agent.compaction, None
        return Exchange(
            call_id=string(data.get("messageId")) or event_id or f"{agent.session}:{number}",
            prompt=tuple(agent.context),
            output=tuple(output),
            session=agent.session,
            parent=agent.parent,
            agent=agent.name,
            model=model,
            provider=provider_of(model),
            started_ns=epoch_ns(agent.last_input or stamp),
            compaction=compaction,
            incomplete=agent.is_incomplete,
        )

    def _close(self, agent: _Agent) -> Iterator[Exchange]:
        call, agent.call = agent.call, None
        if call is not None:
            agent.context += call.output
            yield call

    def _bill(self, agent: _Agent, data: Fields, number: int) -> None:
        for problem in odd_counts({f"{key}_tokens": data.get(key) for key in _TOTALS}, "usage"):
            self._source.skip(number, problem)
        if agent.call is None or agent.call.usage is not None:
            self._source.skip(number, "usage of a call that is not in the log")
            return
        model = string(data.get("model")) or agent.call.model
        agent.call = replace(agent.call, usage=_usage(data), model=model, provider=provider_of(model))

    def _result(self, data: Fields, where: str) -> list[Part]:
        call_id = string(data.get("toolCallId"))
        text = string(fields(data.get("result")).get("content")) or string(data.get("output"))
        failed = data.get("success") is False
        text = text or string(fields(data.get("error")).get("message"))
        tool = self._tools.get(call_id) or string(data.get("toolName"))
        return result_parts(text, tool=tool, call_id=call_id, error=failed, where=where)

    def _session_event(self, kind: str, data: Fields, number: int) -> Iterator[Exchange]:
        agent = self._main
        if kind == "session.compaction_start":
            yield from self._close(agent)
            agent.kept_from = len(agent.context)
        elif kind == "session.compaction_complete":
            yield from self._close(agent)
            yield from self._compact(agent, data, number)
        elif kind == "session.snapshot_rewind":
            yield from self._close(agent)
            place = agent.places.get(string(data.get("upToEventId")))
            if place is not None:
                del agent.context[place:]
        elif kind == "session.truncation":
            gone = tokens(data.get("tokensRemovedDuringTruncation"))
            self._source.skip(number, f"{gone} tokens were truncated; which ones is not said")
            agent.is_incomplete = True
        elif kind == "session.shutdown":
            for model, metrics in fields(data.get("modelMetrics")).items():
                self._source.skip(number, _totals(model, fields(metrics)))

    def _compact(self, agent: _Agent, data: Fields, number: int) -> Iterator[Exchange]:
        if data.get("success") is False:
            return
        summary = string(data.get("summaryContent"))
        told = [Part("user", "text", "summary", summary, where=str(number))] if summary else []
        spent = fields(data.get("compactionTokensUsed"))
        if spent:
            model = string(spent.get("model")) or self._model
            yield Exchange(
                call_id=string(data.get("requestId")) or f"{agent.session}:{number}",
                prompt=tuple(agent.context[: agent.kept_from or None]),
                output=tuple(replace(part, role="assistant", identity=b"") for part in told),
                session=agent.session,
                model=model,
                provider=provider_of(model),
                usage=_usage(spent),
            )
        kept = agent.context[agent.kept_from :] if agent.kept_from else []
        agent.context = [*self._opening, *told, *kept]
        agent.kept_from = 0
        agent.compaction = Compaction(tokens(data.get("preCompactionTokens")) or None)


def _usage(raw: Fields) -> Usage:
    """Return the usage; input holds what the cache served and what was written to it."""
    whole = tokens(raw.get("inputTokens")) or tokens(raw.get("input"))
    read = min(whole, tokens(raw.get("cacheReadTokens")) or tokens(raw.get("cachedInput")))
    written = min(whole - read, tokens(raw.get("cacheWriteTokens")))
    output = tokens(raw.get("outputTokens")) or tokens(raw.get("output"))
    reasoning = min(output, tokens(raw.get("reasoningTokens")))
    return Usage(whole - read - written, read, written, output=output, reasoning=reasoning)


def _totals(model: str, metrics: Fields) -> str:
    usage = fields(metrics.get("usage"))
    counts = [tokens(usage.get(key)) for key in _TOTALS]
    requests = tokens(fields(metrics.get("requests")).get("count"))
    inputs = f"{counts[0]} input tokens ({counts[1]} read from the cache, {counts[2]} written)"
    return f"{model}: {requests} requests, {inputs}, {counts[3]} output in all; which calls' is not said"
