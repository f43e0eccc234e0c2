"""LangChain's agents, which run on LangGraph: chat models of OpenAI and Anthropic, with a checkpointer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.messages import HumanMessage
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from wire.compare import Agent, check
from wire.script import QUESTION, SYSTEM, read_file, search, write_note

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

ASKED: Any = {"messages": [HumanMessage(QUESTION, id="question")]}


def openai(url: str, **options: Any) -> BaseChatModel:
    return ChatOpenAI(model="gpt-5-mini", api_key="none", base_url=f"{url}/v1", **options)  # type: ignore[arg-type]


def claude(url: str, **options: Any) -> BaseChatModel:
    return ChatAnthropic(model_name="claude-sonnet-4-5", api_key="none", base_url=url, **options)  # type: ignore[call-arg, arg-type]


def agent_of(model: BaseChatModel) -> Any:
    tools = [read_file, search, write_note]
    return create_agent(model, tools, system_prompt=SYSTEM, checkpointer=InMemorySaver())


def said(state: Any) -> object:
    """Return the messages, less LangChain's own ids of runs."""
    return [message.model_dump(exclude={"id"}) for message in state["messages"]]


CONFIG: Any = {"configurable": {"thread_id": "thread-1"}}


def openai_invoked(url: str) -> object:
    return said(agent_of(openai(url)).invoke(ASKED, CONFIG))


def openai_streamed(url: str) -> object:
    graph = agent_of(openai(url, streaming=True, stream_usage=True))
    return [said(state) for state in graph.stream(ASKED, CONFIG, stream_mode="values")]


def openai_responses(url: str) -> object:
    return said(agent_of(openai(url, use_responses_api=True)).invoke(ASKED, CONFIG))


def openai_async(url: str) -> object:
    return said(asyncio.run(agent_of(openai(url)).ainvoke(ASKED, CONFIG)))


def anthropic_invoked(url: str) -> object:
    return said(agent_of(claude(url)).invoke(ASKED, CONFIG))


def anthropic_streamed(url: str) -> object:
    graph = agent_of(claude(url, streaming=True))
    return [said(state) for state in graph.stream(ASKED, CONFIG, stream_mode="values")]


AGENTS: Mapping[str, Agent] = {
    agent.__name__: agent
    for agent in (
        openai_invoked,
        openai_streamed,
        openai_responses,
        openai_async,
        anthropic_invoked,
        anthropic_streamed,
    )
}


@pytest.mark.parametrize("name", AGENTS)
def test_every_call_of_a_loop_is_captured_and_nothing_else_changes(name: str) -> None:
    check(AGENTS[name], f"langchain-{name}")
