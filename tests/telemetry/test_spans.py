"""A span says what a call was, who owns its tokens, and nothing that must stay in the process."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.trace import SpanKind

import ctxheap
from capture.server import Server, serving
from ctxheap.testing import CapturedCalls, captured

httpx = pytest.importorskip("httpx")

SECRET = "The launch code is 4711."
TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}


@pytest.fixture
def server() -> Generator[Server]:
    with serving() as running:
        yield running


def messages() -> list[dict[str, Any]]:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "read", "arguments": '{"path": "/etc/code"}'},
    }
    return [
        {"role": "system", "content": "You keep secrets."},
        {"role": "user", "content": f"Remember: {SECRET}"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": f"file says {SECRET}"},
    ]


def ask(server: Server, sent: list[dict[str, Any]], **more: Any) -> None:
    body = {"model": "gpt-4o", "messages": sent, "tools": [TOOL], "temperature": 0.5, **more}
    httpx.post(f"{server.url}/chat/completions", json=body)


def test_span_holds_the_standard_attributes_and_tokens_by_kind(server: Server) -> None:
    with captured() as calls:
        ask(server, messages())
        span, attributes = calls[0].span, calls[0].attributes

    kinds = {key: value for key, value in attributes.items() if key.startswith("ctxheap.tokens.")}
    counted = [key for key in kinds if key.rpartition(".")[2] not in ("total", "method", "factor")]
    assert (span.name, span.kind) == ("chat gpt-4o", SpanKind.CLIENT)
    assert attributes["gen_ai.operation.name"] == "chat"
    assert attributes["gen_ai.request.temperature"] == 0.5
    assert attributes["gen_ai.response.finish_reasons"] == ("stop",)
    assert attributes["gen_ai.usage.input_tokens"] == 100
    assert sum(kinds[key] for key in counted if isinstance(kinds[key], int)) == 100  # type: ignore[misc]
    assert {"ctxheap.tokens.tool_result", "ctxheap.tokens.tool_definition"} <= set(kinds)
    assert calls[0].tokens("tool_result:read") > 0


def exported(calls: CapturedCalls) -> str:
    found = [dict(span.attributes or {}) for span in calls.spans]
    heaps = [repr(call.heap) for call in calls]
    return repr(found) + repr(heaps)


def test_no_content_leaves_unless_asked_for(server: Server) -> None:
    with captured() as calls:
        ask(server, messages())
        leaving = exported(calls)

    assert "4711" not in leaving
    assert "/etc/code" not in leaving


def test_preview_holds_names_and_beginnings(server: Server) -> None:
    with captured(capture="preview") as calls:
        ask(server, messages())
        heap = calls[0].heap

    assert heap is not None
    assert [birth.preview for birth in heap.births][-1] == f"file says {SECRET}"
    assert "read /etc/code" in [birth.name for birth in heap.births]


def test_full_capture_holds_the_messages_in_the_form_of_the_conventions(server: Server) -> None:
    with captured(capture="full") as calls:
        ask(server, messages())
        attributes = calls[0].attributes

    sent = json.loads(str(attributes["gen_ai.input.messages"]))
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert sent[2]["parts"][0] == {
        "type": "tool_call_response",
        "id": "c1",
        "response": f"file says {SECRET}",
    }
    assert json.loads(str(attributes["gen_ai.output.messages"]))[0]["finish_reason"] == "stop"
    assert json.loads(str(attributes["gen_ai.system_instructions"]))[0]["content"] == "You keep secrets."


@pytest.mark.parametrize("capture", ["preview", "full"])
def test_redaction_is_asked_for_every_text_that_leaves(server: Server, capture: Any) -> None:
    with captured(capture=capture, redact=lambda text, _: text.replace("4711", "****")) as calls:
        ask(server, messages())
        leaving = exported(calls)

    assert "4711" not in leaving
    assert "****" in leaving


def test_failing_redaction_lets_nothing_leave(server: Server) -> None:
    def fail(text: str, tag: str) -> str:
        raise RuntimeError(tag)

    with captured(capture="full", redact=fail, strict=False) as calls:
        ask(server, messages())
        leaving = exported(calls)

    assert "4711" not in leaving


def test_keyed_identities_differ_from_plain_ones_and_stay_the_same(server: Server) -> None:
    found: list[set[bytes]] = []
    for key in (None, b"k1", b"k1", b"k2"):
        with captured(identity_key=key) as calls:
            ask(server, messages())
            heap = calls[0].heap
            assert heap is not None
            found.append({birth.identity for birth in heap.births})

    assert found[1] == found[2]
    assert not found[0] & found[1]
    assert not found[1] & found[3]


def test_span_has_the_callers_parent_and_times_of_the_call(server: Server) -> None:
    tracer = TracerProvider().get_tracer("host")

    with captured() as calls:
        with tracer.start_as_current_span("agent") as outer:
            ask(server, messages())
        span = calls[0].span

    assert span.parent is not None
    assert span.parent.span_id == outer.get_span_context().span_id
    assert isinstance(outer, ReadableSpan)
    moments = [each or 0 for each in (outer.start_time, span.start_time, span.end_time, outer.end_time)]
    assert moments == sorted(moments)


def test_call_that_another_instrumentation_traced_is_linked_not_doubled(server: Server) -> None:
    tracer = TracerProvider().get_tracer("other")

    with captured() as calls:
        with tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}) as outer:
            ask(server, messages())
        span, attributes, metrics = calls[0].span, calls[0].attributes, calls.metrics

    assert [link.context.span_id for link in span.links] == [outer.get_span_context().span_id]
    assert attributes["ctxheap.adds_to"] == trace.format_span_id(outer.get_span_context().span_id)
    assert not [key for key in attributes if key.startswith("gen_ai.usage.")]
    assert "gen_ai.operation.name" not in attributes
    assert attributes["ctxheap.tokens.total"] == 100
    assert {name for name, _, _ in metrics} == {"ctxheap.client.token.usage"}


def test_metrics_add_up_to_the_billed_tokens(server: Server) -> None:
    with captured() as calls:
        ask(server, messages())
        metrics = calls.metrics

    inputs = {tag: value for (_, kind, tag), value in metrics.items() if kind == "input"}
    assert sum(inputs.values()) == 100
    assert "tool_result" in inputs
    assert metrics["gen_ai.client.token.usage", "output", ""] == 5


def test_refused_call_is_a_span_with_its_error_and_no_tokens(server: Server) -> None:
    server.statuses = [400]

    with captured() as calls:
        ask(server, messages())
        call = calls[0]

    assert (call.error, call.model, call.total, call.heap) == ("400", "", 0, None)


def test_attempts_of_one_call_are_one_span(server: Server) -> None:
    openai = pytest.importorskip("openai")
    server.statuses = [429, 500]
    client = openai.OpenAI(base_url=server.url, api_key="none", max_retries=3)

    with captured() as calls:
        client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "hello"}])
        found = [(call.attempts, call.attributes["ctxheap.failed_attempts"], call.total) for call in calls]
    client.close()

    assert found == [(3, ("429", "500"), 100)]


def test_attempts_that_all_failed_are_one_span(server: Server) -> None:
    openai = pytest.importorskip("openai")
    server.statuses = [500, 500]
    client = openai.OpenAI(base_url=server.url, api_key="none", max_retries=1)

    with captured() as calls:
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "hello"}])
        found = [(call.attempts, call.error, call.model) for call in calls]
    client.close()

    assert found == [(2, "500", "gpt-4o")]


def test_call_without_an_answer_is_a_span_with_its_exception() -> None:
    with captured() as calls:
        with pytest.raises(httpx.ConnectError):
            httpx.post("http://127.0.0.1:9/v1/chat/completions", json={"model": "m", "messages": []})
        found = [(call.error, call.model) for call in calls]

    assert found == [("httpx.ConnectError", "m")]


def test_session_agent_and_parent_are_those_of_the_application(server: Server) -> None:
    with captured() as calls:
        with ctxheap.session("task-1", agent="planner"):
            ask(server, messages())
            with ctxheap.session("task-1/sub", agent="coder"):
                ask(server, messages())
        found = [(call.session, call.attributes.get("gen_ai.agent.name")) for call in calls]
        parents = [call.attributes.get("ctxheap.session.parent") for call in calls]

    assert found == [("task-1", "planner"), ("task-1/sub", "coder")]
    assert parents == [None, "task-1"]


def test_session_header_names_the_session(server: Server) -> None:
    with captured(session_header="x-conversation") as calls:
        httpx.post(
            f"{server.url}/chat/completions",
            json={"model": "m", "messages": messages()},
            headers={"X-Conversation": "c-7"},
        )

        assert [call.session for call in calls] == ["c-7"]


def test_tagged_documents_are_counted_under_their_tag(server: Server) -> None:
    documents = ["Paris is the capital of France.", "Berlin is the capital of Germany."]

    with captured() as calls:
        ctxheap.tag(documents, "retrieval:kb")
        ask(
            server,
            [{"role": "user", "content": f"Use: {' '.join(documents)} What is the capital of France?"}],
        )
        call = calls[0]

    assert call.tokens("retrieval:kb") > 0
    assert call.tokens("user_turn") > 0
    assert call.total == 100


def test_pinned_text_is_pinned(server: Server) -> None:
    with captured() as calls:
        ctxheap.pin("Never delete the production database.")
        ask(server, [{"role": "user", "content": "Never delete the production database."}])
        heap = calls[0].heap

    assert heap is not None
    assert [birth.is_pinned for birth in heap.births if birth.kind == "text"] == [True]


def test_activity_is_a_span_and_marks_calls_and_the_next_prompt(server: Server) -> None:
    with captured() as calls:
        with ctxheap.session("s"):
            ask(server, messages())
            with ctxheap.activity("compaction", before=900) as work:
                ask(server, [{"role": "user", "content": "Summarise."}])
                work.note(after=90)
            ask(server, [{"role": "user", "content": "Summary: all is well."}])
        spans = {span.name: dict(span.attributes or {}) for span in calls.spans}
        marks = [call.attributes.get("ctxheap.activity") for call in calls]
        heaps = [call.heap for call in calls]

    activity = spans["ctxheap.activity compaction"]
    assert (activity["ctxheap.activity.before"], activity["ctxheap.activity.after"]) == (900, 90)
    assert marks == [None, "compaction", None]
    assert [heap.is_compacted for heap in heaps if heap] == [False, False, True]


def test_everything_is_a_no_op_when_off() -> None:
    ctxheap.tag("some text that is long enough", "retrieval:kb")
    ctxheap.pin("some text that is long enough")
    with ctxheap.session("s"), ctxheap.activity("lock"):
        ctxheap.uninstrument()


def test_growth_beyond_the_bound_is_named(server: Server) -> None:
    usage = {"prompt_tokens": 5_000, "completion_tokens": 5}
    answer = {"id": "a", "model": "gpt-4o", "choices": [{"message": {"role": "assistant", "content": "ok"}}]}
    server.answers = [{**answer, "usage": {**usage, "prompt_tokens": n}} for n in (100, 200, 5_000)]

    with captured() as calls:
        with ctxheap.session("s"):
            for _ in range(3):
                ask(server, messages())

        calls.assert_growth(below=10_000)
        with pytest.raises(AssertionError, match="call 3 of session s grew by 4800 tokens"):
            calls.assert_growth(below=2_000)
