"""Read logs of Inspect (JSON): {"eval", "samples": [{"id", "epoch", "events": [{"event": "model", …}]}]}.

A model event is a call: its whole input, its tools, its output and usage. Samples are sessions, spans of
other agents within one too. Logs without events hold the final messages only: their calls are implied.
Condensed logs keep long texts once, as attachments that the events refer to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ctxheap.heap.model import Exchange, Usage
from ctxheap.providers import openai
from ctxheap.providers.json_fields import Fields, fields, items, objects, string, tokens
from ctxheap_collector.transcripts.conversation import Conversations
from ctxheap_collector.transcripts.message_lists import elements, replayed, skip_odd_counts, stem_of, turns
from ctxheap_collector.transcripts.replay import About
from ctxheap_collector.transcripts.source import Head, Source
from ctxheap_collector.transcripts.timestamps import epoch_ns
from ctxheap_collector.transcripts.wire import OPENAI, provider_of

FORMAT = "inspect"

_ATTACHED = "attachment://"


def looks_like(head: Head) -> bool:
    """Say whether the source is a log of an evaluation."""
    document = fields(head.document)
    is_eval = "task" in fields(document.get("eval")) and "status" in document
    return is_eval or _is_sample(document)


def _is_sample(document: Fields) -> bool:
    return {"id", "epoch", "messages", "output"} <= document.keys()


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls of every sample."""
    for _, value in elements(source):
        document = fields(value)
        evaluation = fields(document.get("eval"))
        run = string(evaluation.get("run_id")) or string(evaluation.get("eval_id")) or stem_of(source)
        samples = [document] if _is_sample(document) else objects(document.get("samples"))
        if not samples:
            source.skip(0, "no samples")
        for sample in samples:
            session = f"{run}/{sample.get('id')}/{sample.get('epoch', 1)}"
            yield from _sample(source, sample, session, string(evaluation.get("model")))


def _sample(source: Source, sample: Fields, session: str, model: str) -> Iterator[Exchange]:
    attached = fields(sample.get("attachments"))
    events = objects(sample.get("events"))
    calls = [event for event in events if event.get("event") == "model"]
    if not calls:
        messages = items(_whole(sample.get("messages"), attached))
        about = About(session, model, provider_of(model))
        yield from replayed(source, turns(source, messages, OPENAI), about)
        return
    agents = _agents(events)
    conversations = Conversations()
    for number, event in enumerate(calls):
        name = agents.get(string(event.get("span_id")), "")
        made = _call(source, conversations, fields(_whole(event, attached)), f"{session}#{number}", model)
        if made is not None:
            # A solver's own span is the sample; every further agent is a session of its own.
            child = f"{session}/{name}" if name else session
            yield replace(made, session=child, parent=session if name else None, agent=name)


def _agents(events: list[Fields]) -> dict[str, str]:
    """Return the name of the agent that each span belongs to, by the span's id; the outermost has none."""
    spans = {string(event.get("id")): event for event in events if event.get("event") == "span_begin"}
    named: dict[str, str] = {}
    outermost = ""
    for span_id, span in spans.items():
        parent = named.get(string(span.get("parent_id")), "")
        if span.get("type") != "agent":
            named[span_id] = parent
        elif not outermost:
            outermost, named[span_id] = span_id, ""
        else:
            named[span_id] = string(span.get("name")) or "agent"
    return named


def _call(
    source: Source, conversations: Conversations, event: Fields, place: str, default: str
) -> Exchange | None:
    answer = fields(event.get("output"))
    if event.get("error") or not objects(answer.get("choices")):
        source.skip(0, f"{place}: {string(event.get('error')) or 'no output'}")
        return None
    messages = items(event.get("input"))
    conversation = conversations.of(OPENAI, messages)
    prompt = [*openai.tool_definitions(event.get("tools")), *conversation.parts(messages)]
    usage = _usage(source, fields(answer.get("usage")), place)
    output = [
        part
        for choice in objects(answer.get("choices"))
        for part in conversation.answer(choice.get("message"), where=f"{place}:output")
    ]
    if usage is not None:
        output = openai.with_reasoning_tokens(output, usage.reasoning)
    conversation.remember(output)
    model = string(answer.get("model")) or string(event.get("model")) or default
    call_id = string(event.get("uuid")) or place
    return Exchange(
        call_id=call_id,
        prompt=tuple(prompt),
        output=tuple(output),
        model=model,
        provider=provider_of(model),
        started_ns=epoch_ns(event.get("timestamp")),
        usage=usage,
    )


def _usage(source: Source, raw: Fields, place: str) -> Usage | None:
    """Return the usage; Inspect keeps cache reads and writes beside the input, as Anthropic does."""
    if not raw:
        return None
    skip_odd_counts(source, 0, raw, f"{place}: usage")
    entered, output = tokens(raw.get("input_tokens")), tokens(raw.get("output_tokens"))
    read, written = tokens(raw.get("input_tokens_cache_read")), tokens(raw.get("input_tokens_cache_write"))
    reasoning = min(output, tokens(raw.get("reasoning_tokens")))
    if tokens(raw.get("total_tokens")) == entered + output:
        # OpenAI's total holds what the cache served.
        read = min(read, entered)
        entered -= read
    return Usage(entered, read, written, output=output, reasoning=reasoning)


def _whole(value: object, attached: Fields) -> object:
    """Return a value with the texts that it refers to."""
    if isinstance(value, str):
        key = value.removeprefix(_ATTACHED)
        return attached.get(key, value) if key != value else value
    if listed := items(value):
        return [_whole(item, attached) for item in listed]
    body = fields(value)
    return {key: _whole(item, attached) for key, item in body.items()} if body else value
