"""Find where spans and metrics go: to the application's own providers, or to ones of ours.

Providers of ours are never made the global ones: an application that sets its own later, as most do
after we were started, must find that place free. They follow the standard `OTEL_*` variables.
"""

from __future__ import annotations

import importlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from opentelemetry import metrics, trace
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from ctxheap._version import __version__
from ctxheap.capture.guard import faults, guarded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import MetricExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

SCOPE = "ctxheap"
_OTLP_LOGGERS = (
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.exporter.otlp.proto.http.metric_exporter",
    "opentelemetry.exporter.otlp.proto.grpc.exporter",
    "opentelemetry.exporter.http.transport",
    "opentelemetry.sdk.metrics._internal.export",
)
_SPAN_EXPORTERS = {
    "http/protobuf": "opentelemetry.exporter.otlp.proto.http.trace_exporter:OTLPSpanExporter",
    "grpc": "opentelemetry.exporter.otlp.proto.grpc.trace_exporter:OTLPSpanExporter",
    "console": "opentelemetry.sdk.trace.export:ConsoleSpanExporter",
}
_METRIC_EXPORTERS = {
    "http/protobuf": "opentelemetry.exporter.otlp.proto.http.metric_exporter:OTLPMetricExporter",
    "grpc": "opentelemetry.exporter.otlp.proto.grpc.metric_exporter:OTLPMetricExporter",
    "console": "opentelemetry.sdk.metrics.export:ConsoleMetricExporter",
}
_quiet = threading.local()


class Targets:
    """Give the tracer and the meter of the moment.

    Args:
        tracer_provider: Given by the caller; None for the global one, else one of ours.
        meter_provider: The same for metrics.
    """

    def __init__(
        self,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        self._given = tracer_provider, meter_provider
        self._own_tracers: TracerProvider | None = None
        self._own_meters: MeterProvider | None = None

    def tracer(self) -> trace.Tracer:
        """Return the tracer that the next span goes to."""
        provider = self._given[0] or trace.get_tracer_provider()
        if isinstance(provider, trace.ProxyTracerProvider):
            provider = self._own_tracers = self._own_tracers or _tracer_provider()
        return provider.get_tracer(SCOPE, __version__)

    def meter(self) -> metrics.Meter:
        """Return the meter that the next measurement goes to.

        Ours is used beside our own tracer only: who exports spans and no metrics wants none.
        """
        provider = self._given[1] or metrics.get_meter_provider()
        if self._own_tracers is not None and type(provider).__name__ == "_ProxyMeterProvider":
            provider = self._own_meters = self._own_meters or _meter_provider()
        return provider.get_meter(SCOPE, __version__)

    def flush(self, seconds: float) -> None:
        """Export what our own providers hold; may take longer than asked where an exporter does."""
        for provider in (self._own_tracers, self._own_meters):
            if provider is not None:
                flush_provider(provider, seconds)

    def close(self) -> None:
        """End our own providers, after a last export."""
        providers, self._own_tracers, self._own_meters = (self._own_tracers, self._own_meters), None, None
        for provider in providers:
            if provider is not None:
                provider.shutdown()

    def after_fork(self) -> None:
        """Forget our own providers in a child: what they hold is the parent's to send."""
        self._own_tracers = self._own_meters = None


@guarded("flush", None)
def flush_provider(provider: TracerProvider | MeterProvider, seconds: float) -> None:
    """Export what a provider holds."""
    provider.force_flush(int(1000 * seconds))


class QuietExporter(SpanExporter):
    """Export with another exporter; what goes wrong is counted, and told once, not on standard error."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export spans; never raises."""
        _quiet.on = True
        try:
            result = self._exporter.export(spans)
        except Exception as error:  # noqa: BLE001 - an exporter of somebody else's
            faults.note("export", error)
            return SpanExportResult.FAILURE
        finally:
            _quiet.on = False
        if result is not SpanExportResult.SUCCESS:
            faults.note("export", ConnectionError("the spans could not be delivered"))
        return result

    def shutdown(self) -> None:
        """End the exporter."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Flush the exporter."""
        return self._exporter.force_flush(timeout_millis)


class _Hush(logging.Filter):
    """Drop what an exporter says while it works for us; the host's own exporters are heard as before."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(_quiet, "on", False)


_HUSH = _Hush()


def _tracer_provider() -> TracerProvider:
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 -- only where the host has none
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor  # noqa: PLC0415

    # We flush at exit ourselves: theirs waits as long as the exporter retries.
    provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
    for path in _exporters("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", _SPAN_EXPORTERS):
        exporter = cast("Callable[[], SpanExporter]", _load(path))()
        try:
            processor = BatchSpanProcessor(QuietExporter(exporter))
        except RuntimeError:  # the interpreter ends and starts no thread any more
            provider.add_span_processor(SimpleSpanProcessor(QuietExporter(exporter)))
        else:
            provider.add_span_processor(processor)
    for name in _OTLP_LOGGERS:
        logging.getLogger(name).addFilter(_HUSH)  # before a meter is made, which is always later
    return provider


def _resource() -> Resource:
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415

    try:
        return Resource.create()
    except RuntimeError:  # it asks its detectors on threads, and the interpreter ends
        return Resource({"service.name": "unknown_service"}).merge(OTELResourceDetector().detect())


def _meter_provider() -> MeterProvider:
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 -- only where the host has none
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415

    paths = _exporters("OTEL_METRICS_EXPORTER", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", _METRIC_EXPORTERS)
    readers: list[PeriodicExportingMetricReader] = []
    for path in paths:
        exporter = _hushed(cast("Callable[[], MetricExporter]", _load(path))())
        with suppress(RuntimeError):  # the interpreter ends and starts no thread any more
            readers.append(PeriodicExportingMetricReader(exporter))
    return MeterProvider(readers, resource=_resource(), shutdown_on_exit=False)


def _hushed(exporter: MetricExporter) -> MetricExporter:
    """Return the exporter, quiet; readers ask it for its own settings, so it stays what it is."""
    export = exporter.export

    def quiet_export(*args: object, **kwargs: object) -> object:
        _quiet.on = True
        try:
            return cast("Callable[..., object]", export)(*args, **kwargs)
        finally:
            _quiet.on = False

    exporter.export = quiet_export  # type: ignore[method-assign, assignment]  # on this instance only
    return exporter


def _exporters(variable: str, protocol_variable: str, known: dict[str, str]) -> Iterator[str]:
    """Yield the paths of the exporters that the environment asks for; OTLP where it says nothing."""
    for asked in (os.environ.get(variable) or "otlp").split(","):
        name = asked.strip()
        if name == "none":
            return
        if name == "otlp":
            name = os.environ.get(protocol_variable) or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or ""
        name = {"": "http/protobuf", "otlp_proto_grpc": "grpc", "otlp_proto_http": "http/protobuf"}.get(
            name, name
        )
        if name in known:
            yield known[name]
        else:
            faults.note("exporter", LookupError(f"{variable}: no exporter {name!r}"))


def _load(path: str) -> object:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def keeps_bytes() -> bool:
    """Say whether the SDK keeps bytes as the value of an attribute; older ones decode or drop them."""
    from opentelemetry.attributes import BoundedAttributes  # noqa: PLC0415 -- not a stable place

    try:
        return BoundedAttributes(1, {"probe": b"\xff"}, immutable=False).get("probe") == b"\xff"
    except Exception:  # noqa: BLE001 - a version that has it elsewhere: base64 is safe
        return False
