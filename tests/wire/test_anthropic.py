"""The anthropic SDK: thinking, caching, plain, streaming, async, retries."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import anthropic
import pytest

from wire.compare import Agent, check, check_spans, inferences, number, run_bare, run_captured
from wire.provider import Fault
from wire.script import QUESTION, SYSTEM, TOOLS, run_tool, schema

CLAUDE = "claude-sonnet-4-5"
CACHED = {"type": "ephemeral"}
TOOL_LIST: list[Any] = [
    {"name": name, "description": f"Tool {name}.", "input_schema": schema(name)} for name in TOOLS
]
REQUEST: Mapping[str, Any] = {
    "model": CLAUDE,
    "max_tokens": 2048,
    "system": [{"type": "text", "text": SYSTEM, "cache_control": CACHED}],
    "tools": TOOL_LIST,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
}


def client(url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key="none", base_url=url)


def begin() -> list[Any]:
    return [{"role": "user", "content": QUESTION}]


def go_on(messages: list[Any], answer: Any) -> bool:
    """Append the answer and the results, and move the cache mark to the last message."""
    messages.append(
        {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in answer.content]}
    )
    uses = [block for block in answer.content if block.type == "tool_use"]
    if not uses:
        return False
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else ():
            block.pop("cache_control", None)
    found: list[Any] = [
        {"type": "tool_result", "tool_use_id": use.id, "content": run_tool(use.name, use.input)}
        for use in uses
    ]
    found[-1]["cache_control"] = CACHED
    messages.append({"role": "user", "content": found})
    return True


def plain(url: str) -> object:
    messages, answers = begin(), list[Any]()
    while True:
        answer = client(url).messages.create(messages=messages, **REQUEST)
        answers.append(answer)
        if not go_on(messages, answer):
            return answers, messages


def streamed(url: str) -> object:
    messages, answers = begin(), list[Any]()
    while True:
        with client(url).messages.stream(messages=messages, **REQUEST) as stream:
            answers += [event.type for event in stream]
            answer = stream.get_final_message()
        answers.append(answer)
        if not go_on(messages, answer):
            return answers, messages


def raw(url: str) -> object:
    messages, answers = begin(), list[Any]()
    while True:
        response = client(url).messages.with_raw_response.create(messages=messages, **REQUEST)
        answer = response.parse()
        answers.append([response.http_response.text, response.status_code])
        if not go_on(messages, answer):
            return answers, messages


def async_streamed(url: str) -> object:
    async def loop() -> object:
        messages, answers = begin(), list[Any]()
        async with anthropic.AsyncAnthropic(api_key="none", base_url=url) as one:
            while True:
                async with one.messages.stream(messages=messages, **REQUEST) as stream:
                    answer = await stream.get_final_message()
                answers.append(answer)
                if not go_on(messages, answer):
                    return answers, messages

    return asyncio.run(loop())


LOOPS: Mapping[str, Agent] = {
    "plain": plain,
    "streamed": streamed,
    "raw": raw,
    "async_streamed": async_streamed,
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("gzip", [False, True], ids=["identity", "gzip"])
def test_every_call_of_a_loop_is_captured_and_nothing_else_changes(loop: str, *, gzip: bool) -> None:
    check(LOOPS[loop], f"anthropic-{loop}", gzip=gzip)


def test_a_call_that_is_retried_is_one_call_of_three_attempts() -> None:
    faults = (Fault(status=529), Fault(status=500))
    bare = run_bare(streamed, "anthropic-retried", *faults)
    run = run_captured(streamed, "anthropic-retried", *faults)

    assert run.result == bare.result
    check_spans(run, calls=4)
    assert [number(span, "ctxheap.attempts") for span in inferences(run.spans)] == [3, 1, 1, 1]


def test_counting_tokens_is_no_call() -> None:
    def agent(url: str) -> object:
        with pytest.raises(anthropic.NotFoundError):
            client(url).messages.count_tokens(model=CLAUDE, messages=begin())
        return None

    run = run_captured(agent, "anthropic-count")

    assert len(run.seen) == 1
    assert run.spans == ()
