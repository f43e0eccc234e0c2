"""Read trajectories of SWE-agent (`.traj`): {"trajectory": [steps], "history": [messages], "info"}.

Steps of newer versions hold the very prompt that was sent (`query`), with old observations elided where a
history processor did so. Without it the history is replayed whole; on the only file of the corpus that
tells how many tokens it sent, 122,612, that comes to 122,576. Text-only versions put commands into fenced
blocks and observations into user turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import orjson

from ctxheap.heap.model import Exchange, Part
from ctxheap.heap.tags import result_parts
from ctxheap.providers import openai
from ctxheap.providers.json_fields import Fields, fields, items, objects, string
from ctxheap_collector.transcripts.message_lists import elements, stem_of
from ctxheap_collector.transcripts.replay import About, Turn, replay
from ctxheap_collector.transcripts.source import Head, Source
from ctxheap_collector.transcripts.text_calls import Spoken, command_call, spoken_parts
from ctxheap_collector.transcripts.wire import provider_of

FORMAT = "swe-agent"

_DEMONSTRATION = "Here is a demonstration"


def looks_like(head: Head) -> bool:
    """Say whether the source holds a history of an agent's messages, alone or beside its steps."""
    document = fields(head.document)
    history = objects(document.get("history"))
    if "trajectory" in document and "history" in document:
        return True
    return bool(history) and "agent" in history[0] and "role" in history[0]


def read(source: Source) -> Iterator[Exchange]:
    """Yield one call for each answer of the model."""
    for _, document in elements(source):
        body = fields(document)
        steps = objects(body.get("trajectory"))
        history = objects(body.get("history"))
        model = _model(body)
        about = About(stem_of(source), model, provider_of(model), "swe-agent")
        if any(items(step.get("query")) for step in steps):
            exchanges = _queried(steps, about)
        else:
            exchanges = replay(_turns(history), about)
        count = 0
        for exchange in exchanges:
            count += 1
            yield exchange
        if not count:
            source.skip(0, "no assistant's turn, so no call")


def _model(body: Fields) -> str:
    """Return the model that the run was configured with, as newer versions note for replays."""
    config = body.get("replay_config")
    try:
        parsed = fields(orjson.loads(config) if isinstance(config, str) else config)
    except ValueError:
        return ""
    return string(fields(fields(parsed.get("agent")).get("model")).get("name"))


def is_example(message: Fields) -> bool:
    """Say whether a message demonstrates the task rather than being part of it."""
    return bool(message.get("is_demo")) or (
        message.get("role") == "user" and _text(message).startswith(_DEMONSTRATION)
    )


def _text(message: Fields) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(string(block.get("text")) for block in objects(content))


def _parts(message: Fields, before: Fields, index: int, tools: dict[str, str]) -> list[Part]:
    """Return the parts of a message; `before` is the one it may answer, at `index` − 1."""
    where = str(index)
    if is_example(message):
        made = openai.message_parts(message, tools=tools, where=where)
        return [replace(part, kind="text", tag="example") for part in made]
    if spoken := _spoken(message):
        return spoken_parts(_text(message), [spoken], ids=[_call_id(spoken, index)], where=where)
    asked = _spoken(before) if message.get("role") == "user" else None
    if asked is None:
        return openai.message_parts(message, tools=tools, where=where)
    call_id = _call_id(asked, index - 1)
    return result_parts(_text(message), tool=asked.tool, call_id=call_id, role="user", where=where)


def _spoken(message: Fields) -> Spoken | None:
    """Return the command in an assistant's text, None where the model called a function instead."""
    if message.get("role") != "assistant" or is_example(message) or items(message.get("tool_calls")):
        return None
    return command_call(_text(message), string(message.get("action")))


def _call_id(spoken: Spoken, index: int) -> str:
    return f"{spoken.tool}:{index}"


def _turns(history: Sequence[Fields]) -> Iterator[Turn]:
    tools: dict[str, str] = {}
    before: Fields = {}
    for index, message in enumerate(history):
        is_output = message.get("role") == "assistant" and not is_example(message)
        yield Turn(_parts(message, before, index, tools), is_output=is_output)
        before = message


def _queried(steps: Sequence[Fields], about: About) -> Iterator[Exchange]:
    tools: dict[str, str] = {}
    query: Sequence[Fields] = ()
    made: list[list[Part]] = []
    for number, step in enumerate(steps, 1):
        sent = objects(step.get("query"))
        if not sent:
            continue
        query, made = sent, _made(sent, query, made, tools)
        yield Exchange(
            call_id=f"{about.session}/{number}",
            prompt=tuple(part for parts in made for part in parts),
            output=tuple(_parts(_answer(step), {}, len(sent), tools)),
            session=about.session,
            agent=about.agent,
            model=about.model,
            provider=about.provider,
        )


def _answer(step: Fields) -> Fields:
    kept = {key: step[key] for key in ("action", "tool_calls") if key in step}
    return {"role": "assistant", "content": step.get("response"), **kept}


def _made(
    query: Sequence[Fields], before: Sequence[Fields], made: list[list[Part]], tools: dict[str, str]
) -> list[list[Part]]:
    """Return the parts of each message of a prompt, those of messages that stayed as they were."""
    result: list[list[Part]] = []
    stays = True
    for index, message in enumerate(query):
        stayed = index < len(before) and before[index] == message
        # A result is named after the command before it, so both have to be the same.
        if stayed and stays:
            result.append(made[index])
        else:
            result.append(_parts(message, query[index - 1] if index else {}, index, tools))
        stays = stayed
    return result
