"""Read OpenHands' event streams: a list of actions and observations, or `output.jsonl` with such a `history`.

    action (source agent)   what the model returned; its `tool_call_metadata` holds the response and the usage
    observation             what came back: a tool result
    message (source user)   what the person wrote

Events are what the agent did, not what was sent: the prompts are rebuilt from them, without the wrapping that
OpenHands adds, and without a system prompt where no event holds one. They are marked as incomplete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ctxheap.heap.model import Exchange, Part
from ctxheap.heap.tags import result_parts
from ctxheap.providers import openai
from ctxheap.providers.json_fields import EMPTY, Fields, fields, json_text, objects, string
from ctxheap_collector.transcripts.message_lists import elements, replayed, stem_of
from ctxheap_collector.transcripts.replay import About, Turn
from ctxheap_collector.transcripts.source import Head, Source
from ctxheap_collector.transcripts.timestamps import epoch_ns
from ctxheap_collector.transcripts.wire import provider_of

FORMAT = "openhands-events"

_SILENT_ACTIONS = frozenset({"recall", "change_agent_state", "null", "system", "condensation"})
_SILENT_OBSERVATIONS = frozenset({"agent_state_changed", "null", "condense"})
# What old events mix with a call's own arguments.
_NOT_ARGUMENTS = frozenset(
    {
        "action",
        "blocking",
        "cause",
        "confirmation_state",
        "hidden",
        "id",
        "is_confirmed",
        "is_input",
        "is_static",
        "keep_prompt",
        "kernel_init_code",
        "action_risk",
        "message",
        "security_risk",
        "source",
        "thought",
        "timeout",
        "timestamp",
    }
)


def looks_like(head: Head) -> bool:
    """Say whether the source is a stream of events, or opens with a result that holds one."""
    value = head.document if head.document is not None else next(iter(head.records), None)
    return bool(_events(value))


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls of each stream; those without a recorded response are implied."""
    stem = stem_of(source)
    for line, value in elements(source):
        events = _events(value)
        place = f"{stem}#{line}" if line else stem
        if not events:
            source.skip(line, "no history of events")
            continue
        session = string(fields(value).get("instance_id")) or place
        stream = _Stream()
        turns = list(stream.turns(events))
        metadata = fields(fields(fields(value).get("metadata")).get("llm_config"))
        recorded = next((turn.model for turn in turns if turn.model), "")
        model = recorded or string(metadata.get("model"))
        about = About(session, model, provider_of(model), "openhands", stream.opening, incomplete=True)
        yield from replayed(source, turns, about)


def _events(value: object) -> Sequence[Fields]:
    events = objects(fields(value).get("history")) or objects(value)
    return events if any("action" in event or "observation" in event for event in events[:5]) else ()


class _Stream:
    """Turn events into turns, one for each response of the model however many actions came of it."""

    def __init__(self) -> None:
        self.opening: list[Part] = []
        self._tools: dict[str, str] = {}
        self._responses: set[str] = set()
        self._asked = ""

    def turns(self, events: Sequence[Fields]) -> Iterator[Turn]:
        """Yield the turns of a stream in order."""
        for index, event in enumerate(events):
            kind = string(event.get("action")) or string(event.get("observation"))
            where = str(event.get("id", index))
            if "action" in event:
                yield from self._action(event, kind, where, index)
            elif "observation" in event:
                yield Turn(self._observation(event, kind, where))

    def _action(self, event: Fields, kind: str, where: str, index: int) -> Iterator[Turn]:
        arguments = fields(event.get("args")) or event
        if kind == "system":
            self.opening += openai.tool_definitions(arguments.get("tools"))
            yield Turn(self._message("system", arguments, where))
        elif kind in _SILENT_ACTIONS:
            return
        elif kind == "message" and event.get("source", "user" if index == 0 else "agent") == "user":
            yield Turn(self._message("user", arguments, where))
        elif response := fields(fields(event.get("tool_call_metadata")).get("model_response")):
            yield from self._response(response, event, where)
        else:
            yield self._unrecorded(arguments, kind, event, where)

    def _message(self, role: str, arguments: Fields, where: str) -> list[Part]:
        return openai.message_parts(
            {"role": role, "content": arguments.get("content")}, tools=self._tools, where=where
        )

    def _response(self, response: Fields, event: Fields, where: str) -> Iterator[Turn]:
        response_id = string(response.get("id"))
        if response_id in self._responses:
            return
        self._responses.add(response_id)
        message = next((fields(choice.get("message")) for choice in objects(response.get("choices"))), EMPTY)
        usage = response.get("usage")
        yield Turn(
            parts=openai.message_parts({"role": "assistant", **message}, tools=self._tools, where=where),
            is_output=True,
            usage=openai.usage_of(usage) if openai.reports_usage(usage) else None,
            reported=usage,
            call_id=response_id,
            model=string(response.get("model")),
            started_ns=epoch_ns(response.get("created")) or epoch_ns(event.get("timestamp")),
        )

    def _unrecorded(self, arguments: Fields, kind: str, event: Fields, where: str) -> Turn:
        text = string(arguments.get("content")) if kind == "message" else string(arguments.get("thought"))
        parts = openai.message_parts({"role": "assistant", "content": text}, tools=self._tools, where=where)
        if kind != "message":
            given = {key: value for key, value in arguments.items() if key not in _NOT_ARGUMENTS}
            self._asked = f"{kind}:{where}"
            parts.append(
                Part(
                    "assistant",
                    "tool_call",
                    f"tool_call:{kind}",
                    json_text(given),
                    kind,
                    self._asked,
                    where=where,
                )
            )
        return Turn(parts, is_output=True, started_ns=epoch_ns(event.get("timestamp")))

    def _observation(self, event: Fields, kind: str, where: str) -> list[Part]:
        extras = fields(event.get("extras"))
        if kind in _SILENT_OBSERVATIONS:
            return []
        if kind == "recall":
            return _recalled(extras, where)
        metadata = fields(event.get("tool_call_metadata"))
        call_id = string(metadata.get("tool_call_id"))
        tool = string(metadata.get("function_name"))
        if not call_id and self._asked:
            call_id, self._asked = self._asked, ""
            tool = call_id.partition(":")[0]
        parts = result_parts(string(event.get("content")), tool=tool or kind, call_id=call_id, where=where)
        failed = kind == "error" or fields(extras.get("metadata")).get("exit_code", 0) not in (0, -1, None)
        return [replace(part, error=True) for part in parts] if failed else parts


def _recalled(extras: Fields, where: str) -> list[Part]:
    parts: list[Part] = []
    for item in objects(extras.get("microagent_knowledge")):
        content = string(item.get("content"))
        tag = f"memory:{string(item.get('name')) or 'microagent'}"
        if content:
            parts.append(Part("user", "text", tag, content, where=where))
    instructions = string(extras.get("repo_instructions"))
    if instructions:
        parts.append(Part("user", "text", "memory:repo", instructions, where=where))
    return parts
