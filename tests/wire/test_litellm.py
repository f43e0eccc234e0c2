"""litellm: OpenAI and Anthropic models through one interface, plain, streaming and async."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it would ask the web for its prices

import litellm
import orjson
import pytest

from ctxheap.providers.json_fields import fields
from wire.compare import Agent, check
from wire.script import QUESTION, SYSTEM, TOOLS, run_tool, schema

TOOL_LIST: list[Any] = [
    {
        "type": "function",
        "function": {"name": name, "description": f"Tool {name}.", "parameters": schema(name)},
    }
    for name in TOOLS
]
OPENAI = {"model": "openai/gpt-5-mini", "api_key": "none", "tools": TOOL_LIST}
CLAUDE = {"model": "anthropic/claude-sonnet-4-5", "api_key": "none", "tools": TOOL_LIST, "max_tokens": 1024}
Complete = Callable[[list[Any]], Any]


def loop(complete: Complete) -> object:
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    answers = list[Any]()
    while True:
        message = complete(messages).choices[0].message
        answers.append(message.model_dump())
        messages.append(message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
        if not message.tool_calls:
            return answers
        for call in message.tool_calls:
            result = run_tool(call.function.name, fields(orjson.loads(call.function.arguments)))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def _rebuilt(messages: list[Any], chunks: list[Any]) -> Any:
    return litellm.stream_chunk_builder(chunks, messages=messages)


def openai_plain(url: str) -> object:
    return loop(lambda messages: litellm.completion(messages=messages, api_base=f"{url}/v1", **OPENAI))


def openai_streamed(url: str) -> object:
    def complete(messages: list[Any]) -> Any:
        options = {"stream": True, "stream_options": {"include_usage": True}}
        return _rebuilt(
            messages, list(litellm.completion(messages=messages, api_base=f"{url}/v1", **options, **OPENAI))
        )

    return loop(complete)


def openai_async(url: str) -> object:
    async def complete(messages: list[Any]) -> Any:
        return await litellm.acompletion(messages=messages, api_base=f"{url}/v1", **OPENAI)

    return loop(lambda messages: asyncio.run(complete(messages)))


def anthropic_plain(url: str) -> object:
    return loop(lambda messages: litellm.completion(messages=messages, api_base=url, **CLAUDE))


def anthropic_streamed(url: str) -> object:
    def complete(messages: list[Any]) -> Any:
        return _rebuilt(
            messages, list(litellm.completion(messages=messages, api_base=url, stream=True, **CLAUDE))
        )

    return loop(complete)


AGENTS: Mapping[str, Agent] = {
    agent.__name__: agent
    for agent in (openai_plain, openai_streamed, openai_async, anthropic_plain, anthropic_streamed)
}


@pytest.mark.parametrize("name", AGENTS)
def test_every_call_of_a_loop_is_captured_and_nothing_else_changes(name: str) -> None:
    check(AGENTS[name], f"litellm-{name}")
