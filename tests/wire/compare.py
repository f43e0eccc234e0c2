"""Run an agent with and without the hook, and say what must hold between the two runs and the truth.

agent(url) ──▶ its own result      twice, against a provider of one name: bare, captured
                                   └▶ same result, same requests, byte by byte, headers included
captured ──▶ spans                 one for each answered call, usage as reported, tools named,
                                   tokens conserved, no content
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel

import ctxheap
from ctxheap.capture.guard import faults
from ctxheap.instrument import counts, flush
from ctxheap.telemetry.packed import decode
from wire.provider import Fault, ScriptedProvider, Seen
from wire.script import TOOL_RESULTS, TOOL_TAGS
from wire.speech import Truth

Agent = Callable[[str], object]

FLUSH_SECONDS = 60.0
_VOLATILE = (
    (re.compile(rb"127\.0\.0\.1:\d+|localhost:\d+"), b"HOST"),
    (re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), b"UUID"),
    (re.compile(rb"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?"), b"TIME"),
    (re.compile(rb"0x[0-9a-f]{8,}"), b"ADDRESS"),
)
_OWN_HEADERS = frozenset({"x-stainless-idempotency-key", "idempotency-key"})


@dataclass(frozen=True, slots=True)
class Run:
    """Hold what one run of an agent left behind."""

    result: bytes
    seen: list[Seen]
    spans: tuple[ReadableSpan, ...] = ()

    @property
    def calls(self) -> list[Seen]:
        """Return the requests that the model answered."""
        return [each for each in self.seen if each.truth is not None]

    @property
    def requests(self) -> list[tuple[bytes, ...]]:
        """Return path, headers and body of each request, less what differs between any two runs."""
        return [
            (
                each.path.encode(),
                scrub(
                    "\n".join(f"{k}: {v}" for k, v in sorted(each.headers.items()) if k not in _OWN_HEADERS)
                ),
                scrub(each.body),
            )
            for each in self.seen
        ]


def run_bare(agent: Agent, name: str, *faults: Fault, gzip: bool = False) -> Run:
    """Run an agent as it is."""
    with ScriptedProvider(name, gzip=gzip) as provider:
        provider.fail(*faults)
        result = canonical(agent(provider.url))
    return Run(result, provider.seen)


def run_captured(agent: Agent, name: str, *faults: Fault, gzip: bool = False) -> Run:
    """Run an agent with the hook, faults of ours let through, and return its spans too."""
    with ScriptedProvider(name, gzip=gzip) as provider, captured() as exporter:
        provider.fail(*faults)
        result = canonical(agent(provider.url))
        assert flush(FLUSH_SECONDS)
        assert (counts().dropped, counts().lost) == (0, 0)
    return Run(result, provider.seen, exporter.get_finished_spans())


@contextmanager
def captured() -> Iterator[InMemorySpanExporter]:
    """Capture into memory; a fault of ours fails the test."""
    exporter = InMemorySpanExporter()
    tracing = TracerProvider(shutdown_on_exit=False)
    tracing.add_span_processor(SimpleSpanProcessor(exporter))
    before, faults.strict = faults.counts.copy(), True
    try:
        assert ctxheap.instrument(tracer_provider=tracing, capture="off")
        yield exporter
    finally:
        faults.strict = False
        ctxheap.uninstrument()
    assert faults.counts == before


def check(
    agent: Agent,
    name: str,
    *,
    calls: int = 4,
    gzip: bool = False,
    tools: Sequence[str] = TOOL_TAGS,
) -> Run:
    """Run an agent both ways and check all that the issue promises; return the captured run."""
    bare = run_bare(agent, name, gzip=gzip)
    run = run_captured(agent, name, gzip=gzip)

    assert run.result == bare.result
    assert run.requests == bare.requests
    check_spans(run, calls=calls, tools=tools)
    return run


def check_spans(run: Run, *, calls: int, tools: Sequence[str] = TOOL_TAGS) -> None:
    """Check the spans of a run against what the provider saw."""
    assert len(run.calls) == calls
    assert len(inferences(run.spans)) == calls
    assert [usage_of(span) for span in inferences(run.spans)] == [each.truth for each in run.calls]
    for span in inferences(run.spans):
        check_conserved(span)
        check_private(span)
    assert set(tools) <= set(strings(inferences(run.spans)[-1], "ctxheap.tags")) if tools else True


def inferences(spans: Sequence[ReadableSpan]) -> list[ReadableSpan]:
    """Return our spans of calls, in the order of their start."""
    ours = [span for span in spans if "ctxheap.attempts" in (span.attributes or {})]
    return sorted(ours, key=lambda span: span.start_time or 0)


def usage_of(span: ReadableSpan) -> Truth | None:
    """Return the usage that a span states, None where it states none."""
    if "gen_ai.usage.input_tokens" not in (span.attributes or {}):
        return None
    return Truth(
        number(span, "gen_ai.usage.input_tokens"),
        number(span, "gen_ai.usage.output_tokens"),
        number(span, "gen_ai.usage.cache_read.input_tokens"),
        number(span, "gen_ai.usage.cache_creation.input_tokens"),
        number(span, "gen_ai.usage.reasoning.output_tokens"),
    )


def check_conserved(span: ReadableSpan) -> None:
    """Check that kinds, tags and the packed heap each sum to the billed input."""
    attributes = span.attributes or {}
    total = number(span, "gen_ai.usage.input_tokens")
    kinds = [key for key in attributes if key.startswith("ctxheap.tokens.")]
    kinds = [key for key in kinds if key.removeprefix("ctxheap.tokens.") not in _NOT_KINDS]
    assert number(span, "ctxheap.tokens.total") == total
    assert sum(number(span, key) for key in kinds) == total
    counted = attributes["ctxheap.tag_tokens"]
    assert isinstance(counted, tuple)
    assert sum(int(each) for each in counted) == total
    packed = attributes["ctxheap.heap"]
    assert isinstance(packed, bytes)
    heap = decode(packed)
    assert sum(heap.tokens) + heap.framing + heap.unattributed == total


_NOT_KINDS = frozenset({"total", "method", "factor", "implausible"})


def check_private(span: ReadableSpan) -> None:
    """Check that nothing that was said or done leaves the process with the content off."""
    text = repr(dict(span.attributes or {}))
    assert not [secret for secret in SECRETS if secret in text]


SECRETS = ("41,730", "notes.md", "budget", "careful analyst", TOOL_RESULTS["notes.md"][:20])


def number(span: ReadableSpan, key: str) -> int:
    """Return a count, 0 where it is not stated."""
    value = (span.attributes or {}).get(key, 0)
    assert isinstance(value, int)
    return value


def strings(span: ReadableSpan, key: str) -> list[str]:
    """Return a list of strings."""
    value = (span.attributes or {}).get(key, ())
    assert isinstance(value, tuple)
    return [str(each) for each in value]


def canonical(value: object) -> bytes:
    """Return an agent's result as JSON, less what differs between any two runs."""
    return scrub(json.dumps(value, default=_plain, sort_keys=True, ensure_ascii=False))


def scrub(text: str | bytes) -> bytes:
    """Replace addresses, random ids and times of day."""
    plain = text.encode() if isinstance(text, str) else text
    for pattern, replacement in _VOLATILE:
        plain = pattern.sub(replacement, plain)
    return plain


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return repr(value)
