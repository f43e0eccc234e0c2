"""Find the JSON objects in the body of a response, whole or streamed, and in as much of it as came.

    {"id":…}              one object           Chat Completions, Messages, Converse, …
    data: {…} data: {…}   server-sent events   all of them, streaming
    {…} {…}               a line an object     Ollama
    [{…}, {…}]            an array             Gemini without `alt=sse`
    frames                AWS event stream     Bedrock

What is cut off or damaged is left out; the rest counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from ctxheap.pace import breathe
from ctxheap.providers.aws_events import events as aws_events
from ctxheap.providers.json_fields import Fields, fields, objects

_DATA = b"data:"
_EVENT_LINES = (_DATA, b"event:", b"id:", b"retry:", b":")
_BOM = b"\xef\xbb\xbf"
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Found:
    """Hold the objects of a body; `is_stream` says that they are pieces of one answer."""

    objects: list[Fields]
    is_stream: bool


def find(body: bytes, content_type: str) -> Found:
    """Return the objects of a body, none where it holds none; what is cut or damaged is left out."""
    if "vnd.amazon.eventstream" in content_type.lower():
        return Found(list(aws_events(body)), is_stream=True)
    body = body.removeprefix(_BOM).lstrip()
    # Proxies and mocks send any content type: the first bytes know better.
    if body.startswith(_EVENT_LINES):
        return Found(list(_server_sent(body)), is_stream=True)
    if body[:1] == b"[":
        return Found(_array(body), is_stream=True)
    whole = fields(_value(body))
    if whole:
        # The last line of a stream of one line says that it is done.
        return Found([whole], is_stream="ndjson" in content_type)
    lines = [found for line in body.splitlines() if (found := fields(_value(line)))]
    return Found(lines, is_stream=True)


def _server_sent(body: bytes) -> Iterator[Fields]:
    data: list[bytes] = []
    for line in (*body.splitlines(), b""):
        if line.startswith(_DATA):
            data.append(line[len(_DATA) :].removeprefix(b" "))
        elif not line and data:
            breathe()
            event = fields(_value(b"\n".join(data)))
            data = []
            if event:
                yield event


def _array(body: bytes) -> list[Fields]:
    """Return the objects of an array whose end may not have come."""
    whole = _value(body)
    if whole is not None:
        return objects(whole)
    text, at, found = body.decode("utf-8", "replace"), 1, list[Fields]()
    while (at := text.find("{", at)) >= 0:
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        found.append(fields(value))
    return found


def _value(text: bytes) -> object:
    try:
        return orjson.loads(text)
    except ValueError:
        return None
