"""The google-genai SDK: sync over httpx, async over aiohttp, plain and streaming."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from google import genai
from google.genai import types

from wire.compare import Agent, check
from wire.script import QUESTION, SYSTEM, TOOLS, run_tool, schema

GEMINI = "gemini-3-pro"
CONFIG = types.GenerateContentConfig(
    system_instruction=SYSTEM,
    tools=[
        types.Tool(
            function_declarations=[
                types.FunctionDeclaration(
                    name=name, description=f"Tool {name}.", parameters_json_schema=schema(name)
                )
                for name in TOOLS
            ]
        )
    ],
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)


def client(url: str) -> genai.Client:
    return genai.Client(api_key="none", http_options=types.HttpOptions(base_url=url))


def begin() -> list[Any]:
    return [types.Content(role="user", parts=[types.Part(text=QUESTION)])]


def go_on(contents: list[Any], parts: list[types.Part]) -> bool:
    contents.append(types.Content(role="model", parts=parts))
    calls = [part.function_call for part in parts if part.function_call]
    results = [
        types.Part.from_function_response(
            name=call.name or "", response={"result": run_tool(call.name or "", call.args or {})}
        )
        for call in calls
    ]
    if results:
        contents.append(types.Content(role="user", parts=results))
    return bool(calls)


def parts_of(response: types.GenerateContentResponse) -> list[types.Part]:
    candidates = response.candidates or []
    content = candidates[0].content if candidates else None
    return list(content.parts or []) if content else []


def plain(url: str) -> object:
    contents, answers = begin(), list[Any]()
    with client(url) as one:
        while True:
            answer = one.models.generate_content(model=GEMINI, contents=contents, config=CONFIG)
            answers.append(answer.model_dump(mode="json", exclude={"sdk_http_response"}))
            if not go_on(contents, parts_of(answer)):
                return answers


def streamed(url: str) -> object:
    contents, answers = begin(), list[Any]()
    with client(url) as one:
        while True:
            parts = list[types.Part]()
            for chunk in one.models.generate_content_stream(model=GEMINI, contents=contents, config=CONFIG):
                answers.append(chunk.model_dump(mode="json", exclude={"sdk_http_response"}))
                parts += parts_of(chunk)
            if not go_on(contents, parts):
                return answers


def async_plain(url: str) -> object:
    async def loop() -> object:
        contents, answers = begin(), list[Any]()
        async with client(url).aio as one:
            while True:
                answer = await one.models.generate_content(model=GEMINI, contents=contents, config=CONFIG)
                answers.append(answer.model_dump(mode="json", exclude={"sdk_http_response"}))
                if not go_on(contents, parts_of(answer)):
                    return answers

    return asyncio.run(loop())


def async_streamed(url: str) -> object:
    async def loop() -> object:
        contents, answers = begin(), list[Any]()
        async with client(url).aio as one:
            while True:
                parts = list[types.Part]()
                async for chunk in await one.models.generate_content_stream(
                    model=GEMINI, contents=contents, config=CONFIG
                ):
                    answers.append(chunk.model_dump(mode="json", exclude={"sdk_http_response"}))
                    parts += parts_of(chunk)
                if not go_on(contents, parts):
                    return answers

    return asyncio.run(loop())


LOOPS: Mapping[str, Agent] = {
    "plain": plain,
    "streamed": streamed,
    "async_plain": async_plain,
    "async_streamed": async_streamed,
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("gzip", [False, True], ids=["identity", "gzip"])
def test_every_call_of_a_loop_is_captured_and_nothing_else_changes(loop: str, *, gzip: bool) -> None:
    check(LOOPS[loop], f"gemini-{loop}", gzip=gzip)
