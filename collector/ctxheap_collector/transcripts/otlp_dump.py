"""Read dumped OpenTelemetry traces: OTLP as JSON (`resourceSpans`), whole or by lines, and lists of spans.

Spans of model calls are calls, in the order of their start (see `otlp_spans`). Of two that lie one inside the
other the inner one is taken, unless only the outer one holds messages, and of two that ran at once with one
prompt and one response the first. What the telemetry does not hold is missing: calls without messages are
incomplete.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxheap.heap.model import Exchange, Part
from ctxheap.providers import openai
from ctxheap.providers.json_fields import Fields, fields, items, objects, string
from ctxheap_collector.transcripts.message_lists import elements
from ctxheap_collector.transcripts.otlp_spans import Span
from ctxheap_collector.transcripts.source import Head, Source, counted
from ctxheap_collector.transcripts.wire import provider_of

FORMAT = "otlp"
GLOBAL_CALL_IDS = True

_SECOND_NS = 1_000_000_000


def looks_like(head: Head) -> bool:
    """Say whether the source opens with exported spans."""
    values = [head.document] if head.document is not None else head.records
    return any(next(_spans(value), None) is not None for value in values)


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls among the spans."""
    spans: list[Span] = []
    for line, value in elements(source):
        found = list(_spans(value))
        if not found and not _is_other_signal(value):
            source.skip(line, "no spans")
        spans += found
    calls = sorted((span for span in spans if span.is_call), key=lambda span: span.start_ns)
    tools: dict[str, str] = {}
    known: dict[bytes, Part] = {}
    made = {span.span_id: _exchange(span, tools, known) for span in calls}
    repeated = _repeated(spans, made)
    for span in calls:
        if span.span_id not in repeated:
            yield made[span.span_id]
    if repeated:
        source.skip(0, f"{counted(len(repeated), 'span is', 'spans are')} of a call that another one holds")
    if not calls:
        source.skip(0, f"{counted(len(spans), 'span', 'spans')}, none of a model's call")


def _repeated(spans: list[Span], made: dict[str, Exchange]) -> set[str]:
    """Return the ids of spans that are another one's call, recorded around it or beside it."""
    parents = {span.span_id: span.parent_id for span in spans}
    repeated: set[str] = set()
    ends: dict[tuple[str, bytes], int] = {}
    for span in sorted(spans, key=lambda span: span.start_ns):
        if span.span_id not in made:
            continue
        outer = _outer_call(span, parents, made)
        if outer:
            is_outer_better = bool(made[outer].prompt) and not made[span.span_id].prompt
            repeated.add(span.span_id if is_outer_better else outer)
            continue
        asked = b"".join(part.identity for part in made[span.span_id].prompt)
        if span.response_id and asked and span.start_ns < ends.get((span.response_id, asked), 0):
            repeated.add(span.span_id)
        ends.setdefault((span.response_id, asked), span.end_ns)
    return repeated


def _outer_call(span: Span, parents: dict[str, str], made: dict[str, Exchange]) -> str:
    """Return the nearest call around a span, "" where there is none; the chain may go round in a circle."""
    seen = {span.span_id}
    at = span.parent_id
    while at and at not in seen:
        if at in made:
            return at
        seen.add(at)
        at = parents.get(at, "")
    return ""


def _exchange(span: Span, tools: dict[str, str], known: dict[bytes, Part]) -> Exchange:
    prompt = [known.setdefault(part.identity, part) for part in span.prompt(tools)]
    usage = span.usage()
    output = span.output(tools)
    if usage is not None:
        output = openai.with_reasoning_tokens(output, usage.reasoning)
    known.update((part.identity, part) for part in output)
    return Exchange(
        call_id=span.span_id,
        prompt=tuple(prompt),
        output=tuple(output),
        session=span.session,
        model=span.model,
        provider=provider_of(span.model) or span.provider,
        started_ns=span.start_ns or None,
        usage=usage,
        incomplete=not prompt,
    )


def _is_other_signal(value: object) -> bool:
    return any(key in fields(value) for key in ("resourceLogs", "resourceMetrics"))


def _spans(value: object) -> Iterator[Span]:
    body = fields(value)
    for resource in objects(body.get("resourceSpans")) or objects(body.get("resource_spans")):
        for scope in objects(resource.get("scopeSpans")) or objects(resource.get("scope_spans")):
            for span in objects(scope.get("spans")):
                yield _span(span)
    for span in objects(value):
        if "attributes" in span and ("spanContext" in span or "startTime" in span):
            yield _printed(span)


def _span(span: Fields) -> Span:
    attributes = _attributes(span.get("attributes"))
    for event in objects(span.get("events")):
        attributes = {**_attributes(event.get("attributes")), **attributes}
    return Span(
        trace_id=_text(span, "traceId", "trace_id"),
        span_id=_text(span, "spanId", "span_id"),
        parent_id=_text(span, "parentSpanId", "parent_span_id"),
        name=string(span.get("name")),
        start_ns=_nanoseconds(span.get("startTimeUnixNano", span.get("start_time_unix_nano"))),
        end_ns=_nanoseconds(span.get("endTimeUnixNano", span.get("end_time_unix_nano"))),
        attributes=attributes,
    )


def _printed(span: Fields) -> Span:
    """Return a span as JavaScript's SDK prints it."""
    context = fields(span.get("spanContext"))
    parent = fields(span.get("parentSpanContext"))
    name, start_ns = string(span.get("name")), _moment(span.get("startTime"))
    return Span(
        trace_id=string(context.get("traceId")),
        span_id=string(context.get("spanId")) or f"{name}:{start_ns}",
        parent_id=string(span.get("parentSpanId")) or string(parent.get("spanId")),
        name=name,
        start_ns=start_ns,
        end_ns=_moment(span.get("endTime")),
        attributes=fields(span.get("attributes")),
    )


def _moment(value: object) -> int:
    seconds, rest = (*items(value), 0, 0)[:2]
    return _nanoseconds(seconds) * _SECOND_NS + _nanoseconds(rest)


def _text(span: Fields, name: str, other: str) -> str:
    return string(span.get(name)) or string(span.get(other))


def _nanoseconds(value: object) -> int:
    try:
        return int(value) if isinstance(value, int | str) else 0
    except ValueError:
        return 0


def _attributes(value: object) -> dict[str, object]:
    return {string(item.get("key")): _value(item.get("value")) for item in objects(value)}


def _value(value: object) -> object:
    """Return an attribute's value without the wrapper that names its type."""
    body = fields(value)
    if "arrayValue" in body:
        return [_value(item) for item in items(fields(body["arrayValue"]).get("values"))]
    if "kvlistValue" in body:
        return _attributes(fields(body["kvlistValue"]).get("values"))
    return next(iter(body.values()), None) if len(body) == 1 else value
