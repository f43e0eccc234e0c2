"""Tell the two wire formats of messages apart, and whose model a name belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ctxheap.heap.model import Part, Usage
from ctxheap.providers import anthropic, openai
from ctxheap.providers.json_fields import Fields, fields, objects, string

_ANTHROPIC_BLOCKS = frozenset({"tool_use", "tool_result", "redacted_thinking", "server_tool_use"})
_OPENAI_ROLES = frozenset({"system", "developer", "tool", "function"})
# As in the GenAI conventions; the first that a model's own name (behind the last slash) holds.
_PROVIDERS = (
    ("claude", "anthropic"),
    ("gemini", "gcp.gemini"),
    ("deepseek", "deepseek"),
    ("mistral", "mistral_ai"),
    ("grok", "x_ai"),
    ("command-r", "cohere"),
    ("gpt", "openai"),
)
_OPENAI_PREFIXES = ("o1", "o3", "o4", "codex", "chatgpt")


class MessageParts(Protocol):
    """Make the parts of one message."""

    def __call__(self, message: object, *, tools: dict[str, str], where: str) -> list[Part]:
        """Return the parts, and remember in `tools` whose calls have which id."""
        ...


class ToolDefinitions(Protocol):
    """Make the parts of a request's tools."""

    def __call__(self, tools: object) -> list[Part]:
        """Return one part a tool."""
        ...


class UsageOf(Protocol):
    """Normalise a usage."""

    def __call__(self, raw: object) -> Usage:
        """Return disjoint token classes."""
        ...


@dataclass(frozen=True, slots=True)
class Wire:
    """Hold the functions that read one wire format.

    `provider` is whose format it is where nobody else speaks it, "" for the one that everybody does.
    """

    provider: str
    message_parts: MessageParts
    tool_definitions: ToolDefinitions
    usage_of: UsageOf


OPENAI = Wire("", openai.message_parts, openai.tool_definitions, openai.usage_of)
ANTHROPIC = Wire("anthropic", anthropic.message_parts, anthropic.tool_definitions, anthropic.usage_of)


def provider_on(wire: Wire, model: str) -> str:
    """Return the provider of a call: by the model's name, else by the wire format."""
    return provider_of(model) or wire.provider


def wire_of(request: Fields, messages: Sequence[object]) -> Wire:
    """Return the wire format of a request body or a saved list of messages."""
    if any(map(has_anthropic_blocks, messages)):
        return ANTHROPIC
    if any(map(_is_openai_message, messages)):
        return OPENAI
    has_schemas = any("input_schema" in tool for tool in objects(request.get("tools")))
    return ANTHROPIC if request.get("system") or has_schemas else OPENAI


def _is_openai_message(message: object) -> bool:
    body = fields(message)
    return string(body.get("role")) in _OPENAI_ROLES or bool(
        body.get("tool_calls") or body.get("function_call")
    )


def has_anthropic_blocks(message: object) -> bool:
    """Say whether a message holds blocks that only Anthropic's format has."""
    blocks = objects(fields(message).get("content"))
    # Mistral's thinking blocks hold a list, Anthropic's a string and a signature.
    return any(
        string(block.get("type")) in _ANTHROPIC_BLOCKS or string(block.get("thinking")) for block in blocks
    )


def provider_of(model: str) -> str:
    """Return the provider that a model's name belongs to, "" when it tells nothing."""
    name = model.lower().rpartition("/")[2]
    if name.startswith(_OPENAI_PREFIXES):
        return "openai"
    return next((provider for mark, provider in _PROVIDERS if mark in name), "")
