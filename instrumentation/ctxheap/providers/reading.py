"""Read a request and its response into an exchange, going on from the request before.

Agents send their history again with every call. Reading goes on from a `Prefix`, so that it costs
what is new, and hands over the same `Part` objects for what stayed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import orjson

from ctxheap.heap.model import Exchange, Part, Usage
from ctxheap.heap.stitch import Chain
from ctxheap.pace import breathe
from ctxheap.providers import anthropic, openai
from ctxheap.providers.encodings import plain
from ctxheap.providers.increment import Decoded, decode
from ctxheap.providers.json_fields import Fields, fields, items, objects, string
from ctxheap.providers.wire import Endpoint, Response, UnreadableError

LIST_KEYS = ("messages", "input", "contents")
_OPENING_KEYS = ("tools", "functions", "system", "instructions")


@dataclass(frozen=True, slots=True)
class Prefix:
    """Hold what the next request may have in common with this one; opaque to the capture.

    Attributes:
        decoded: The request, for finding where the next one goes on.
        opening: Parts of tool definitions and system prompt.
        parts: Parts of the messages, flat.
        ends: For each message, the number of parts up to its end.
        stored: Parts that a stateful API keeps in front of the messages.
        answer: Parts of the response.
        tools: Tool names by call id.
        outputs: What the model returned, by identity; it comes back as the very same parts.
    """

    decoded: Decoded
    opening: tuple[Part, ...]
    parts: tuple[Part, ...]
    ends: Sequence[int]
    stored: tuple[Part, ...]
    answer: tuple[Part, ...]
    tools: Mapping[str, str]
    outputs: Mapping[bytes, Part]

    @property
    def raw(self) -> bytes:
        """Return the request's body."""
        return self.decoded.raw


@dataclass(frozen=True, slots=True)
class Reading:
    """Hold what a call says.

    Attributes:
        exchange: The call; its `call_id` is "" where the response has no id, `usage` is None where
            none was reported (a stream that was cut, or a server that sends none).
        prefix: What to read the next request with.
        chain: What a stateful API says about the call.
        request_model: The model that was asked for.
        finish_reasons: As the provider names them, one for each choice.
        parameters: Other fields of the request, decoded: temperature, max_tokens, stream, …
    """

    exchange: Exchange
    prefix: Prefix
    chain: Chain = field(default_factory=Chain)
    request_model: str = ""
    finish_reasons: tuple[str, ...] = ()
    parameters: Fields = field(default_factory=dict[str, object])


class Stored(Protocol):
    """Find what a stateful API keeps."""

    def __call__(self, name: str) -> Prefix | None:
        """Return the prefix of the call with that response id or conversation, None if unknown."""
        ...


def read(
    endpoint: Endpoint,
    request: bytes,
    response: Response,
    *,
    known: Prefix | None = None,
    stored: Stored | None = None,
) -> Reading:
    """Return what a call says; as `Endpoint.read`, which see."""
    try:
        decoded = decode(request, LIST_KEYS, known.decoded if known else None)
    except ValueError as error:
        raise UnreadableError(f"the request is no JSON object: {error}") from error
    if not decoded.kept:
        known = None
    return _read(endpoint, decoded, _body(response), known, stored)


def _body(response: Response) -> Fields:
    try:
        body = fields(orjson.loads(plain(response.body, response.content_encoding)))
    except ValueError as error:
        raise UnreadableError(f"the response is no JSON: {error}") from error
    if not body:
        raise UnreadableError("the response is no JSON object")
    return body


def _read(
    endpoint: Endpoint, decoded: Decoded, response: Fields, known: Prefix | None, stored: Stored | None
) -> Reading:
    request = decoded.fields
    tools = dict(known.tools) if known else {}
    outputs = dict(known.outputs) if known else {}
    chained = _chain_name(request)
    link = stored(chained) if stored and chained else None
    if link is not None:
        tools.update(link.tools)
        outputs.update(link.outputs)
    opening = _opening(endpoint, request, known)
    parts, ends = _messages(endpoint, decoded, known, tools=tools, outputs=outputs)
    usage = _usage(endpoint, response)
    output = _output(endpoint, response, usage, tools)
    outputs.update((part.identity, part) for part in output)
    history = (*link.stored, *link.parts, *link.answer) if link else ()
    model = string(response.get("model")) or string(request.get("model")) or endpoint.model
    response_id = string(response.get("id"))
    prefix = Prefix(decoded, opening, parts, ends, history, tuple(output), tools, outputs)
    exchange = Exchange(
        call_id=response_id,
        prompt=(*opening, *history, *parts),
        output=tuple(output),
        model=model,
        provider=endpoint.provider,
        usage=usage,
        incomplete=bool(chained) and link is None,
    )
    return Reading(
        exchange,
        prefix,
        Chain(response_id, string(request.get("previous_response_id")), _conversation(request)),
        string(request.get("model")) or endpoint.model,
        tuple(_finish_reasons(response)),
        request,
    )


