"""The scripted provider is one that the real SDKs understand, without any instrumentation."""

from __future__ import annotations

import json
from collections.abc import Iterator

import anthropic
import httpx
import openai
import pytest
from google import genai

from wire.provider import Fault, ScriptedProvider
from wire.script import MODEL, QUESTION, SCRIPT
from wire.speech import Truth

ASKED = [{"role": "user", "content": QUESTION}]


@pytest.fixture(params=[False, True], ids=["plain", "gzip"])
def provider(request: pytest.FixtureRequest) -> Iterator[ScriptedProvider]:
    with ScriptedProvider("selftest", gzip=request.param) as provider:
        yield provider


def openai_client(provider: ScriptedProvider) -> openai.OpenAI:
    return openai.OpenAI(api_key="none", base_url=f"{provider.url}/v1")


def anthropic_client(provider: ScriptedProvider) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key="none", base_url=provider.url)


def test_openai_reads_plain_and_streamed_chat_alike(provider: ScriptedProvider) -> None:
    client = openai_client(provider)

    plain = client.chat.completions.create(model=MODEL, messages=ASKED)  # type: ignore[arg-type]
    with client.chat.completions.stream(
        model=MODEL,
        messages=ASKED,  # type: ignore[arg-type]
        stream_options={"include_usage": True},
    ) as stream:
        streamed = stream.get_final_completion()

    first = SCRIPT[0].tools[0]
    for completion, truth in zip((plain, streamed), (each.truth for each in provider.calls), strict=True):
        calls = completion.choices[0].message.tool_calls or []
        assert [
            (call.type, call.id, call.function.name, call.function.arguments)
            for call in calls
            if call.type == "function"
        ] == [("function", first.id, first.name, first.json)]
        assert completion.usage is not None
        assert completion.usage.prompt_tokens_details is not None
        assert completion.usage.completion_tokens_details is not None
        assert truth == Truth(
            completion.usage.prompt_tokens,
            completion.usage.completion_tokens,
            completion.usage.prompt_tokens_details.cached_tokens or 0,
            0,
            completion.usage.completion_tokens_details.reasoning_tokens or 0,
        )


def test_openai_reads_plain_and_streamed_responses_alike(provider: ScriptedProvider) -> None:
    client = openai_client(provider)

    plain = client.responses.create(model=MODEL, input=QUESTION)
    with client.responses.stream(model=MODEL, input=QUESTION) as stream:
        streamed = stream.get_final_response()

    def said(response: openai.types.responses.Response) -> str:
        left_out = {item.id or "" for item in response.output} | {response.id}
        text = json.dumps([item.model_dump() for item in response.output], sort_keys=True)
        for each in left_out:
            text = text.replace(each, "")
        return text

    assert [item.type for item in plain.output] == ["reasoning", "function_call"]
    assert '"read_file"' in said(plain)
    assert plain.usage is not None
    assert streamed.usage is not None
    assert plain.usage.output_tokens == streamed.usage.output_tokens


def test_openai_goes_on_from_a_previous_response(provider: ScriptedProvider) -> None:
    client = openai_client(provider)
    first = client.responses.create(model=MODEL, input=QUESTION)

    second = client.responses.create(
        model=MODEL,
        previous_response_id=first.id,
        input=[{"type": "function_call_output", "call_id": SCRIPT[0].tools[0].id, "output": "x"}],
    )

    assert second.output_text == SCRIPT[1].text


def test_anthropic_reads_plain_and_streamed_messages_alike(provider: ScriptedProvider) -> None:
    client = anthropic_client(provider)
    thinking = {"type": "enabled", "budget_tokens": 1024}
    request = {"model": "claude-sonnet-4-5", "max_tokens": 2048, "messages": ASKED, "thinking": thinking}

    plain = client.messages.create(**request)  # type: ignore[call-overload]
    with client.messages.stream(**request) as stream:  # type: ignore[arg-type]
        streamed = stream.get_final_message()

    assert [block.type for block in plain.content] == ["thinking", "tool_use"]
    assert [block.model_dump() for block in streamed.content] == [
        block.model_dump() for block in plain.content
    ]
    usage, truth = plain.usage, provider.calls[0].truth
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    assert truth == Truth(usage.input_tokens + read + written, usage.output_tokens, read, written, 0)
    assert streamed.usage.output_tokens == plain.usage.output_tokens


def test_gemini_reads_plain_and_streamed_content_alike(provider: ScriptedProvider) -> None:
    client = genai.Client(api_key="none", http_options=genai.types.HttpOptions(base_url=provider.url))

    plain = client.models.generate_content(model="gemini-3-pro", contents=QUESTION)
    chunks = list(client.models.generate_content_stream(model="gemini-3-pro", contents=QUESTION))

    usage, truth = plain.usage_metadata, provider.calls[0].truth
    assert usage is not None
    thought = usage.thoughts_token_count or 0
    answered = (usage.candidates_token_count or 0) + thought
    assert truth == Truth(usage.prompt_token_count or 0, answered, 0, 0, thought)
    assert plain.function_calls is not None
    assert chunks[-1].function_calls == plain.function_calls


def test_errors_come_first_and_are_written_down(provider: ScriptedProvider) -> None:
    provider.fail(Fault(status=429), Fault(status=500))

    answer = openai_client(provider).chat.completions.create(model=MODEL, messages=ASKED)  # type: ignore[arg-type]

    assert answer.choices[0].finish_reason == "tool_calls"
    assert [each.status for each in provider.seen] == [429, 500, 200]
    assert len(provider.calls) == 1


def test_a_cut_stream_breaks_at_the_client(provider: ScriptedProvider) -> None:
    provider.fail(Fault(cut_after=3))
    client = openai_client(provider)

    stream = client.chat.completions.create(model=MODEL, messages=ASKED, stream=True)  # type: ignore[arg-type]

    with pytest.raises(openai.APIConnectionError):
        list(stream)


def test_a_hung_request_ends_by_the_client_and_a_slow_one_takes_its_time(provider: ScriptedProvider) -> None:
    body = {"model": MODEL, "messages": ASKED}
    url = f"{provider.url}/v1/chat/completions"
    provider.fail(Fault(hang=True), Fault(pause_seconds=0.05))

    with pytest.raises(httpx.ReadTimeout):
        httpx.post(url, json=body, timeout=0.05)
    slow = httpx.post(url, json=body, timeout=5)

    assert slow.elapsed.total_seconds() >= 0.05


def test_two_runs_under_one_name_are_told_the_same() -> None:
    def answer() -> bytes:
        with ScriptedProvider("same") as provider:
            return httpx.post(
                f"{provider.url}/v1/messages", json={"model": "m", "messages": ASKED, "stream": True}
            ).content

    assert answer() == answer()
