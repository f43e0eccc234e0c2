"""Read OpenHands' `llm_completions`: one file a call {"messages", "response", "kwargs", "timestamp", "cost"}.

The files of one folder are the calls of one task. A call whose file is missing still shows: its answer stands
in later prompts. Such calls are implied, up to every earlier one when a single file is given. Models without
function calling get the tools' descriptions in the system prompt, write <function=…> into their text, and are
answered by the user.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ctxheap.heap.model import Exchange, Part
from ctxheap.heap.tags import result_parts, text_parts
from ctxheap.providers import openai
from ctxheap.providers.json_fields import Fields, dollars, fields, items, objects, string
from ctxheap_collector.transcripts.conversation import Conversation
from ctxheap_collector.transcripts.message_lists import skip_odd_counts, stem_of
from ctxheap_collector.transcripts.source import Head, Source
from ctxheap_collector.transcripts.text_calls import function_calls, spoken_parts
from ctxheap_collector.transcripts.timestamps import epoch_ns
from ctxheap_collector.transcripts.wire import OPENAI, Wire, provider_of

FORMAT = "openhands"
GROUPED_BY_FOLDER = True

_FOLDER = "llm_completions"
_TIME = re.compile(r"-(\d{9,11}(?:\.\d+)?)\.json")
_RESULT = re.compile(r"EXECUTION RESULT of \[([\w.-]+)\]:\n")
_EXAMPLE = re.compile(
    r"Here's a running example of how to perform a task.*?END OF EXAMPLE[ -]*\n?", re.DOTALL
)
# What OpenHands adds from its knowledge files when a word of the task matches.
_KNOWLEDGE = re.compile(r"\s*<extra_info>", re.IGNORECASE)
_FUNCTION = re.compile(
    r"---- BEGIN FUNCTION #\d+: ([\w.-]+) ----\n.*?---- END FUNCTION #\d+ ----\n?", re.DOTALL
)


def looks_like(head: Head) -> bool:
    """Say whether the source is one completion as OpenHands logs it."""
    document = fields(head.document)
    return bool(items(document.get("messages"))) and {"response", "kwargs", "timestamp"} <= document.keys()


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls of a task in time order, implied ones before the call that shows them."""
    task = _Task(source, _session(source))
    for path, value in _in_time(source):
        document = fields(value)
        if not looks_like(Head(document=document)):
            source.skip(0, f"{path.name}: no completion")
            continue
        yield from task.calls(document, path)


def _session(source: Source) -> str:
    first = source.files[0]
    return first.parent.name if first.parent.parent.name == _FOLDER else stem_of(source)


def _in_time(source: Source) -> Iterator[tuple[Path, object]]:
    times = [_time_in_name(path) for path in source.files]
    if times == sorted(times):
        yield from source.documents()
        return
    # Names of different models sort by model: only then all documents have to be held at once.
    yield from sorted(source.documents(), key=_time_of)


def _time_in_name(path: Path) -> float:
    found = _TIME.search(path.name)
    return float(found[1]) if found else 0.0


def _time_of(document: tuple[Path, object]) -> float:
    stamp = fields(document[1]).get("timestamp")
    return float(stamp) if isinstance(stamp, int | float) else _time_in_name(document[0])


@dataclass(slots=True)
class _Agent:
    """Hold one agent of a task: main or delegate, told apart by their first message."""

    session: str
    parent: str | None
    conversation: Conversation
    opening: list[Part] = field(default_factory=list[Part])
    answers: set[bytes] = field(default_factory=set[bytes])
    implied: int = 0
    returned_at: int = 0
    """Index at which the next prompt is to hold the last answer."""


class _Task:
    """Make the calls of one task's files, file by file."""

    def __init__(self, source: Source, session: str) -> None:
        self._source = source
        self._session = session
        self._agents: dict[bytes, _Agent] = {}

    def calls(self, document: Fields, path: Path) -> Iterator[Exchange]:
        """Yield the implied calls that this file is the first to show, then its own."""
        messages = items(document.get("messages"))
        response = fields(document.get("response"))
        model = string(response.get("model"))
        made, agent = self._made(messages)
        agent.opening = _opening(document, agent.opening)
        for prompt, output in _unseen(messages, made, agent):
            agent.implied += 1
            yield self._exchange(agent, f"{agent.session}/implied/{agent.implied}", prompt, output, model)
        choices = objects(response.get("choices"))
        usage = response.get("usage")
        if not choices and not openai.reports_usage(usage):
            self._source.skip(0, f"{path.name}: no response")
            return
        skip_odd_counts(self._source, 0, usage, f"{path.name}: usage")
        prompt = [part for parts in made for part in parts]
        output = [
            part
            for choice in choices
            for part in agent.conversation.answer(fields(choice.get("message")), where="response")
        ]
        agent.conversation.remember(output)
        agent.answers.update(part.identity for part in output)
        yield Exchange(
            call_id=string(response.get("id")) or path.stem,
            prompt=(*agent.opening, *prompt),
            output=tuple(output),
            session=agent.session,
            parent=agent.parent,
            agent="openhands",
            model=model,
            provider=provider_of(model),
            started_ns=epoch_ns(document.get("timestamp")),
            usage=openai.usage_of(usage) if openai.reports_usage(usage) else None,
            recorded_usd=dollars(document.get("cost")),
        )

    def _made(self, messages: Sequence[object]) -> tuple[list[list[Part]], _Agent]:
        first = _message_parts(messages[0], tools={}, where="0") if messages else []
        key = b"".join(part.identity for part in first)
        agent = self._agents.get(key)
        if agent is None:
            number = len(self._agents) + 1
            session = f"{self._session}#{number}" if self._agents else self._session
            parent = self._session if self._agents else None
            agent = self._agents[key] = _Agent(session, parent, Conversation(_WIRE))
        return agent.conversation.parts_by_message(messages), agent

    def _exchange(
        self, agent: _Agent, call_id: str, prompt: list[Part], output: list[Part], model: str
    ) -> Exchange:
        return Exchange(
            call_id=call_id,
            prompt=(*agent.opening, *prompt),
            output=tuple(output),
            session=agent.session,
            parent=agent.parent,
            agent="openhands",
            model=model,
            provider=provider_of(model),
            implied=True,
        )


