"""Say for each wire format where its requests and responses keep what a call is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from ctxheap.heap.model import Part, Usage
from ctxheap.providers import (
    anthropic,
    anthropic_stream,
    bedrock,
    bedrock_stream,
    gemini,
    ollama,
    openai,
    openai_responses_stream,
    openai_stream,
)
from ctxheap.providers.json_fields import Fields, fields, items, objects, string


class MessageParts(Protocol):
    """Read one message."""

    def __call__(self, message: object, /, *, tools: dict[str, str], where: str) -> list[Part]:
        """Return its parts; `tools` are tool names by call id, added to."""
        ...


@dataclass(frozen=True, slots=True)
class Format:
    """Describe a wire format.

    Attributes:
        list_key: The request's field that holds the history.
        opening_keys: Its fields that hold tool definitions and system prompt.
        opening: Reads those.
        message_parts: Reads one message of the history or of the answer.
        answers: Yields the messages of a response.
        usage: Reads what was billed; None where nothing was reported.
        finish_reasons: Yields why the model stopped, once a choice.
        whole: Puts the pieces of a stream together.
        marks: Fields of which a response has at least one.
        settings: The request's field that holds its parameters, "" for the top.
    """

    list_key: str
    opening_keys: tuple[str, ...]
    opening: Callable[[Fields], list[Part]]
    message_parts: MessageParts
    answers: Callable[[Fields], Iterator[object]]
    usage: Callable[[Fields], Usage | None]
    finish_reasons: Callable[[Fields], Iterator[object]]
    whole: Callable[[Iterable[Fields]], Fields]
    marks: tuple[str, ...]
    settings: str = ""


def format_of(name: str, request: Fields) -> Format:
    """Return the format of a request; Bedrock's `invoke` hands on what its models speak."""
    if name == "bedrock" and "anthropic_version" in request:
        return FORMATS["anthropic"]
    return FORMATS[name]


def _openai_opening(request: Fields) -> list[Part]:
    return openai.tool_definitions(request.get("tools") or request.get("functions"))


def _responses_opening(request: Fields) -> list[Part]:
    parts = openai.tool_definitions(request.get("tools"))
    given = request.get("instructions")
    if isinstance(given, str):
        given = [{"role": "system", "content": given}]
    for message in objects(given):
        parts += openai.message_parts(message, tools={}, where="instructions")
    return parts


def _anthropic_opening(request: Fields) -> list[Part]:
    return anthropic.tool_definitions(request.get("tools")) + anthropic.system_parts(request.get("system"))


def _choices(response: Fields) -> Iterator[object]:
    for choice in objects(response.get("choices")):
        yield {**fields(choice.get("message")), "role": "assistant"}


def _output(response: Fields) -> Iterator[object]:
    yield from items(response.get("output"))


def _content(response: Fields) -> Iterator[object]:
    yield {"role": "assistant", "content": response.get("content")}


def _message(response: Fields) -> Iterator[object]:
    if message := fields(response.get("message")):
        yield {**message, "role": "assistant"}


def _converse_message(response: Fields) -> Iterator[object]:
    message = fields(fields(response.get("output")).get("message"))
    yield {**message, "role": "assistant"}


def _candidates(response: Fields) -> Iterator[object]:
    for candidate in objects(response.get("candidates")):
        yield {**fields(candidate.get("content")), "role": "model"}


def _openai_usage(response: Fields) -> Usage | None:
    # Ollama's counts stand at the top.
    raw = response.get("usage") or response
    tier = string(response.get("service_tier"))
    return openai.usage_of(raw, service_tier=tier) if openai.reports_usage(raw) else None


def _anthropic_usage(response: Fields) -> Usage | None:
    raw = response.get("usage")
    return anthropic.usage_of(raw) if anthropic.reports_usage(raw) else None


def _from_each(key: str, name: str) -> Callable[[Fields], Iterator[object]]:
    return lambda response: (gemini.named(each, name) for each in objects(response.get(key)))


def _from_top(name: str) -> Callable[[Fields], Iterator[object]]:
    return lambda response: iter((response.get(name),))


FORMATS: Mapping[str, Format] = {
    "openai": Format(
        list_key="messages",
        opening_keys=("tools", "functions"),
        opening=_openai_opening,
        message_parts=openai.message_parts,
        answers=_choices,
        usage=_openai_usage,
        finish_reasons=_from_each("choices", "finish_reason"),
        whole=openai_stream.whole,
        marks=("choices", "error", "usage"),
    ),
    "responses": Format(
        list_key="input",
        opening_keys=("tools", "instructions"),
        opening=_responses_opening,
        message_parts=openai.message_parts,
        answers=_output,
        usage=_openai_usage,
        finish_reasons=_from_top("status"),
        whole=openai_responses_stream.whole,
        marks=("output", "error", "usage"),
    ),
    "anthropic": Format(
        list_key="messages",
        opening_keys=("tools", "system"),
        opening=_anthropic_opening,
        message_parts=anthropic.message_parts,
        answers=_content,
        usage=_anthropic_usage,
        finish_reasons=_from_top("stop_reason"),
        whole=anthropic_stream.whole,
        marks=("content", "error", "usage"),
    ),
    "gemini": Format(
        list_key="contents",
        opening_keys=("tools", "systemInstruction", "system_instruction"),
        opening=gemini.opening,
        message_parts=gemini.message_parts,
        answers=_candidates,
        usage=gemini.usage_of,
        finish_reasons=_from_each("candidates", "finishReason"),
        whole=gemini.whole,
        marks=("candidates", "error", "usageMetadata", "promptFeedback"),
        settings="generationConfig",
    ),
    "bedrock": Format(
        list_key="messages",
        opening_keys=("toolConfig", "system"),
        opening=bedrock.opening,
        message_parts=bedrock.message_parts,
        answers=_converse_message,
        usage=bedrock.usage_of,
        finish_reasons=_from_top("stopReason"),
        whole=bedrock_stream.whole,
        marks=("output", "usage"),
        settings="inferenceConfig",
    ),
    "ollama": Format(
        list_key="messages",
        opening_keys=("tools",),
        opening=_openai_opening,
        message_parts=ollama.message_parts,
        answers=_message,
        usage=_openai_usage,
        finish_reasons=_from_top("done_reason"),
        whole=openai_stream.whole_lines,
        marks=("message", "done", "error"),
    ),
}
