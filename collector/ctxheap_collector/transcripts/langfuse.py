"""Read exports of Langfuse: {"trace", "observations"}, a trace with its observations, or observations alone.

Generations are calls. Where two tracers recorded one call, one inside the other, the outer one is taken if it
holds what was sent to the model (its messages), else the inner one. Inputs and outputs are whatever the
framework handed to its tracer: see `spoken_shapes`. A trace's session is that of its calls; without one they
are joined by what they repeat.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctxheap.heap.model import Exchange, Part, Usage
from ctxheap.providers import gemini, openai
from ctxheap.providers.formats import FORMATS
from ctxheap.providers.json_fields import Fields, fields, items, objects, string, tokens
from ctxheap_collector.transcripts.message_lists import elements, skip_odd_counts
from ctxheap_collector.transcripts.source import Head, Source, counted
from ctxheap_collector.transcripts.spoken_shapes import decoded, message_parts, spoken
from ctxheap_collector.transcripts.timestamps import epoch_ns
from ctxheap_collector.transcripts.wire import provider_of

FORMAT = "langfuse"
GLOBAL_CALL_IDS = True

_READ = ("cache_read", "cached_tokens", "cache_read_input_tokens")
_WRITTEN = ("cache_creation", "cache_write", "cache_creation_input_tokens")


def looks_like(head: Head) -> bool:
    """Say whether the source opens with a trace that holds observations, or with observations."""
    values = [head.document] if head.document is not None else head.records
    return any(map(_observations, values))


def _observations(value: object) -> list[Fields]:
    body = fields(value)
    found = objects(value) or objects(body.get("observations")) or objects(body.get("data"))
    found = found or [body]
    return found if all("traceId" in item and "type" in item for item in found[:5]) else []


def read(source: Source) -> Iterator[Exchange]:
    """Yield the generations in the order in which they started."""
    observations: list[Fields] = []
    sessions: dict[str, str] = {}
    for line, value in elements(source):
        found = _observations(value)
        if not found:
            source.skip(line, "no observations")
        observations += found
        trace = fields(fields(value).get("trace")) or fields(value)
        sessions[string(trace.get("id"))] = string(trace.get("sessionId"))
    count = 0
    for exchange in _calls(source, observations, sessions):
        count += 1
        yield exchange
    if not count:
        source.skip(0, "no generation with input or usage, so no call")


def _calls(source: Source, observations: list[Fields], sessions: dict[str, str]) -> Iterator[Exchange]:
    generations = [item for item in observations if item.get("type") == "GENERATION"]
    repeated = _repeated(generations)
    tools: dict[str, str] = {}
    known: dict[bytes, Part] = {}
    silent = 0
    for item in sorted(generations, key=lambda item: string(item.get("startTime"))):
        if string(item.get("id")) in repeated:
            continue
        prompt = [known.setdefault(part.identity, part) for part in _prompt(item, tools)]
        output = _output(item, tools)
        usage = _usage(item)
        if not output and usage is None:
            silent += 1
            continue
        skip_odd_counts(source, 0, _named(_details(item)), f"{string(item.get('id'))}: usageDetails")
        if usage is not None:
            output = openai.with_reasoning_tokens(output, usage.reasoning)
        known.update((part.identity, part) for part in output)
        session = sessions.get(string(item.get("traceId")), "") or string(item.get("sessionId"))
        yield _exchange(item, prompt, output, usage, session)
    if repeated:
        source.skip(0, f"{counted(len(repeated), 'generation was', 'generations were')} traced twice")
    if silent:
        source.skip(0, f"{counted(silent, 'generation holds', 'generations hold')} neither output nor usage")


def _exchange(
    item: Fields, prompt: Sequence[Part], output: Sequence[Part], usage: Usage | None, session: str
) -> Exchange:
    model = string(item.get("model")).rpartition("/models/")[2]
    return Exchange(
        call_id=string(item.get("id")),
        prompt=tuple(prompt),
        output=tuple(output),
        session=session,
        model=model,
        provider=provider_of(model),
        started_ns=epoch_ns(item.get("startTime")),
        usage=usage,
    )


def _repeated(generations: list[Fields]) -> set[str]:
    """Return the ids of generations that are another one of the list, recorded by a second tracer."""
    by_id = {string(item.get("id")): item for item in generations}
    repeated: set[str] = set()
    for item in generations:
        outer = by_id.get(string(item.get("parentObservationId")))
        if outer is not None:
            is_whole = bool(_listed(decoded(outer.get("input"))))
            repeated.add(string((item if is_whole else outer).get("id")))
    return repeated


def _listed(value: object) -> Sequence[object]:
    """Return the list of messages in an input, none where it holds none."""
    body = fields(value)
    for key in ("messages", "contents", "input"):
        if listed := items(body.get(key)):
            return listed
    return items(value)


def _prompt(item: Fields, tools: dict[str, str]) -> list[Part]:
    given = decoded(item.get("input"))
    body = fields(given)
    parts = _opening(item, body)
    for index, message in enumerate(_messages(given)):
        parts += message_parts(message, tools=tools, where=f"{string(item.get('id'))}:{index}")
    # Definitions that stood among the messages are sent in front of them.
    return sorted(parts, key=lambda part: part.kind != "tool_definition")


def _opening(item: Fields, body: Fields) -> list[Part]:
    config = {**body, **fields(body.get("config"))}
    if "contents" in body:
        return gemini.opening(config)
    listed = items(body.get("tools")) or list(fields(item.get("toolDefinitions")).values())
    parts = openai.tool_definitions([decoded(tool) for tool in listed])
    instructions = body.get("system") or fields(decoded(item.get("output"))).get("instructions")
    if isinstance(instructions, str):
        system = {"role": "system", "content": instructions}
        parts += openai.message_parts(system, tools={}, where="instructions")
    return parts


def _messages(given: object) -> Sequence[object]:
    if listed := _listed(given):
        return listed
    if isinstance(given, str):
        return spoken(given) if given else ()
    body = fields(given)
    for key in ("contents", "prompt", "input", "query", "question"):
        if text := string(body.get(key)):
            return spoken(text)
    arguments = [argument for argument in items(body.get("args")) if isinstance(argument, str)]
    return [{"role": "user", "content": text} for text in arguments] or ([body] if body else ())


def _output(item: Fields, tools: dict[str, str]) -> list[Part]:
    given = decoded(item.get("output"))
    where = f"{string(item.get('id'))}:output"
    parts: list[Part] = []
    for message in _answers(given):
        parts += message_parts(message, tools=tools, where=where)
    return [part for part in parts if part.role == "assistant"]


def _answers(given: object) -> list[object]:
    body = fields(given)
    text = string(given) or string(body.get("text")) or string(body.get("completion"))
    if text:
        return [{"role": "assistant", "content": text}]
    for name in ("openai", "responses", "gemini"):
        if found := [*FORMATS[name].answers(body)]:
            return found
    if content := fields(body.get("content")):
        return [{**content, "role": "model"}]
    if listed := objects(given):
        if any("toolCallId" in call for call in listed):
            return [{"role": "assistant", "content": [{**call, "type": "tool-call"} for call in listed]}]
        return [*listed]
    return [{"role": "assistant", **body}] if body else []


def _details(item: Fields) -> Fields:
    return fields(item.get("usageDetails")) or fields(item.get("usage"))


def _named(details: Fields) -> Fields:
    """Return counts under names that say that they are counts of tokens."""
    return {f"{key}_tokens": value for key, value in details.items() if key != "unit"}


def _usage(item: Fields) -> Usage | None:
    """Return the usage: details are beside input and output, unless these alone add up to the total."""
    details = _details(item)
    given = {key: tokens(value) for key, value in details.items() if key != "unit"}
    if not any(given.values()):
        return None
    entered = given.get("input") or given.get("promptTokens", 0)
    left = given.get("output") or given.get("completionTokens", 0)
    total = given.get("total") or given.get("totalTokens", 0)
    read, written = _sum(given, _READ), _sum(given, _WRITTEN)
    reasoning = _sum(given, ("reasoning", "reasoning_tokens"))
    if total == entered + left:
        read = min(read, entered)
        written = min(written, entered - read)
        return Usage(entered - read - written, read, written, output=left, reasoning=min(left, reasoning))
    if not (read or written or reasoning) and total > entered + left:
        # Gemini counts thoughts in the total only.
        return Usage(entered, output=total - entered, reasoning=total - entered - left)
    return Usage(entered, read, written, output=left + reasoning, reasoning=reasoning)


def _sum(given: dict[str, int], endings: Sequence[str]) -> int:
    return sum(count for key, count in given.items() if key.endswith(tuple(endings)) and key != "output")
