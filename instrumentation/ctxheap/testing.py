"""Test how the context of your own agent grows: capture its calls in memory, then ask for them.

    from ctxheap.testing import captured

    def test_results_do_not_pile_up():
        with captured() as calls:
            run_my_agent()

        assert len(calls) == 12
        calls.assert_growth(below=2_000)
        assert calls[-1].tokens("tool_result") < 8_000

Identities, span ids and session ids are the same at every run; times are too with `clock`.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import overload

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator

from ctxheap.capture.guard import faults
from ctxheap.instrument import Runtime, use_runtime
from ctxheap.settings import CaptureMode, Redact, Settings
from ctxheap.telemetry.packed import PackedHeap, decode

FLUSH_SECONDS = 30.0

__all__ = ["CapturedCall", "CapturedCalls", "IncrementalIds", "captured"]


class IncrementalIds(IdGenerator):
    """Give trace and span ids that count from 1."""

    def __init__(self) -> None:
        self._traces = itertools.count(1)
        self._spans = itertools.count(1)

    def generate_span_id(self) -> int:
        """Return the next span id."""
        return next(self._spans)

    def generate_trace_id(self) -> int:
        """Return the next trace id."""
        return next(self._traces)


@dataclass(frozen=True, slots=True)
class CapturedCall:
    """Hold one captured inference call; `span` is what would have been exported."""

    span: ReadableSpan
    attributes: dict[str, object] = field(repr=False)

    @property
    def session(self) -> str:
        """Return the session that the call belongs to."""
        return str(self.attributes.get("gen_ai.conversation.id", ""))

    @property
    def model(self) -> str:
        """Return the model that answered, "" when nothing did."""
        name = self.attributes.get("gen_ai.response.model") or self.attributes.get("gen_ai.request.model")
        return str(name or "")

    @property
    def attempts(self) -> int:
        """Return how many HTTP requests the call took."""
        return _int(self.attributes.get("ctxheap.attempts"))

    @property
    def error(self) -> str:
        """Return what went wrong: an HTTP status or an exception's name, "" for nothing."""
        return str(self.attributes.get("error.type", ""))

    @property
    def input_tokens(self) -> int | None:
        """Return the billed input, cache included; None when the provider reported none."""
        usage = self.heap.usage if self.heap else None
        return sum(usage[:4]) if usage else None

    @property
    def output_tokens(self) -> int | None:
        """Return the billed output; None when the provider reported none."""
        usage = self.heap.usage if self.heap else None
        return usage[4] if usage else None

    @property
    def heap(self) -> PackedHeap | None:
        """Return the objects of the prompt; None for a call that was refused."""
        packed = self.attributes.get("ctxheap.heap")
        return decode(packed) if isinstance(packed, bytes) else None

    @property
    def total(self) -> int:
        """Return the tokens of the whole prompt: what was billed, else what was counted."""
        return _int(self.attributes.get("ctxheap.tokens.total"))

    @property
    def tags(self) -> dict[str, int]:
        """Return input tokens by tag, `framing` and `unattributed` included."""
        heap = self.heap
        if heap is None:
            return {}
        found: dict[str, int] = {}
        for tag, tokens in zip(heap.tags, heap.tokens, strict=True):
            found[tag] = found.get(tag, 0) + tokens
        rest = {"framing": heap.framing, "unattributed": heap.unattributed}
        return found | {tag: tokens for tag, tokens in rest.items() if tokens}

    def tokens(self, tag: str) -> int:
        """Return the input tokens of a tag, or of all tags of a kind: `tool_result`."""
        return sum(
            tokens for name, tokens in self.tags.items() if name == tag or name.partition(":")[0] == tag
        )


