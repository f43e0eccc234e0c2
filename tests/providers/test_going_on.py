"""Reading goes on from the call before, in every format, as if it had started anew."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from providers.exchanges import CHAT, CONVERSE, GEMINI, MESSAGES, OLLAMA, RESPONSES, read

Json = dict[str, object]
LONG = "result " * 200


def chat(number: int) -> list[Json]:
    function = {"name": "read", "arguments": f'{{"n": {number // 2}}}'}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} {LONG}"},
    ]


def responses(number: int) -> list[Json]:
    return [
        {"type": "function_call", "call_id": f"c{number}", "name": "read", "arguments": f'{{"n": {number}}}'},
        {"type": "function_call_output", "call_id": f"c{number}", "output": f"{number} {LONG}"},
    ]


def messages(number: int) -> list[Json]:
    use = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"n": number}}
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"{number} {LONG}"}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def gemini(number: int) -> list[Json]:
    calls = [{"functionCall": {"name": "read", "args": {"n": number // 2}}} for _ in range(2)]
    results = [
        {"functionResponse": {"name": "read", "response": {"result": f"{number} {at} {LONG}"}}} for at in "ab"
    ]
    return [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]


def converse(number: int) -> list[Json]:
    use = {"toolUse": {"toolUseId": f"c{number}", "name": "read", "input": {"n": number}}}
    result = {"toolResult": {"toolUseId": f"c{number}", "content": [{"text": f"{number} {LONG}"}]}}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def ollama(number: int) -> list[Json]:
    call = {"function": {"name": "read", "arguments": {"n": number // 2}}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_name": "read", "content": f"{number} {LONG}"},
    ]


FORMATS: dict[str, tuple[str, str, Callable[[int], list[Json]]]] = {
    "chat": (CHAT, "messages", chat),
    "responses": (RESPONSES, "input", responses),
    "messages": (MESSAGES, "messages", messages),
    "gemini": (GEMINI, "contents", gemini),
    "converse": (CONVERSE, "messages", converse),
    "ollama": (OLLAMA, "messages", ollama),
}
ANSWERS: dict[str, Callable[[Json], Json]] = {
    "chat": lambda said: {"choices": [{"message": said}]},
    "responses": lambda said: {"output": [said]},
    "messages": lambda said: {"content": said["content"]},
    "gemini": lambda said: {"candidates": [{"content": said}]},
    "converse": lambda said: {"output": {"message": said}},
    "ollama": lambda said: {"message": said, "done": True},
}


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_parts_result_and_those_that_stayed_are_the_same_objects(name: str) -> None:
    url, key, turn = FORMATS[name]
    known = None
    history = [each for number in range(4) for each in turn(number)]
    for number in range(4, 8):
        request = {key: history, "model": "m", "tools": []}
        answer = ANSWERS[name](turn(number)[0])

        anew = read(url, request, answer)
        going_on = read(url, request, answer, known=known)

        assert [(part.identity, part.tag, part.tool, part.call_id) for part in going_on.exchange.prompt] == [
            (part.identity, part.tag, part.tool, part.call_id) for part in anew.exchange.prompt
        ]
        if known is not None:
            stayed = (*known.parts, *known.answer)
            assert all(new is old for new, old in zip(going_on.exchange.prompt, stayed, strict=False))
            assert going_on.prefix.decoded.kept == len(history) - 2
        known = going_on.prefix
        history = [*history, *turn(number)]


@pytest.mark.parametrize("name", FORMATS)
def test_every_result_is_tied_to_the_call_that_asked_for_it(name: str) -> None:
    url, key, turn = FORMATS[name]
    request = {key: [each for number in range(4) for each in turn(number)], "model": "m"}

    prompt = read(url, request, ANSWERS[name](turn(4)[0])).exchange.prompt

    calls = [part.call_id for part in prompt if part.kind == "tool_call"]
    results = [part.call_id for part in prompt if part.kind == "tool_result"]
    assert calls == results
    assert all(calls)
