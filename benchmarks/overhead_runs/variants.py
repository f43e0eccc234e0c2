"""Switch each instrumentation on and off, all through one export pipeline that keeps sizes only."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# Read when the packages are imported: content on, in the spans, as their documentation says.
os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"

from openinference.instrumentation.openai import OpenAIInstrumentor as OpenInference
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor as Official
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import ctxheap
from ctxheap.instrument import flush


class Sizes(SpanExporter):
    """Encode as OTLP does, and keep the bytes of each span."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Encode a batch."""
        total = len(encode_spans(spans).SerializeToString())
        self.sizes += [total // len(spans)] * len(spans)
        return SpanExportResult.SUCCESS


@dataclass(frozen=True, slots=True)
class Variant:
    """Hold one instrumentation: how to switch it on, off, and to wait for what it still does."""

    on: Callable[[], object]
    off: Callable[[], object]
    settle: Callable[[], object]
    sizes: list[int]


def variants() -> dict[str, Variant]:
    """Return none, ours and the peers, by name."""
    return {"none": Variant(_nothing, _nothing, _nothing, []), "ours": _ours(), **_peers()}


def _ours() -> Variant:
    provider, sizes = _pipeline()

    def settle() -> None:
        if not flush(240):
            raise TimeoutError("the worker did not keep up")
        provider.force_flush()

    # Started once: a worker that is stopped between blocks would be idle when the next begins.
    return Variant(
        lambda: ctxheap.instrument(tracer_provider=provider, capture="off"),
        ctxheap.uninstrument,
        settle,
        sizes,
    )


def _peers() -> dict[str, Variant]:
    found: dict[str, Variant] = {}
    for name, instrumentor in (
        ("openinference-instrumentation-openai", OpenInference()),
        ("opentelemetry-instrumentation-genai-openai", Official()),
    ):
        provider, sizes = _pipeline()
        found[name] = Variant(
            lambda i=instrumentor, p=provider: i.instrument(tracer_provider=p),  # type: ignore[misc]
            instrumentor.uninstrument,
            provider.force_flush,
            sizes,
        )
    return found


def _pipeline() -> tuple[TracerProvider, list[int]]:
    exporter = Sizes()
    # The default limit of 128 would drop most of what OpenInference writes, and log each drop.
    provider = TracerProvider(span_limits=SpanLimits(max_span_attributes=SpanLimits.UNSET))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider, exporter.sizes


def _nothing() -> None:
    """Do nothing: the bare run."""
