"""Read logs of LiteLLM: its standard logging payloads and rows of its spend log, one an object.

    {"id", "call_type", "model", "messages", "response", "startTime", "prompt_tokens", …, "model_parameters"}
    {"request_id", "call_type", "session_id", "messages", "response", "proxy_server_request", …}

Bodies may be strings of JSON, and a response a bare text: then the counts beside it are what was billed.
LiteLLM gives every call a session of its own unless the client names one, so that only an id which several
calls share is a session; the others are joined by what they repeat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ctxheap.heap.model import Exchange
from ctxheap.providers.json_fields import Fields, fields, items, string, tokens
from ctxheap_collector.transcripts.exchanges import ExchangeMaker
from ctxheap_collector.transcripts.message_lists import elements, skip_odd_counts
from ctxheap_collector.transcripts.source import Head, Source, counted
from ctxheap_collector.transcripts.spoken_shapes import decoded
from ctxheap_collector.transcripts.timestamps import epoch_ns

FORMAT = "litellm"

_CALLS = frozenset({"completion", "acompletion", "responses", "aresponses", "anthropic_messages"})
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_SESSIONS = ("session_id", "litellm_session_id")


def looks_like(head: Head) -> bool:
    """Say whether the source opens with what LiteLLM logs of a call."""
    values = [head.document] if head.document is not None else head.records
    return any(_is_logged(fields(item)) for value in values for item in (items(value) or [value])[:5])


def _is_logged(record: Fields) -> bool:
    is_call = "call_type" in record and "response" in record
    return is_call and "startTime" in record and ("messages" in record or "proxy_server_request" in record)


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls in the order in which they were logged."""
    logged: list[tuple[int, Fields]] = []
    others = 0
    for line, value in elements(source):
        for number, item in enumerate(items(value) or [value], 1):
            record, place = fields(item), line or number
            if not _is_logged(record):
                source.skip(place, "nothing that LiteLLM logs of a call")
            elif string(record.get("call_type")) not in _CALLS:
                others += 1
            elif problem := _failure(record):
                source.skip(place, f"the request failed: {problem}")
            else:
                logged.append((place, record))
    shared = Counter(_session(record) for _, record in logged)
    maker = ExchangeMaker()
    made = [_call(source, maker, place, record, shared) for place, record in logged]
    yield from maker.in_sessions(made)
    if not made and not source.skipped and not others:
        source.skip(0, "no call")
    if others:
        source.skip(0, f"{counted(others, 'call was', 'calls were')} of another type: no conversation")


def _failure(record: Fields) -> str:
    if record.get("status") != "failure":
        return ""
    told = fields(record.get("error_information"))
    return (string(record.get("error_str")) or string(told.get("error_message")) or "no message")[:200]


def _session(record: Fields) -> str:
    for body in (record, fields(record.get("metadata"))):
        for key in _SESSIONS:
            if named := string(body.get(key)):
                return named
    return ""


def _call(source: Source, maker: ExchangeMaker, place: int, record: Fields, shared: Counter[str]) -> Exchange:
    session = _session(record)
    response = _response(record)
    skip_odd_counts(source, place, response.get("usage"))
    return maker.exchange(
        _request(record),
        response,
        session=session if shared[session] > 1 else "",
        started_ns=epoch_ns(record.get("startTime")),
        place=str(place),
    )


def _request(record: Fields) -> Fields:
    """Return the request: what the client sent to the proxy, if that was kept, else what the log says."""
    sent = fields(decoded(record.get("proxy_server_request")))
    body = fields(sent.get("body")) or sent
    if items(body.get("messages")) or body.get("input") is not None:
        return body
    given = decoded(record.get("messages"))
    messages = items(given) or items(fields(given).get("messages"))
    listed = [{"role": "user", "content": given}] if isinstance(given, str) and given else messages
    return {**fields(record.get("model_parameters")), "model": record.get("model"), "messages": listed}


def _response(record: Fields) -> Fields:
    given = decoded(record.get("response"))
    counts = {key: record[key] for key in _COUNTS if tokens(record.get(key))}
    body = fields(given)
    if not body:
        text = given if isinstance(given, str) else ""
        message = {"role": "assistant", "content": text}
        body = {"id": record.get("id") or record.get("request_id"), "choices": [{"message": message}]}
    return body if fields(body.get("usage")) or not counts else {**body, "usage": counts}