def _opening(endpoint: Endpoint, request: Fields, known: Prefix | None) -> tuple[Part, ...]:
    if known and all(known.decoded.fields.get(key) == request.get(key) for key in _OPENING_KEYS):
        return known.opening
    if endpoint.format == "anthropic":
        made = anthropic.tool_definitions(request.get("tools"))
        made += anthropic.system_parts(request.get("system"))
    else:
        made = openai.tool_definitions(request.get("tools") or request.get("functions"))
        if instructions := request.get("instructions"):
            message = {"role": "system", "content": instructions}
            made += openai.message_parts(message, tools={}, where="instructions")
    same = {part.identity: part for part in known.opening} if known else {}
    return tuple(same.get(part.identity, part) for part in made)


def _messages(
    endpoint: Endpoint,
    decoded: Decoded,
    known: Prefix | None,
    *,
    tools: dict[str, str],
    outputs: Mapping[bytes, Part],
) -> tuple[tuple[Part, ...], Sequence[int]]:
    """Return the parts of all messages and where each ends; those that were kept are not made again."""
    ends = list(known.ends[: decoded.kept]) if known else []
    kept = known.parts[: ends[-1]] if known and ends else ()
    messages = decoded.new
    if isinstance(text := decoded.fields.get("input"), str):
        messages = [{"role": "user", "content": text}]
    # A message that only lost its cache mark reads as the part that it was.
    before = {part.identity: part for part in known.parts[len(kept) :]} if known else {}
    message_parts = anthropic.message_parts if endpoint.format == "anthropic" else openai.message_parts
    added: list[Part] = []
    for index, message in enumerate(messages, decoded.kept):
        breathe()
        made = message_parts(message, tools=tools, where=str(index))
        added += [outputs.get(part.identity) or before.get(part.identity, part) for part in made]
        ends.append(len(kept) + len(added))
    return (*kept, *added), ends


def _usage(endpoint: Endpoint, response: Fields) -> Usage | None:
    raw = response.get("usage") or response
    if endpoint.format == "anthropic":
        return anthropic.usage_of(raw) if anthropic.reports_usage(raw) else None
    if not openai.reports_usage(raw):
        return None
    return openai.usage_of(raw, service_tier=string(response.get("service_tier")))


def _output(endpoint: Endpoint, response: Fields, usage: Usage | None, tools: dict[str, str]) -> list[Part]:
    message_parts = anthropic.message_parts if endpoint.format == "anthropic" else openai.message_parts
    parts: list[Part] = []
    for index, message in enumerate(_answers(response)):
        parts += message_parts(message, tools=tools, where=f"output:{index}")
    return openai.with_reasoning_tokens(parts, usage.reasoning) if usage else parts


def _answers(response: Fields) -> Iterator[object]:
    for choice in objects(response.get("choices")):
        yield {"role": "assistant", **fields(choice.get("message"))}
    yield from items(response.get("output"))
    if content := response.get("content"):
        yield {"role": "assistant", "content": content}
    if message := fields(response.get("message")):
        yield {"role": "assistant", **message}


def _finish_reasons(response: Fields) -> Iterator[str]:
    for choice in objects(response.get("choices")):
        if reason := string(choice.get("finish_reason")):
            yield reason
    for key in ("stop_reason", "done_reason", "status"):
        if reason := string(response.get(key)):
            yield reason


def _chain_name(request: Fields) -> str:
    return string(request.get("previous_response_id")) or _conversation(request)


def _conversation(request: Fields) -> str:
    given = request.get("conversation")
    return string(given) or string(fields(given).get("id"))
