"""The mistralai and groq SDKs: their own clients of an OpenAI-like API, each with its own stream of usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import groq
import orjson
import pytest
from mistralai.client import Mistral

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


def begin() -> list[Any]:
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]


def go_on(messages: list[Any], message: Any) -> bool:
    messages.append(message.model_dump(exclude_none=True, mode="json"))
    for call in message.tool_calls or []:
        arguments = call.function.arguments
        given = fields(orjson.loads(arguments) if isinstance(arguments, str) else arguments)
        result = run_tool(call.function.name, given)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return bool(message.tool_calls)


def groq_plain(url: str) -> object:
    messages, answers = begin(), list[Any]()
    client = groq.Groq(api_key="none", base_url=url)
    while True:
        answer = client.chat.completions.create(model="llama-3.3-70b", messages=messages, tools=TOOL_LIST)
        answers.append(answer)
        if not go_on(messages, answer.choices[0].message):
            return answers


def groq_streamed(url: str) -> object:
    client = groq.Groq(api_key="none", base_url=url)
    return list(
        client.chat.completions.create(model="llama-3.3-70b", messages=begin(), tools=TOOL_LIST, stream=True)
    )


def mistral_plain(url: str) -> object:
    messages, answers = begin(), list[Any]()
    with Mistral(api_key="none", server_url=f"{url}/mistral") as client:
        while True:
            answer = client.chat.complete(model="mistral-large", messages=messages, tools=TOOL_LIST)
            answers.append(answer)
            if not go_on(messages, answer.choices[0].message):
                return answers


def mistral_streamed(url: str) -> object:
    with (
        Mistral(api_key="none", server_url=f"{url}/mistral") as client,
        client.chat.stream(model="mistral-large", messages=begin(), tools=TOOL_LIST) as events,
    ):
        return list(events)


AGENTS: Mapping[str, tuple[Agent, int]] = {
    "groq_plain": (groq_plain, 4),
    "groq_streamed": (groq_streamed, 1),
    "mistral_plain": (mistral_plain, 4),
    "mistral_streamed": (mistral_streamed, 1),
}


@pytest.mark.parametrize("name", AGENTS)
def test_every_call_of_a_loop_is_captured_and_nothing_else_changes(name: str) -> None:
    agent, calls = AGENTS[name]
    tools = ("tool_result:read_file", "tool_result:search", "tool_result:write_note") if calls == 4 else ()
    check(agent, name, calls=calls, tools=tools)
