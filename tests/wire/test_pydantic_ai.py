"""Pydantic AI: models of OpenAI and Anthropic, plain and streaming."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from wire.compare import Agent, check
from wire.script import MODEL, QUESTION, SYSTEM, read_file, search, write_note

if TYPE_CHECKING:
    from pydantic_ai.models import Model


def openai(url: str) -> OpenAIProvider:
    return OpenAIProvider(base_url=f"{url}/v1", api_key="none")


def claude(url: str) -> Model:
    return AnthropicModel("claude-sonnet-4-5", provider=AnthropicProvider(base_url=url, api_key="none"))


def agent_of(model: Model) -> PydanticAgent[None, str]:
    return PydanticAgent(model, instructions=SYSTEM, tools=[read_file, search, write_note])


def said(result: Any) -> object:
    return result.all_messages_json().decode()


async def streamed(model: Model) -> object:
    async with agent_of(model).run_stream(QUESTION) as result:
        pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
    return pieces, said(result)


def chat(url: str) -> object:
    return said(agent_of(OpenAIChatModel(MODEL, provider=openai(url))).run_sync(QUESTION))


def responses(url: str) -> object:
    return said(agent_of(OpenAIResponsesModel(MODEL, provider=openai(url))).run_sync(QUESTION))


def anthropic(url: str) -> object:
    return said(agent_of(claude(url)).run_sync(QUESTION))


def chat_streamed(url: str) -> object:
    async def events() -> object:
        found = list[str]()
        async with agent_of(OpenAIChatModel(MODEL, provider=openai(url))).iter(QUESTION) as run:
            async for node in run:
                if PydanticAgent.is_model_request_node(node):
                    async with node.stream(run.ctx) as stream:
                        found += [type(event).__name__ async for event in stream]
        return found, said(run.result)

    return asyncio.run(events())


AGENTS: Mapping[str, Agent] = {agent.__name__: agent for agent in (chat, responses, anthropic, chat_streamed)}


@pytest.mark.parametrize("name", AGENTS)
def test_every_call_of_a_loop_is_captured_and_nothing_else_changes(name: str) -> None:
    check(AGENTS[name], f"pydantic-{name}")
