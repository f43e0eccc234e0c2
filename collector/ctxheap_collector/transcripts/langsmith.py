"""Read exports of LangSmith: runs, one an object, one a line, in a list, or nested by `child_runs`.

Runs of type `llm` are calls. Inputs and outputs are LangChain's, serialised (see `spoken_shapes`). A run's
session is the thread in its metadata; without one calls are joined by what they repeat.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxheap.heap.model import Exchange, Part, Usage
from ctxheap.providers import openai
from ctxheap.providers.json_fields import Fields, fields, items, objects, string, tokens
from ctxheap_collector.transcripts.message_lists import elements, skip_odd_counts
from ctxheap_collector.transcripts.source import Head, Source
from ctxheap_collector.transcripts.spoken_shapes import message_parts
from ctxheap_collector.transcripts.timestamps import epoch_ns
from ctxheap_collector.transcripts.wire import provider_of

FORMAT = "langsmith"
GLOBAL_CALL_IDS = True

_THREADS = ("session_id", "thread_id", "conversation_id")


def looks_like(head: Head) -> bool:
    """Say whether the source opens with runs."""
    values = [head.document] if head.document is not None else head.records
    return any("run_type" in run and "inputs" in run for value in values for run in _runs(value))


def _runs(value: object) -> list[Fields]:
    body = fields(value)
    return objects(value) or objects(body.get("runs")) or ([body] if body else [])


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls in the order in which they started."""
    found: list[Fields] = []
    for line, value in elements(source):
        runs = _runs(value)
        if not any("run_type" in run for run in runs):
            source.skip(line, "no run")
        found += [run for outer in runs for run in _with_children(outer)]
    calls = [run for run in found if run.get("run_type") == "llm"]
    tools: dict[str, str] = {}
    known: dict[bytes, Part] = {}
    for run in sorted(calls, key=lambda run: string(run.get("start_time"))):
        exchange = _call(source, run, tools, known)
        if exchange is not None:
            yield exchange
    if not calls:
        source.skip(0, "no run of a model, so no call")


def _with_children(run: Fields) -> Iterator[Fields]:
    yield run
    for child in objects(run.get("child_runs")):
        yield from _with_children(child)


def _call(source: Source, run: Fields, tools: dict[str, str], known: dict[bytes, Part]) -> Exchange | None:
    named = string(run.get("id"))
    outputs = fields(run.get("outputs"))
    if run.get("error") or not outputs:
        source.skip(0, f"{named}: {string(run.get('error'))[:80] or 'no output'}")
        return None
    extra = fields(run.get("extra"))
    asked = fields(extra.get("invocation_params"))
    metadata = fields(extra.get("metadata"))
    prompt = openai.tool_definitions(asked.get("tools") or asked.get("functions"))
    for index, message in enumerate(_messages(fields(run.get("inputs")))):
        prompt += message_parts(message, tools=tools, where=f"{named}:{index}")
    prompt = [known.setdefault(part.identity, part) for part in prompt]
    answers = _answers(outputs)
    output = [part for item in answers for part in message_parts(item, tools=tools, where=f"{named}:output")]
    usage = _usage(source, run, outputs, answers)
    if usage is not None:
        output = openai.with_reasoning_tokens(output, usage.reasoning)
    known.update((part.identity, part) for part in output)
    model = (
        string(metadata.get("ls_model_name")) or string(asked.get("model")) or string(asked.get("model_name"))
    )
    return Exchange(
        call_id=named,
        prompt=tuple(prompt),
        output=tuple(output),
        session=next((thread for key in _THREADS if (thread := string(metadata.get(key)))), ""),
        model=model,
        provider=provider_of(model) or string(metadata.get("ls_provider")),
        started_ns=epoch_ns(run.get("start_time")),
        usage=usage,
    )


def _messages(inputs: Fields) -> list[object]:
    listed = items(inputs.get("messages"))
    # LangChain sends batches: the messages are the first of a list of lists.
    listed = items(next(iter(listed), None)) or listed
    prompts = items(inputs.get("prompts"))
    return [*listed] or [text for text in prompts if isinstance(text, str)]


def _answers(outputs: Fields) -> list[object]:
    generations = items(outputs.get("generations"))
    first = objects(next(iter(generations), None)) or objects(outputs.get("generations"))
    if first:
        return [
            item.get("message") or {"role": "assistant", "content": item.get("text")} for item in first[:1]
        ]
    if choices := objects(outputs.get("choices")):
        return [choice.get("message") for choice in choices]
    return [*objects(outputs.get("messages"))] or ([outputs] if "content" in outputs else [])


def _usage(source: Source, run: Fields, outputs: Fields, answers: list[object]) -> Usage | None:
    """Return the usage that stands with the answer, else the run's own two counts."""
    inner = [fields(fields(answer).get("kwargs")) or fields(answer) for answer in answers]
    given = [fields(body.get("usage_metadata")) for body in inner]
    told = fields(fields(outputs.get("llm_output")).get("token_usage"))
    for raw in (*given, fields(outputs.get("usage_metadata")), told, fields(outputs.get("usage"))):
        if raw:
            skip_odd_counts(source, 0, raw, f"{string(run.get('id'))}: usage")
            return _of_metadata(raw) if "input_token_details" in raw else openai.usage_of(raw)
    return openai.usage_of(run) if tokens(run.get("prompt_tokens")) else None


def _of_metadata(raw: Fields) -> Usage:
    """Return LangChain's own form: input holds the cache's tokens, output the reasoning."""
    details, left = fields(raw.get("input_token_details")), fields(raw.get("output_token_details"))
    entered, output = tokens(raw.get("input_tokens")), tokens(raw.get("output_tokens"))
    read = min(entered, tokens(details.get("cache_read")))
    written = min(entered - read, tokens(details.get("cache_creation")))
    reasoning = min(output, tokens(left.get("reasoning")))
    return Usage(entered - read - written, read, written, output=output, reasoning=reasoning)
