"""Read one span of a model call in the words of the instrumentation that wrote it.

gen_ai.input.messages, gen_ai.prompt.0.content      GenAI conventions, now and before
llm.input_messages.0.message.content                OpenInference
ai.prompt.messages                                  Vercel's AI SDK
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ctxheap.heap.model import Part, Usage
from ctxheap.providers import openai
from ctxheap.providers.json_fields import Fields, fields, items, objects, string, tokens
from ctxheap_collector.transcripts.spoken_shapes import decoded, message_parts, spoken

_CALLS = frozenset({"chat", "generate_content", "text_completion"})
_INPUT = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "ai.usage.inputTokens",
)
_OUTPUT = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
)
_READ = (
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "llm.token_count.prompt_details.cache_read",
    "ai.usage.cachedInputTokens",
)
_WRITTEN = (
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.details.cache_write_tokens",
    "llm.token_count.prompt_details.cache_write",
)
_REASONING = (
    "gen_ai.usage.reasoning.output_tokens",
    "gen_ai.usage.reasoning_tokens",
    "gen_ai.usage.details.reasoning_tokens",
    "llm.token_count.completion_details.reasoning",
    "ai.usage.reasoningTokens",
)
_SESSIONS = (
    "session.id",
    "gen_ai.conversation.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
)
_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id")


@dataclass(frozen=True, slots=True)
class Span:
    """Hold one span: its ids, when it began and ended, and its attributes with those of its events."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, object]

    @property
    def is_call(self) -> bool:
        """Say whether the span is one inference call."""
        told = self.attributes
        operation = string(told.get("ai.operationId"))
        return (
            string(told.get("gen_ai.operation.name")) in _CALLS
            or told.get("openinference.span.kind") == "LLM"
            or told.get("llm.request.type") in ("chat", "completion")
            or operation.endswith((".doGenerate", ".doStream"))
        )

    @property
    def session(self) -> str:
        """Return the session that the span names, "" when it names none."""
        return self._first(_SESSIONS)

    @property
    def response_id(self) -> str:
        """Return the provider's id of the response, "" when it is not told."""
        return self._first(("gen_ai.response.id", "llm.response.id", "ai.response.id"))

    @property
    def model(self) -> str:
        """Return the name of the model that answered, else of the one that was asked."""
        return self._first(_MODELS)

    @property
    def provider(self) -> str:
        """Return the provider as the span names it."""
        return self._first(("gen_ai.provider.name", "gen_ai.system", "llm.provider"))

    def _first(self, keys: Sequence[str]) -> str:
        return next((found for key in keys if (found := string(self.attributes.get(key)))), "")

    def usage(self) -> Usage | None:
        """Return the usage; input holds what the cache served, unless it is too small for that."""
        if not any(key in self.attributes for key in (*_INPUT, *_OUTPUT)):
            return None
        entered, output = self._most(_INPUT), self._most(_OUTPUT)
        read, written = self._most(_READ), self._most(_WRITTEN)
        reasoning = min(output, self._most(_REASONING))
        uncached = entered - read - written if entered >= read + written else entered
        return Usage(uncached, read, written, output=output, reasoning=reasoning)

    def _most(self, keys: Sequence[str]) -> int:
        return max(tokens(self.attributes.get(key)) for key in keys)

    def prompt(self, tools: dict[str, str]) -> list[Part]:
        """Return tool definitions, system prompt and messages."""
        told = self.attributes
        parts = openai.tool_definitions(list(self._definitions()))
        system = decoded(told.get("gen_ai.system_instructions"))
        if system:
            said = {"role": "system", "content": system} if isinstance(system, str) else None
            parts += message_parts(said or {"role": "system", "parts": system}, tools=tools, where="system")
        for index, message in enumerate(self._messages(_ASKED)):
            parts += message_parts(message, tools=tools, where=f"{self.span_id}:{index}")
        return parts

    def output(self, tools: dict[str, str]) -> list[Part]:
        """Return what the model returned."""
        parts: list[Part] = []
        for message in self._messages(_ANSWERED):
            body = message if isinstance(message, str) else {"role": "assistant", **fields(message)}
            parts += message_parts(body, tools=tools, where=f"{self.span_id}:output")
        text, called = string(self.attributes.get("ai.response.text")), self._vercel_calls()
        if not parts and (text or called):
            blocks = [{"type": "text", "text": text}] if text else []
            answer = {"role": "assistant", "content": [*blocks, *called]}
            parts = message_parts(answer, tools=tools, where=f"{self.span_id}:output")
        return parts

    def _vercel_calls(self) -> list[dict[str, object]]:
        called = objects(decoded(self.attributes.get("ai.response.toolCalls")))
        return [{**call, "type": "tool-call"} for call in called]

    def _definitions(self) -> Iterator[object]:
        told = self.attributes
        for key in ("gen_ai.tool.definitions", "ai.prompt.tools"):
            for tool in items(decoded(told.get(key))):
                yield decoded(tool)
        for tool in _listed(told, "llm.tools."):
            yield decoded(fields(fields(tool).get("tool")).get("json_schema"))
        for tool in _listed(told, "llm.request.functions."):
            yield {"type": "function", "function": tool}

    def _messages(self, keys: tuple[tuple[str, ...], tuple[str, ...], str]) -> Sequence[object]:
        whole, numbered, nested = keys
        for key in whole:
            given = decoded(self.attributes.get(key))
            if listed := items(given):
                return listed
            if isinstance(given, str) and given:
                return spoken(given)
        for prefix in numbered:
            if flat := _listed(self.attributes, prefix):
                return [_unflattened(fields(message)) for message in flat]
        return [
            _unflattened(fields(fields(item).get("message"))) for item in _listed(self.attributes, nested)
        ]


