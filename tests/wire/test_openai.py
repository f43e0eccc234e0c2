"""The openai SDK: chat and Responses, plain, streaming, async, raw responses, parsing, retries."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import openai
import orjson
import pytest
from pydantic import BaseModel

from ctxheap.providers.json_fields import fields
from wire.compare import Agent, check, check_spans, inferences, number, run_bare, run_captured
from wire.provider import Fault
from wire.script import MODEL, QUESTION, SYSTEM, TOOLS, run_tool, schema

CHAT_TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {"name": name, "description": f"Tool {name}.", "parameters": schema(name)},
    }
    for name in TOOLS
]
RESPONSE_TOOLS: list[Any] = [
    {
        "type": "function",
        "name": name,
        "description": f"Tool {name}.",
        "parameters": schema(name),
        "strict": False,
    }
    for name in TOOLS
]


def client(url: str) -> openai.OpenAI:
    return openai.OpenAI(api_key="none", base_url=f"{url}/v1")


def async_client(url: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="none", base_url=f"{url}/v1")


def begin() -> list[Any]:
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]


def results(message: Any) -> list[dict[str, object]]:
    return [
        {
            "role": "tool",
            "tool_call_id": call.id,
            "content": _run(call.function.name, call.function.arguments),
        }
        for call in message.tool_calls or []
    ]


def _run(name: str, arguments: str) -> str:
    return run_tool(name, fields(orjson.loads(arguments)))


def go_on(messages: list[Any], message: Any) -> bool:
    messages.append(message.model_dump(exclude_none=True))
    messages.extend(results(message))
    return bool(message.tool_calls)


def plain(url: str) -> object:
    messages, answers = begin(), list[Any]()
    while True:
        answer = client(url).chat.completions.create(model=MODEL, messages=messages, tools=CHAT_TOOLS)
        answers.append(answer)
        if not go_on(messages, answer.choices[0].message):
            return answers, messages


def streamed(url: str) -> object:
    messages, answers = begin(), list[Any]()
    options: Any = {"include_usage": True}
    while True:
        with client(url).chat.completions.stream(
            model=MODEL, messages=messages, tools=CHAT_TOOLS, stream_options=options
        ) as stream:
            answers += [event.type for event in stream]
            answer = stream.get_final_completion()
        answers.append(answer)
        if not go_on(messages, answer.choices[0].message):
            return answers, messages


def iterated(url: str) -> object:
    """Read the chunks one by one and answer with the pieces put together."""
    chunks = list[Any]()
    for _ in range(2):
        chunks += client(url).chat.completions.create(
            model=MODEL,
            messages=begin(),
            tools=CHAT_TOOLS,
            stream=True,
            stream_options={"include_usage": True},
        )
    return chunks


def raw(url: str) -> object:
    messages, answers = begin(), list[Any]()
    while True:
        response = client(url).chat.completions.with_raw_response.create(
            model=MODEL, messages=messages, tools=CHAT_TOOLS
        )
        answer = response.parse()
        answers.append([response.text, response.status_code, response.headers.get("request-id")])
        if not go_on(messages, answer.choices[0].message):
            return answers, messages


def streaming_response(url: str) -> object:
    """Read a plain body through the SDK's streaming reader, in bytes."""
    with client(url).chat.completions.with_streaming_response.create(
        model=MODEL, messages=begin(), tools=CHAT_TOOLS
    ) as response:
        return [piece.decode() for piece in response.iter_bytes(chunk_size=1 << 20)]


def parsed(url: str) -> object:
    class Found(BaseModel):
        budget: str

    strict: list[Any] = [{**tool, "function": {**tool["function"], "strict": True}} for tool in CHAT_TOOLS]
    for tool in strict:
        tool["function"]["parameters"] = {**tool["function"]["parameters"], "additionalProperties": False}
    return client(url).chat.completions.parse(
        model=MODEL, messages=begin(), tools=strict, response_format=Found
    )


def concurrent(url: str) -> object:
    async def loop(number: int) -> object:
        messages = begin()
        messages[-1]["content"] += f" Project {number}."
        async with async_client(url) as one:
            while True:
                answer = await one.chat.completions.create(model=MODEL, messages=messages, tools=CHAT_TOOLS)
                if not go_on(messages, answer.choices[0].message):
                    return messages

    async def both() -> object:
        return await asyncio.gather(loop(1), loop(2))

    return asyncio.run(both())


def async_streamed(url: str) -> object:
    async def loop() -> object:
        messages, answers = begin(), list[Any]()
        async with async_client(url) as one:
            while True:
                async with one.chat.completions.stream(
                    model=MODEL, messages=messages, tools=CHAT_TOOLS, stream_options={"include_usage": True}
                ) as stream:
                    answer = await stream.get_final_completion()
                answers.append(answer)
                if not go_on(messages, answer.choices[0].message):
                    return answers

    return asyncio.run(loop())


