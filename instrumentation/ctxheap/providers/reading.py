"""Read a request and its response into an exchange, going on from the request before.

Agents send their history again with every call. Reading goes on from a `Prefix`, so that it costs
what is new, and hands over the same `Part` objects for what stayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ctxheap.heap.model import Exchange, Part, Usage
from ctxheap.heap.stitch import Chain
from ctxheap.pace import breathe
from ctxheap.providers import openai
from ctxheap.providers.anthropic_edits import as_billed, since_compaction
from ctxheap.providers.encodings import UnknownEncodingError, plain, plain_by_magic
from ctxheap.providers.formats import FORMATS, Format, format_of
from ctxheap.providers.increment import Decoded, decode
from ctxheap.providers.json_fields import Fields, fields, string
from ctxheap.providers.prefix import Memory, Prefix, Stored
from ctxheap.providers.sse import find
from ctxheap.providers.wire import Endpoint, Response, UnreadableError

__all__ = ["Prefix", "Reading", "Stored", "read"]

# Requests with one of these go on from what the provider keeps; the history need not be in them.
_STORED_KEYS = ("previous_response_id", "conversation", "prompt", "cachedContent", "cached_content")
_PARAMETERS = {
    "topP": "top_p",
    "topK": "top_k",
    "maxOutputTokens": "max_tokens",
    "maxTokens": "max_tokens",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
}
"""Names of parameters that are not OpenAI's."""


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
        parameters: Other fields of the request, decoded, by OpenAI's names: temperature, max_tokens, …
    """

    exchange: Exchange
    prefix: Prefix
    chain: Chain = field(default_factory=Chain)
    request_model: str = ""
    finish_reasons: tuple[str, ...] = ()
    parameters: Fields = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class _Answer:
    """Hold a response, decoded, and whether it came as a stream."""

    body: Fields
    is_stream: bool


def read(
    endpoint: Endpoint,
    request: bytes,
    response: Response,
    *,
    known: Prefix | None = None,
    stored: Stored | None = None,
) -> Reading:
    """Return what a call says; as `Endpoint.read`, which see."""
    decoded = _decoded(request, FORMATS[endpoint.format].list_key, known)
    form = format_of(endpoint.format, decoded.fields)
    _check_request(form, decoded)
    reader = _Reader(form, decoded, known if decoded.kept else None)
    return reader.read(endpoint, _answer(form, response), stored)


def _decoded(request: bytes, list_key: str, known: Prefix | None) -> Decoded:
    try:
        return decode(plain_by_magic(request), (list_key,), known.decoded if known else None)
    except ValueError as error:
        raise UnreadableError(f"the request is no JSON object: {error}") from error


def _check_request(form: Format, decoded: Decoded) -> None:
    """Let through only requests to models: web applications have paths like theirs."""
    asked = decoded.fields
    if decoded.key or isinstance(asked.get(form.list_key), str):
        return
    if form.list_key == "input" and any(asked.get(key) for key in _STORED_KEYS):
        return
    raise UnreadableError(f"the request has no {form.list_key}")


def _answer(form: Format, response: Response) -> _Answer:
    """Return the whole response; of one that was cut, as much as came."""
    try:
        body = plain(response.body, response.content_encoding)
    except UnknownEncodingError as error:
        raise UnreadableError(f"the response cannot be decompressed: {error}") from error
    found = find(body, response.content_type)
    answer: Fields = {}
    if found.is_stream:
        answer = form.whole(found.objects)
    elif found.objects:
        answer = found.objects[0]
    if not response.cut and not (found.objects and any(key in answer for key in form.marks)):
        raise UnreadableError("the response is no answer of a model")
    return _Answer(answer, found.is_stream)


class _Reader:
    """Read one call; `memory` is what it is read with, and grows on the way."""

    def __init__(self, form: Format, decoded: Decoded, known: Prefix | None) -> None:
        self._form = form
        self._decoded = decoded
        self._known = known
        self._memory = Memory()
        self._memory.learn(known)

    def read(self, endpoint: Endpoint, answer: _Answer, stored: Stored | None) -> Reading:
        """Return what the call says."""
        request, response, memory = self._decoded.fields, answer.body, self._memory
        history = tuple(self._history(stored))
        opening = self._opening()
        parts, ends = self._messages()
        usage = self._form.usage(response)
        output = tuple(self._output(response, usage))
        prefix = Prefix(
            self._decoded,
            opening,
            parts,
            ends,
            history,
            output,
            memory.tools,
            memory.outputs,
            memory.items,
            memory.is_incomplete,
        )
        messages: Sequence[Part] = (*history, *parts)
        if self._form is FORMATS["anthropic"]:
            messages = as_billed(messages, request, response)
        asked = string(request.get("model")) or endpoint.model
        response_id = string(response.get("id")) or string(response.get("responseId"))
        exchange = Exchange(
            call_id=response_id,
            prompt=(*opening, *messages),
            output=output,
            model=string(response.get("model")) or string(response.get("modelVersion")) or asked,
            provider=endpoint.provider,
            usage=usage,
            incomplete=memory.is_incomplete,
        )
        return Reading(
            exchange,
            prefix,
            Chain(response_id, string(request.get("previous_response_id")), _conversation(request)),
            asked,
            tuple(filter(None, map(string, self._form.finish_reasons(response)))),
            _parameters(self._form, request, answer.is_stream),
        )

    def _history(self, stored: Stored | None) -> Sequence[Part]:
        """Return what a stateful API keeps in front of the request, as far as it is known."""
        request = self._decoded.fields
        name = string(request.get("previous_response_id")) or _conversation(request)
        link = stored(name) if stored and name else None
        if link is None:
            is_missing = any(request.get(key) for key in _STORED_KEYS)
            self._memory.is_incomplete = is_missing or self._memory.is_incomplete
            return ()
        self._memory.is_incomplete = False
        self._memory.learn(link)
        return since_compaction((*link.stored, *link.parts, *link.answer))

    def _opening(self) -> tuple[Part, ...]:
        known, request = self._known, self._decoded.fields
        if known and all(
            known.decoded.fields.get(key) == request.get(key) for key in self._form.opening_keys
        ):
            return known.opening
        same = {part.identity: part for part in known.opening} if known else {}
        return tuple(same.get(part.identity, part) for part in self._form.opening(request))

    def _messages(self) -> tuple[tuple[Part, ...], Sequence[int]]:
        """Return the parts of all messages and where each ends; those that were kept are not made again."""
        known, decoded = self._known, self._decoded
        ends = list(known.ends[: decoded.kept]) if known else []
        kept = known.parts[: ends[-1]] if known and ends else ()
        messages = decoded.new
        if isinstance(text := decoded.fields.get(self._form.list_key), str):
            messages = [{"role": "user", "content": text}]
        # A message that only lost its cache mark reads as the part that it was.
        before = {part.identity: part for part in known.parts[len(kept) :]} if known else {}
        outputs = self._memory.outputs
        added: list[Part] = []
        for index, message in enumerate(messages, decoded.kept):
            breathe()
            made = self._message(message, str(index))
            added += [outputs.get(part.identity) or before.get(part.identity, part) for part in made]
            ends.append(len(kept) + len(added))
        return (*kept, *added), ends

    def _message(self, message: object, where: str) -> Sequence[Part]:
        memory = self._memory
        if fields(message).get("type") != "item_reference":
            return self._form.message_parts(message, tools=memory.tools, where=where)
        referred = memory.items.get(string(fields(message).get("id")))
        memory.is_incomplete = memory.is_incomplete or referred is None
        return referred or ()

    def _output(self, response: Fields, usage: Usage | None) -> list[Part]:
        memory, parts = self._memory, list[Part]()
        places: dict[str, slice] = {}
        for index, message in enumerate(self._form.answers(response)):
            start = len(parts)
            parts += self._form.message_parts(message, tools=memory.tools, where=f"output:{index}")
            places[string(fields(message).get("id"))] = slice(start, len(parts))
        parts = openai.with_reasoning_tokens(parts, usage.reasoning) if usage else parts
        memory.outputs.update((part.identity, part) for part in parts)
        memory.items.update((name, parts[place]) for name, place in places.items() if name)
        return parts


def _parameters(form: Format, request: Fields, is_stream: bool) -> Fields:
    settings = fields(request.get(form.settings))
    named = {_PARAMETERS.get(name, name): value for name, value in settings.items()}
    streams = {"stream": True} if is_stream else {}
    return {**request, **named, **streams}


def _conversation(request: Fields) -> str:
    given = request.get("conversation")
    return string(given) or string(fields(given).get("id"))
