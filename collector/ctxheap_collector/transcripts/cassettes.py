"""Read cassettes: HTTP exchanges with the APIs of model providers as VCR writes them down, in YAML or JSON.

    interactions:
    - request: {method, uri, body | parsed_body}
      response: {status, headers, body: {string} | parsed_body}

The URI says whose wire format it is. Requests to other endpoints (files, embeddings, counts of tokens, tools)
are counted and named. Chains that a provider stores are one session; all other calls are joined by what they
repeat.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import orjson

from ctxheap.heap.model import Exchange, Part
from ctxheap.providers.encodings import UnknownEncodingError, plain_by_magic
from ctxheap.providers.json_fields import Fields, fields, items, objects, odd_counts, string
from ctxheap.providers.reading import Prefix, Reading
from ctxheap.providers.sse import find
from ctxheap.providers.wire import Endpoint, Response, UnreadableError, recognise
from ctxheap_collector.transcripts.cassette_bodies import as_openai, from_xai
from ctxheap_collector.transcripts.message_lists import stem_of
from ctxheap_collector.transcripts.source import Head, Source, Unreadable
from ctxheap_collector.transcripts.source_paths import CASSETTE
from ctxheap_collector.transcripts.wire import provider_of

FORMAT = "vcr-cassette"

_QUERY = re.compile(r"[?#].*")
_NAMES = re.compile(r"/(?=[^/]*\d)[^/:]{9,}|(?<=models/)[^/:]+|(?<=model/)[^/:]+")
_LAST_ERROR_STATUS = 300
_COUNTED = re.compile(r"count[-_]?tokens$|/input_tokens$", re.IGNORECASE)


def looks_like(head: Head) -> bool:
    """Say whether the source opens like a cassette."""
    document = fields(head.document)
    if document:
        return any("request" in item and "response" in item for item in _interactions(document)[:5])
    return not head.records and CASSETTE.match(head.text.encode()) is not None


def _interactions(document: Fields) -> list[Fields]:
    return objects(document.get("interactions")) or objects(document.get("http_interactions"))


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls of models among the exchanges, in their order."""
    for _, document in _documents(source):
        tape = _Tape(source, stem_of(source))
        for number, interaction in enumerate(_interactions(document), 1):
            tape.play(number, interaction)
        tape.say_what_was_left_out()
        yield from tape.in_sessions()


def _documents(source: Source) -> Iterator[tuple[Path, Fields]]:
    if source.head().document is not None:
        for path, value in source.documents():
            yield path, fields(value)
        return
    for path, data in source.contents():
        yield path, _parsed(source, data)


def _parsed(source: Source, data: bytes) -> Fields:
    try:
        yaml = importlib.import_module("yaml")
    except ImportError as error:
        raise Unreadable(f"{source.name}: a YAML file; reading it needs ctxheap[profile]") from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    def load(stream: bytes) -> object:
        return cast("object", yaml.load(stream, Loader=loader))

    try:
        return fields(load(data))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        source.skip(0, f"not one YAML value: {str(error).splitlines()[0]}")
        return {}


@dataclass(frozen=True, slots=True)
class _Sent:
    """Hold one exchange: where it went, and what both sides said."""

    uri: str
    request: bytes
    response: Response

    @property
    def path(self) -> str:
        """Return the address without what differs from call to call, for people."""
        return _NAMES.sub("/…", _QUERY.sub("", self.uri.partition("://")[2]))