class CapturedCalls(Sequence[CapturedCall]):
    """List the calls that were captured, in the order of their ends; waits for the worker."""

    def __init__(
        self, runtime: Runtime, exporter: InMemorySpanExporter, reader: InMemoryMetricReader
    ) -> None:
        self._runtime = runtime
        self._exporter = exporter
        self._reader = reader

    @overload
    def __getitem__(self, index: int) -> CapturedCall: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[CapturedCall]: ...

    def __getitem__(self, index: int | slice) -> CapturedCall | Sequence[CapturedCall]:
        return self._calls()[index]

    def __len__(self) -> int:
        return len(self._calls())

    def __iter__(self) -> Iterator[CapturedCall]:
        return iter(self._calls())

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """Return all spans, those of activities included."""
        self._runtime.flush(FLUSH_SECONDS)
        return self._exporter.get_finished_spans()

    @property
    def metrics(self) -> dict[tuple[str, str, str], int | float]:
        """Return sums by metric name, token type and tag."""
        self._runtime.flush(FLUSH_SECONDS)
        return dict(_sums(self._reader))

    def session(self, name: str) -> list[CapturedCall]:
        """Return the calls of one session."""
        return [call for call in self if call.session == name]

    def assert_growth(self, *, below: int, tag: str = "", skip: int = 1) -> None:
        """Assert that no call's prompt is `below` tokens or more larger than that of the call before.

        Args:
            below: Bound, in tokens.
            tag: Only the tokens of this tag or kind; "" for all.
            skip: Calls at the start of each session that may grow as they like.

        Raises:
            AssertionError: Names the call and what grew in it.
        """
        for name in dict.fromkeys(call.session for call in self):
            calls = self.session(name)
            for number, (before, call) in enumerate(itertools.pairwise(calls), 2):
                grown = _size(call, tag) - _size(before, tag)
                if number > skip + 1 and grown >= below:
                    most = max(call.tags, key=lambda each: call.tokens(each) - before.tokens(each))
                    raise AssertionError(
                        f"call {number} of session {name} grew by {grown} tokens, most in {most}"
                    )

    def _calls(self) -> list[CapturedCall]:
        spans = [span for span in self.spans if "ctxheap.attempts" in (span.attributes or {})]
        return [CapturedCall(span, dict(span.attributes or {})) for span in spans]


@contextmanager
def captured(
    *,
    capture: CaptureMode = "off",
    redact: Redact | None = None,
    identity_key: bytes | None = None,
    session_header: str = "",
    strict: bool = True,
    clock: Callable[[], int] | None = None,
) -> Iterator[CapturedCalls]:
    """Capture the calls made inside, in memory; whatever was on before is on again afterwards.

    Args:
        capture: As for `ctxheap.instrument`; so are `redact`, `identity_key` and `session_header`.
        redact: See there.
        identity_key: See there.
        session_header: See there.
        strict: Whether faults of ctxheap itself are raised instead of swallowed.
        clock: Gives the time in nanoseconds, for spans that are the same at every run.
    """
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider(id_generator=IncrementalIds(), shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    meters = MeterProvider([reader], shutdown_on_exit=False)
    settings = Settings(
        capture=capture, redact=redact, identity_key=identity_key, session_header=session_header
    )
    runtime = Runtime(settings, tracers, meters, new_id=_ids(), clock=clock)
    was_strict, faults.strict = faults.strict, strict
    try:
        with use_runtime(runtime):
            yield CapturedCalls(runtime, exporter, reader)
    finally:
        faults.strict = was_strict
        meters.shutdown()


def _ids() -> Callable[[], bytes]:
    numbers = itertools.count(1)
    return lambda: hashlib.sha256(b"%d" % next(numbers)).digest()[:8]


def _sums(reader: InMemoryMetricReader) -> Iterator[tuple[tuple[str, str, str], int | float]]:
    data = reader.get_metrics_data()
    for resource in data.resource_metrics if data else ():
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.data.data_points:
                    attributes = point.attributes or {}
                    key = (
                        metric.name,
                        str(attributes.get("gen_ai.token.type", "")),
                        str(attributes.get("ctxheap.tag", "")),
                    )
                    value = getattr(point, "sum", None)
                    yield key, value if value is not None else getattr(point, "value", 0)


def _size(call: CapturedCall, tag: str) -> int:
    return call.tokens(tag) if tag else call.total


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0
