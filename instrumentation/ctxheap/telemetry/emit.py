"""Emit one span and the metrics of an inference call, with its true times and its caller's parent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from opentelemetry import trace
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode

from ctxheap.capture.guard import guarded
from ctxheap.telemetry.attributes import (
    Attributes,
    Tags,
    content_attributes,
    error_of,
    heap_attributes,
    request_attributes,
    response_attributes,
    tags_of,
    usage_attributes,
)
from ctxheap.telemetry.content import Content
from ctxheap.telemetry.record import Activity, Inference
from ctxheap.telemetry.setup import Targets, keeps_bytes

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Counter, Histogram, Meter

TOKEN_USAGE = "gen_ai.client.token.usage"  # noqa: S105 - a metric's name
OWN_TOKEN_USAGE = "ctxheap.client.token.usage"  # noqa: S105
_MODEL_OPERATIONS = frozenset({"chat", "generate_content", "text_completion"})
_TOKEN_BUCKETS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)


class Emitter:
    """Turn inference calls into telemetry; used by one thread."""

    def __init__(self, targets: Targets, content: Content) -> None:
        self._targets = targets
        self._content = content
        self._as_text = not keeps_bytes()
        self._meter: Meter | None = None
        self._usage: dict[str, Histogram] = {}
        self._dropped: Counter | None = None

    def emit(self, inference: Inference) -> None:
        """Emit the span of a call, and its tokens by tag."""
        call = inference.call
        context = cast("Context | None", call.context)
        outer = outer_model_span(context)
        tags = tags_of(inference.snapshot) if inference.snapshot else Tags({}, 0)
        attributes = self._attributes(inference, tags)
        if outer is not None:
            attributes = _linked(attributes, outer)
        span = self._targets.tracer().start_span(
            _name(attributes),
            context=context,
            kind=SpanKind.CLIENT if outer is None else SpanKind.INTERNAL,
            attributes=attributes,
            links=[Link(outer.get_span_context())] if outer is not None else [],
            start_time=call.started_ns,
        )
        if error := error_of(inference):
            span.set_status(Status(StatusCode.ERROR, error))
        span.end(call.ended_ns)
        self._measure(inference, tags, TOKEN_USAGE if outer is None else OWN_TOKEN_USAGE)

    def emit_activity(self, activity: Activity) -> None:
        """Emit the span of something an agent did besides calling models."""
        attributes: Attributes = {"ctxheap.activity": activity.kind}
        if activity.session:
            attributes["gen_ai.conversation.id"] = activity.session
        if activity.agent:
            attributes["gen_ai.agent.name"] = activity.agent
        attributes.update((f"ctxheap.activity.{key}", value) for key, value in activity.attributes.items())
        span = self._targets.tracer().start_span(
            f"ctxheap.activity {activity.kind}",
            context=cast("Context | None", activity.context),
            attributes=attributes,
            start_time=activity.started_ns,
        )
        if activity.error:
            span.set_attribute("error.type", activity.error)
            span.set_status(Status(StatusCode.ERROR, activity.error))
        span.end(activity.ended_ns)

    @guarded("count_lost", None)
    def count_lost(self, reasons: Mapping[str, int]) -> None:
        """Count calls that were not captured, by reason."""
        for reason, calls in reasons.items():
            if calls:
                self._counter().add(calls, {"ctxheap.reason": reason})

    def _attributes(self, inference: Inference, tags: Tags) -> Attributes:
        attributes = request_attributes(inference) | response_attributes(inference)
        if inference.exchange is not None and inference.reading is not None:
            attributes |= usage_attributes(inference.exchange.usage)
            attributes |= content_attributes(
                inference.exchange, inference.reading.finish_reasons, self._content
            )
        # Ours come last: an SDK that holds only so many drops the oldest.
        return attributes | heap_attributes(inference, tags, self._content, as_text=self._as_text)

    @guarded("measure", None)
    def _measure(self, inference: Inference, tags: Tags, name: str) -> None:
        exchange = inference.exchange
        if exchange is None or exchange.usage is None:
            return
        histogram = self._histogram(name)
        common: dict[str, str] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": str(request_attributes(inference)["gen_ai.provider.name"]),
            "gen_ai.request.model": exchange.model,
        }
        for kind, tokens in tags.by_kind().items():
            histogram.record(max(0, tokens), common | {"gen_ai.token.type": "input", "ctxheap.tag": kind})
        histogram.record(exchange.usage.output, common | {"gen_ai.token.type": "output"})

    def _histogram(self, name: str) -> Histogram:
        meter = self._current_meter()
        if name not in self._usage:
            self._usage[name] = meter.create_histogram(
                name,
                unit="{token}",
                description="Tokens of a call by the tag of who owns them",
                explicit_bucket_boundaries_advisory=_TOKEN_BUCKETS,
            )
        return self._usage[name]

    def _counter(self) -> Counter:
        meter = self._current_meter()
        if self._dropped is None:
            self._dropped = meter.create_counter(
                "ctxheap.capture.lost_calls", unit="{call}", description="Calls that were not captured"
            )
        return self._dropped

    def _current_meter(self) -> Meter:
        """Return the meter; instruments of another one are made anew."""
        meter = self._targets.meter()
        if meter is not self._meter:
            self._meter, self._usage, self._dropped = meter, {}, None
        return meter


def outer_model_span(context: Context | None) -> Span | None:
    """Return the span of another instrumentation that already stands for this very call, if any."""
    span = trace.get_current_span(context) if context is not None else trace.INVALID_SPAN
    attributes = getattr(span, "attributes", None)
    if not attributes or not span.get_span_context().is_valid:
        return None
    is_model = (
        attributes.get("gen_ai.operation.name") in _MODEL_OPERATIONS
        or attributes.get("openinference.span.kind") == "LLM"
        or attributes.get("llm.request.type") in ("chat", "completion")
        or attributes.get("langfuse.observation.type") == "generation"
    )
    return span if is_model else None


def _linked(attributes: Attributes, outer: Span) -> Attributes:
    """Return attributes that add to what another span says, without saying again what would count twice."""
    kept = {
        name: value
        for name, value in attributes.items()
        if not name.startswith("gen_ai.usage.") and name != "gen_ai.operation.name"
    }
    kept["ctxheap.adds_to"] = format(outer.get_span_context().span_id, "016x")
    return kept


def _name(attributes: Attributes) -> str:
    model = attributes.get("gen_ai.request.model") or attributes.get("gen_ai.response.model") or ""
    return f"{attributes.get('gen_ai.operation.name', 'ctxheap')} {model}".strip()