class _Tape:
    """Read the interactions of one cassette one after the other."""

    def __init__(self, source: Source, name: str) -> None:
        self._source = source
        self._name = name
        self._made: list[tuple[Exchange, str]] = []
        self._prefixes: dict[str, Prefix] = {}
        self._last: dict[str, Prefix] = {}
        self._roots: dict[str, str] = {}
        self._continued: set[str] = set()
        self._ids: set[str] = set()
        self._known: dict[bytes, Part] = {}
        self._others: dict[str, int] = {}

    def play(self, number: int, interaction: Fields) -> None:
        """Read one interaction."""
        sent = _sent(interaction)
        if sent is None:
            kind = "frames of a WebSocket" if "direction" in interaction else "no request and response"
            self._others[kind] = self._others.get(kind, 0) + 1
            return
        endpoint = recognise(sent.uri, sent.request) or _compaction(sent) or _like_openai(sent)
        if endpoint is None and (translated := _translated(sent)) is not None:
            endpoint, sent = Endpoint("openai"), translated
        if endpoint is None:
            kind = f"to {sent.path}" + (", which counts only" if _COUNTED.search(sent.path) else "")
            self._others[kind] = self._others.get(kind, 0) + 1
        elif sent.response.status >= _LAST_ERROR_STATUS:
            self._source.skip(number, f"the request failed with status {sent.response.status}")
        else:
            self._call(number, endpoint, sent)

    def _call(self, number: int, endpoint: Endpoint, sent: _Sent) -> None:
        known = self._last.get(endpoint.format)
        try:
            reading = endpoint.read(sent.request, sent.response, known=known, stored=self._stored)
        except UnreadableError as error:
            self._source.skip(number, f"{sent.path}: {error}")
            return
        for problem in _odd(sent.response):
            self._source.skip(number, problem)
        self._last[endpoint.format] = reading.prefix
        self._made.append((self._named(number, reading, endpoint), self._root(reading)))

    def _stored(self, name: str) -> Prefix | None:
        return self._prefixes.get(name)

    def _named(self, number: int, reading: Reading, endpoint: Endpoint) -> Exchange:
        exchange = reading.exchange
        call_id = exchange.call_id or f"{self._name}:{number}"
        if call_id in self._ids:
            call_id = f"{call_id}@{number}"
        self._ids.add(call_id)
        provider = endpoint.provider or provider_of(exchange.model)
        prompt = [self._known.get(part.identity, part) for part in exchange.prompt]
        self._known.update((part.identity, part) for part in (*prompt, *exchange.output))
        return replace(exchange, call_id=call_id, provider=provider, prompt=tuple(prompt))

    def _root(self, reading: Reading) -> str:
        """Return the first response of the stored chain that a call is part of."""
        chain = reading.chain
        before = chain.previous or chain.conversation
        if chain.conversation:
            self._prefixes[chain.conversation] = reading.prefix
        if chain.response:
            self._prefixes[chain.response] = reading.prefix
        root = self._roots.get(before, before) or chain.response
        if before:
            self._continued.add(root)
        self._roots[chain.response] = root
        return root

    def in_sessions(self) -> Iterator[Exchange]:
        """Yield the calls, those of a stored chain in one session."""
        for exchange, root in self._made:
            yield replace(exchange, session=root) if root in self._continued else exchange

    def say_what_was_left_out(self) -> None:
        """Count the requests that went to no model."""
        for kind, count in self._others.items():
            requests = "request" if count == 1 else "requests"
            named = f"{count} {requests} {kind}" if kind.startswith("to ") else f"{kind} ({count})"
            self._source.skip(0, f"{named}: no call of a model")
        if not self._made:
            self._source.skip(0, "no call of a model")


def _translated(sent: _Sent) -> _Sent | None:
    """Return an exchange of another format in OpenAI's, None where it is no conversation."""
    try:
        request = fields(orjson.loads(sent.request))
    except ValueError:
        return None
    answers = find(sent.response.body, sent.response.content_type).objects
    bodies = as_openai(_QUERY.sub("", sent.uri), request, answers)
    if bodies is None:
        return None
    response = Response(sent.response.status, "application/json", "", _dumped(bodies[1]))
    return _Sent(sent.uri, _dumped(bodies[0]), response)


def _xai(interaction: Fields) -> _Sent | None:
    """Return a call of xAI's gRPC, whose cassettes hold both sides as JSON."""
    request = fields(fields(interaction.get("request_sample")).get("json"))
    response = fields(fields(interaction.get("response_sample")).get("json"))
    if not request or not response:
        return None
    asked, answered = from_xai(request, response)
    uri = "https://api.x.ai/v1/chat/completions"
    return _Sent(uri, _dumped(asked), Response(200, "application/json", "", _dumped(answered)))


def _sent(interaction: Fields) -> _Sent | None:
    if "request_sample" in interaction:
        return _xai(interaction)
    request, response = fields(interaction.get("request")), fields(interaction.get("response"))
    if not request or not response:
        return None
    status = response.get("status", response.get("status_code"))
    code = fields(status).get("code", status)
    headers = {str(key).lower(): value for key, value in fields(response.get("headers")).items()}
    given = headers.get("content-type")
    content_type = string(given) or string(next(iter(items(given)), ""))
    body = _bytes(response)
    try:
        body = plain_by_magic(body)
    except UnknownEncodingError:
        body = b""
    number = code if isinstance(code, int) else 200
    return _Sent(string(request.get("uri")), _bytes(request), Response(number, content_type, "", body))


def _bytes(message: Fields) -> bytes:
    """Return a body: the bytes, the text, or the value that it was parsed to."""
    if message.get("parsed_body") is not None:
        return _dumped(message["parsed_body"])
    body: object = message.get("body", message.get("content"))
    if isinstance(body, dict):
        inner = fields(cast("object", body))
        body = inner.get("string", inner.get("base64_string", inner))
    if isinstance(body, bytes):
        return body
    return body.encode("utf-8", "surrogatepass") if isinstance(body, str) else _dumped(body) if body else b""


def _dumped(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        # Half a surrogate pair, or a number beyond 64 bits.
        return json.dumps(value, default=str).encode()


def _compaction(sent: _Sent) -> Endpoint | None:
    """Return the endpoint where Responses makes a summary: it is asked like a call and billed like one."""
    return (
        recognise(sent.uri.removesuffix("/compact"), sent.request) if sent.uri.endswith("/compact") else None
    )


def _like_openai(sent: _Sent) -> Endpoint | None:
    """Return the endpoint of a server that speaks OpenAI's format at an address of its own."""
    try:
        request = orjson.loads(sent.request)
    except ValueError:
        return None
    is_chat = bool(items(fields(request).get("messages"))) and b'"choices"' in sent.response.body
    return Endpoint("openai") if is_chat else None


def _odd(response: Response) -> Iterator[str]:
    try:
        body = fields(orjson.loads(response.body))
    except ValueError:
        return
    for key in ("usage", "usageMetadata"):
        yield from odd_counts(body.get(key), key)
