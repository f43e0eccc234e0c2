"""LlamaIndex's function agent on a Mistral model, plain and streaming."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.core.tools import FunctionTool
from llama_index.llms.mistralai import MistralAI

from wire.compare import Agent, check
from wire.script import QUESTION, SYSTEM, read_file, search, write_note


def agent_of(url: str, *, streaming: bool) -> FunctionAgent:
    model = MistralAI(model="mistral-large-latest", api_key="none", endpoint=f"{url}/mistral")
    tools: Any = [FunctionTool.from_defaults(tool) for tool in (read_file, search, write_note)]
    return FunctionAgent(tools=tools, llm=model, system_prompt=SYSTEM, streaming=streaming)


async def run(url: str, *, streaming: bool) -> object:
    handler = agent_of(url, streaming=streaming).run(QUESTION)
    deltas = [event.delta async for event in handler.stream_events() if isinstance(event, AgentStream)]
    answer = await handler
    results = [[call.tool_name, call.tool_kwargs, str(call.tool_output)] for call in answer.tool_calls]
    return deltas, str(answer), results


def plain(url: str) -> object:
    return asyncio.run(run(url, streaming=False))


def streamed(url: str) -> object:
    return asyncio.run(run(url, streaming=True))


AGENTS: Mapping[str, Agent] = {"plain": plain, "streamed": streamed}


@pytest.mark.parametrize("name", AGENTS)
def test_every_call_of_a_loop_is_captured_and_nothing_else_changes(name: str) -> None:
    check(AGENTS[name], f"llama-{name}")
