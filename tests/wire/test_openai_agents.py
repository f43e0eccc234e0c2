"""The OpenAI Agents SDK: Responses and chat completions, plain and streaming."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from agents import Agent as Agents
from agents import (
    Model,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    SQLiteSession,
    function_tool,
)
from openai import AsyncOpenAI

from wire.compare import Agent, check
from wire.script import MODEL, QUESTION, SYSTEM, read_file, search, write_note

CONFIG = RunConfig(tracing_disabled=True)


def client(url: str) -> AsyncOpenAI:
    return AsyncOpenAI(api_key="none", base_url=f"{url}/v1")


def agent_of(model: Model) -> Agents[Any]:
    tools: list[Any] = [function_tool(tool) for tool in (read_file, search, write_note)]
    return Agents(name="analyst", instructions=SYSTEM, model=model, tools=tools)


async def run(model: Model) -> object:
    session = SQLiteSession("conversation-1")
    result = await Runner.run(agent_of(model), QUESTION, run_config=CONFIG, session=session)
    return result.final_output, result.to_input_list()


async def run_streamed(model: Model) -> object:
    result = Runner.run_streamed(agent_of(model), QUESTION, run_config=CONFIG)
    kinds = [event.type async for event in result.stream_events()]
    return kinds, result.final_output, result.to_input_list()


def responses(url: str) -> object:
    return asyncio.run(run(OpenAIResponsesModel(MODEL, client(url))))


def responses_streamed(url: str) -> object:
    return asyncio.run(run_streamed(OpenAIResponsesModel(MODEL, client(url))))


def chat(url: str) -> object:
    return asyncio.run(run(OpenAIChatCompletionsModel(MODEL, client(url))))


def chat_streamed(url: str) -> object:
    return asyncio.run(run_streamed(OpenAIChatCompletionsModel(MODEL, client(url))))


AGENTS: Mapping[str, Agent] = {
    agent.__name__: agent for agent in (responses, responses_streamed, chat, chat_streamed)
}


@pytest.mark.parametrize("name", AGENTS)
def test_every_call_of_a_loop_is_captured_and_nothing_else_changes(name: str) -> None:
    check(AGENTS[name], f"agents-{name}")