_ASKED = (("gen_ai.input.messages", "ai.prompt.messages"), ("gen_ai.prompt.",), "llm.input_messages.")
_ANSWERED = (("gen_ai.output.messages",), ("gen_ai.completion.",), "llm.output_messages.")


def _listed(told: Mapping[str, object], prefix: str) -> list[object]:
    """Return the list that was flattened into keys like `prefix` + `0.message.role`."""
    root: dict[str, object] = {}
    for key, value in told.items():
        if not key.startswith(prefix):
            continue
        *steps, last = key[len(prefix) :].split(".")
        inner = root
        for step in steps:
            known = inner.get(step)
            found: dict[str, object] = dict(fields(known)) if known is not None else {}
            inner[step] = found
            inner = found
        inner[last] = value
    return [root[key] for key in sorted(filter(str.isdigit, root), key=int)]


def _numbered(value: object) -> list[Fields]:
    body = fields(value)
    return [fields(body[key]) for key in sorted(filter(str.isdigit, body), key=int)]


def _unflattened(message: Fields) -> Fields:
    """Return a message whose blocks and calls were numbered keys."""
    calls = [_call(fields(call.get("tool_call")) or call) for call in _numbered(message.get("tool_calls"))]
    blocks = [fields(block.get("message_content")) or block for block in _numbered(message.get("contents"))]
    content = [{"type": "text", **block} for block in blocks] or decoded_text(message.get("content"))
    return {**message, "content": content, "tool_calls": calls, "tool_call_id": _tool_call_id(message)}


def decoded_text(content: object) -> object:
    """Return content whose blocks were written as a string of JSON; other texts stay what they are."""
    given = decoded(content)
    return given if any("type" in block for block in objects(given)) else content


def _tool_call_id(message: Fields) -> object:
    # The key of an id has a dot-free name of its own in both dialects.
    return message.get("tool_call_id") or (message.get("id") if message.get("role") == "tool" else None)


def _call(call: Fields) -> Fields:
    inner = fields(call.get("function")) or call
    return {
        "id": call.get("id"),
        "function": {"name": inner.get("name"), "arguments": inner.get("arguments")},
    }
