"""Read results of tau2-bench: {"info", "tasks", "simulations": [{"id", "messages"}]}.

A simulation interleaves two models: the agent, whose context this is, and a simulated person, whose own tool
calls and their results the agent never saw. Of what the agent was sent beyond the messages the file holds the
policy, and the tools at best; the rest is a hidden part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ctxheap.heap.model import Exchange, Part, Usage
from ctxheap.providers import anthropic, openai
from ctxheap.providers.json_fields import Fields, dollars, fields, items, objects, string
from ctxheap_collector.transcripts.message_lists import elements, replayed
from ctxheap_collector.transcripts.replay import About, Turn
from ctxheap_collector.transcripts.source import Head, Source
from ctxheap_collector.transcripts.timestamps import epoch_ns
from ctxheap_collector.transcripts.wire import provider_of

FORMAT = "tau2-bench"


def looks_like(head: Head) -> bool:
    """Say whether the source is a result file with simulations."""
    document = fields(head.document)
    simulations = objects(document.get("simulations"))
    return "info" in document and "tasks" in document and (not simulations or "messages" in simulations[0])


def read(source: Source) -> Iterator[Exchange]:
    """Yield the agent's calls of every simulation."""
    for _, document in elements(source):
        body = fields(document)
        info = fields(body.get("info"))
        simulations = objects(body.get("simulations"))
        if not simulations:
            source.skip(0, "no simulations")
        opening = _opening(info)
        for number, simulation in enumerate(simulations, 1):
            yield from _simulation(source, simulation, number, info, opening)


def _simulation(
    source: Source, simulation: Fields, number: int, info: Fields, opening: list[Part]
) -> Iterator[Exchange]:
    model = string(fields(info.get("agent_info")).get("llm"))
    session = string(simulation.get("id")) or f"{number}"
    about = About(
        session=session,
        model=model,
        provider=provider_of(model),
        agent="tau2-bench",
        opening=opening,
        incomplete=any(part.kind == "hidden" for part in opening),
    )
    yield from replayed(source, _turns(items(simulation.get("messages"))), about)


def _opening(info: Fields) -> list[Part]:
    environment = fields(info.get("environment_info"))
    given = environment.get("tool_defs")
    parts = openai.tool_definitions(_as_definitions(given))
    if not parts:
        parts.append(Part("system", "hidden", "system_prompt", where="info"))
    policy = string(environment.get("policy"))
    if policy:
        parts.append(Part("system", "text", "system_prompt", policy, where="info.environment_info.policy"))
    return parts


def _as_definitions(given: object) -> list[object]:
    by_name = fields(given)
    return [{"name": name, **fields(value)} for name, value in by_name.items()] or list(items(given))


def _turns(messages: object) -> Iterator[Turn]:
    tools: dict[str, str] = {}
    for index, value in enumerate(items(messages)):
        message = fields(value)
        if not _is_seen(message):
            continue
        parts = _parts(message, tools, str(index))
        is_call = message.get("role") == "assistant" and not _is_greeting(message, index)
        if message.get("role") == "assistant" and not is_call:
            parts = [replace(part, tag="harness:greeting") for part in parts]
        yield Turn(
            parts=parts,
            is_output=is_call,
            usage=_usage(message) if is_call else None,
            reported=_reported(message) if is_call else None,
            model=string(fields(message.get("raw_data")).get("model")) if is_call else "",
            started_ns=epoch_ns(message.get("timestamp")),
            recorded_usd=dollars(message.get("cost")) if is_call else None,
        )


def _is_seen(message: Fields) -> bool:
    """Say whether a message is in the agent's context: its own, its tools', and what the person said."""
    if message.get("role") == "user":
        return not message.get("tool_calls")
    return message.get("role") == "assistant" or message.get("requestor", "assistant") == "assistant"


def _is_greeting(message: Fields, index: int) -> bool:
    # The benchmark opens with a fixed line that no model wrote.
    return index == 0 and not message.get("tool_calls") and not message.get("usage")


def _parts(message: Fields, tools: dict[str, str], where: str) -> list[Part]:
    if message.get("role") != "tool":
        calls = objects(message.get("tool_calls"))
        return openai.message_parts({**message, "tool_calls": calls}, tools=tools, where=where)
    call_id = string(message.get("id"))
    parts = openai.message_parts({**message, "tool_call_id": call_id}, tools=tools, where=where)
    return [replace(part, error=True) for part in parts] if message.get("error") else parts


def _usage(message: Fields) -> Usage | None:
    given = _reported(message)
    if "input_tokens" in fields(fields(message.get("raw_data")).get("usage")):
        return anthropic.usage_of(given)
    return openai.usage_of(given) if openai.reports_usage(given) else None


def _reported(message: Fields) -> object:
    # The provider's own usage tells the cache classes apart; the summary beside it does not.
    own = fields(message.get("raw_data")).get("usage")
    return own if "input_tokens" in fields(own) or openai.reports_usage(own) else message.get("usage")