def responses(url: str) -> object:
    items, answers = list[Any]([{"role": "user", "content": QUESTION}]), list[Any]()
    while True:
        answer = client(url).responses.create(
            model=MODEL, instructions=SYSTEM, input=items, tools=RESPONSE_TOOLS
        )
        answers.append(answer)
        items += [item.model_dump(exclude_none=True, exclude={"status"}) for item in answer.output]
        if not _answered(items, answer):
            return answers, items


def responses_streamed(url: str) -> object:
    items, answers = list[Any]([{"role": "user", "content": QUESTION}]), list[Any]()
    while True:
        with client(url).responses.stream(
            model=MODEL, instructions=SYSTEM, input=items, tools=RESPONSE_TOOLS
        ) as stream:
            answers += [event.type for event in stream]
            answer = stream.get_final_response()
        items += [
            item.model_dump(exclude_none=True, exclude={"status", "parsed_arguments"})
            for item in answer.output
        ]
        if not _answered(items, answer):
            return answers, items


def responses_chained(url: str) -> object:
    """Let the provider keep the history."""
    items, answers, previous = list[Any]([{"role": "user", "content": QUESTION}]), list[Any](), None
    while True:
        answer = client(url).responses.create(
            model=MODEL,
            instructions=SYSTEM,
            input=items,
            tools=RESPONSE_TOOLS,
            previous_response_id=previous or openai.omit,
        )
        answers.append(answer)
        items, previous = [], answer.id
        if not _answered(items, answer):
            return answers


def _answered(items: list[Any], answer: Any) -> bool:
    calls = [item for item in answer.output if item.type == "function_call"]
    items += [
        {"type": "function_call_output", "call_id": call.call_id, "output": _run(call.name, call.arguments)}
        for call in calls
    ]
    return bool(calls)


LOOPS: Mapping[str, Agent] = {
    "plain": plain,
    "streamed": streamed,
    "raw": raw,
    "async_streamed": async_streamed,
    "responses": responses,
    "responses_streamed": responses_streamed,
    "responses_chained": responses_chained,
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("gzip", [False, True], ids=["identity", "gzip"])
def test_every_call_of_a_loop_is_captured_and_nothing_else_changes(loop: str, *, gzip: bool) -> None:
    check(LOOPS[loop], f"openai-{loop}", gzip=gzip)


@pytest.mark.parametrize("agent", [iterated, streaming_response, parsed])
def test_every_way_to_read_an_answer_is_captured(agent: Agent) -> None:
    check(agent, f"openai-{agent.__name__}", calls=2 if agent is iterated else 1, tools=())


def test_concurrent_sessions_are_kept_apart() -> None:
    bare = run_bare(concurrent, "openai-concurrent")
    run = run_captured(concurrent, "openai-concurrent")

    assert run.result == bare.result
    spans = inferences(run.spans)
    assert len(spans) == len(run.calls) == 8
    sessions = [str((span.attributes or {}).get("gen_ai.conversation.id")) for span in spans]
    assert sorted(map(sessions.count, set(sessions))) == [4, 4]


def test_a_call_that_is_retried_is_one_call_of_three_attempts() -> None:
    faults = (Fault(status=429), Fault(status=500))
    bare = run_bare(plain, "openai-retried", *faults)
    run = run_captured(plain, "openai-retried", *faults)

    assert run.result == bare.result
    check_spans(run, calls=4)
    assert [number(span, "ctxheap.attempts") for span in inferences(run.spans)] == [3, 1, 1, 1]


def test_a_call_that_never_succeeds_is_one_span_with_its_error() -> None:
    def agent(url: str) -> object:
        with pytest.raises(openai.InternalServerError) as raised:
            client(url).chat.completions.create(model=MODEL, messages=begin())
        return str(raised.value)

    faults = [Fault(status=500)] * 3
    bare = run_bare(agent, "openai-failing", *faults)
    run = run_captured(agent, "openai-failing", *faults)

    assert run.result == bare.result
    assert len(run.seen) == 3
    assert [(span.attributes or {}).get("error.type") for span in inferences(run.spans)] == ["500"]


def test_a_stream_that_breaks_or_is_given_up_says_that_its_usage_is_unknown() -> None:
    def agent(url: str) -> object:
        one = client(url)
        broken = one.chat.completions.create(model=MODEL, messages=begin(), stream=True)
        with pytest.raises(openai.APIConnectionError) as raised:
            list(broken)
        left = one.chat.completions.create(model=MODEL, messages=begin(), stream=True)
        first = next(iter(left))
        left.close()
        return str(raised.value), first

    bare = run_bare(agent, "openai-cut", Fault(cut_after=3))
    run = run_captured(agent, "openai-cut", Fault(cut_after=3))

    assert run.result == bare.result
    spans = inferences(run.spans)
    assert len(spans) == 2
    assert [(span.attributes or {}).get("ctxheap.usage.missing") for span in spans] == [True, True]


def test_embeddings_are_not_counted() -> None:
    def agent(url: str) -> object:
        return client(url).embeddings.create(model="text-embedding-3-small", input="x").data[0].embedding

    run = run_captured(agent, "openai-embeddings")

    assert len(run.seen) == 1
    assert run.spans == ()