def _opening(document: Fields, before: list[Part]) -> list[Part]:
    known = {part.identity: part for part in before}
    made = openai.tool_definitions(fields(document.get("kwargs")).get("tools"))
    return [known.get(part.identity, part) for part in made]


def _unseen(
    messages: Sequence[object], made: list[list[Part]], agent: _Agent
) -> Iterator[tuple[list[Part], list[Part]]]:
    """Yield prompt and output of each run of assistant turns in a prompt that no call has returned yet."""
    prompt: list[Part] = []
    output: list[Part] = []
    for index, (message, parts) in enumerate(zip(messages, made, strict=True)):
        is_answer = prompt and fields(message).get("role") == "assistant" and index != agent.returned_at
        if is_answer and _is_new(parts, agent.answers):
            output += parts
            agent.answers.update(part.identity for part in parts)
            continue
        if output:
            yield list(prompt), output
        prompt += output
        prompt += parts
        output = []
    if output:
        yield prompt, output
    agent.returned_at = len(messages)


def _is_new(parts: list[Part], answers: set[bytes]) -> bool:
    # Calls have ids; a text may say the same twice, so it only tells where there is no call.
    telling = [part for part in parts if part.kind == "tool_call"] or parts
    return bool(telling) and all(part.identity not in answers for part in telling)


def _message_parts(message: object, *, tools: dict[str, str], where: str) -> list[Part]:
    body = fields(message)
    parts = openai.message_parts(body, tools=tools, where=where)
    if body.get("role") == "assistant":
        return [cut for part in parts for cut in _spoken(part, tools)]
    if body.get("role") == "user":
        return [cut for part in parts for cut in _answered(part, tools)]
    return [cut for part in parts for cut in _described(part)]


_WIRE = Wire(OPENAI.provider, _message_parts, OPENAI.tool_definitions, OPENAI.usage_of)


def _spoken(part: Part, tools: dict[str, str]) -> list[Part]:
    calls = function_calls(part.text) if part.kind == "text" and "<function=" in part.text else []
    if not calls:
        return [part]
    # Made of content, so that an answer has the same id where it is returned and where it is sent back.
    ids = [
        f"{call.tool}@{hashlib.sha256(part.text[call.start : call.end].encode()).hexdigest()[:12]}"
        for call in calls
    ]
    for call_id, call in zip(ids, calls, strict=True):
        tools.pop(call_id, None)
        tools[call_id] = call.tool
    return spoken_parts(part.text, calls, ids=ids, where=part.where)


def _answered(part: Part, tools: dict[str, str]) -> list[Part]:
    if part.kind != "text":
        return [part]
    if _KNOWLEDGE.match(part.text):
        return [replace(part, tag="memory:microagent")]
    result = _RESULT.match(part.text)
    if result:
        tool = result[1]
        call_id = next((key for key in reversed(tools) if key.startswith(f"{tool}@")), "")
        return result_parts(part.text, tool=tool, call_id=call_id, role="user", where=part.where)
    example = _EXAMPLE.search(part.text)
    if not example:
        return [part]
    rest = part.text[: example.start()], part.text[example.end() :]
    cut = Part("user", "text", "example", example[0], where=part.where)
    return [*_texts(rest[0], part), cut, *_texts(rest[1], part)]


def _described(part: Part) -> list[Part]:
    """Return a system prompt cut into the descriptions of tools and the rest."""
    if part.kind != "text" or part.role != "system" or "---- BEGIN FUNCTION #" not in part.text:
        return [part]
    cut: list[Part] = []
    at = 0
    for found in _FUNCTION.finditer(part.text):
        cut += _texts(part.text[at : found.start()], part)
        name = found[1]
        cut.append(
            Part("system", "tool_definition", f"tool_definition:{name}", found[0], name, where=part.where)
        )
        at = found.end()
    return [*cut, *_texts(part.text[at:], part)]


def _texts(text: str, part: Part) -> list[Part]:
    return text_parts(part.role, text, where=part.where) if text.strip() else []
