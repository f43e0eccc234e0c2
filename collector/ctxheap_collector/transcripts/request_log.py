"""Read logs of inference requests with their responses, whatever client or proxy wrote them.

    {"model", "messages", "tools", "response"}        one exchange a line, request and response in one object
    {"request": {…}, "response": {…}}                 the same, the request apart; either may sit under "body"
    {"type": "request", …} {"type": "response", …}    two lines an exchange

Bodies are OpenAI's Chat Completions or Responses, or Anthropic's Messages. Calls without an explicit session
id are left without one: they are joined by what they repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ctxheap.heap.model import Exchange
from ctxheap.providers.json_fields import Fields, fields, items, string
from ctxheap_collector.transcripts import source_values
from ctxheap_collector.transcripts.exchanges import ExchangeMaker
from ctxheap_collector.transcripts.message_lists import elements, skip_odd_counts
from ctxheap_collector.transcripts.source import Head, Source
from ctxheap_collector.transcripts.timestamps import epoch_ns

FORMAT = "request-log"
IN_ANY_ORDER = True

_SESSION_KEYS = (
    "session_id",
    "sessionId",
    "session.id",
    "conversation_id",
    "gen_ai.conversation.id",
    "thread_id",
)
_RESPONSES_KEYS = ("model", "instructions", "previous_response_id")
_LISTED_ANSWERS = ("choices", "output", "outputs")
_COUNTS_BESIDE = ("prompt_eval_count", "eval_count", "input_tokens", "output_tokens")
_TIME_KEYS = ("timestamp", "start_time", "started_at", "created_at", "time", "ts", "created")


@dataclass(frozen=True, slots=True)
class Pair:
    """Hold one request body and its response body, with what the log says around them."""

    request: Fields
    response: Fields
    record: Fields
    place: str

    @property
    def session(self) -> str:
        """Return the explicit session id, "" when there is none."""
        for body in (
            self.record,
            self.request,
            fields(self.record.get("metadata")),
            fields(self.request.get("metadata")),
        ):
            for key in _SESSION_KEYS:
                if named := string(body.get(key)):
                    return named
        return ""

    @property
    def response_id(self) -> str:
        """Return the provider's id of the response, "" when there is none."""
        return string(self.response.get("id"))

    @property
    def previous_id(self) -> str:
        """Return the id of the stored response that the request carries on, "" when there is none."""
        return string(self.request.get("previous_response_id"))

    @property
    def started_ns(self) -> int | None:
        """Return when the request was sent, as nanoseconds since the epoch."""
        for body in (self.record, self.response):
            for key in _TIME_KEYS:
                if (moment := epoch_ns(body.get(key))) is not None:
                    return moment
        return None


def looks_like(head: Head) -> bool:
    """Say whether the source opens with requests that hold messages or input, and responses."""
    values = [head.document] if head.document is not None else head.records
    records = [fields(record) for value in values for record in (items(value) or [value])][:20]
    is_paired = any(_request_of(record) and _response_of(record) for record in records)
    kinds = {string(record.get("type")) for record in records if _request_of(record)}
    return is_paired or "request" in kinds


def read(source: Source) -> Iterator[Exchange]:
    """Yield the logged calls in the order of their responses, behind those that they carry on."""
    maker = ExchangeMaker()
    made = [
        maker.exchange(
            pair.request, pair.response, session=pair.session, started_ns=pair.started_ns, place=pair.place
        )
        for pair in in_chain_order(_answered(source))
    ]
    # Whether a response is carried on, and so which session it is in, shows only at the end.
    yield from maker.in_sessions(made)


def in_chain_order(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Yield pairs in their order, but none before the one that holds its `previous_response_id`."""
    seen: set[str] = set()
    waiting: dict[str, list[Pair]] = {}

    def released(pair: Pair) -> Iterator[Pair]:
        ready = [pair]
        while ready:
            yield (pair := ready.pop())
            seen.add(pair.response_id)
            ready.extend(reversed(waiting.pop(pair.response_id, [])))

    for pair in pairs:
        if pair.previous_id and pair.previous_id not in seen:
            waiting.setdefault(pair.previous_id, []).append(pair)
        else:
            yield from released(pair)
    # What is left lacks its beginning, or goes round in a circle, which may be entered anywhere.
    kept = {pair.response_id for pairs in waiting.values() for pair in pairs}
    for start in [*(previous for previous in waiting if previous not in kept), *waiting]:
        for pair in waiting.pop(start, []):
            yield from released(pair)


def _answered(source: Source) -> Iterator[Pair]:
    for pair in _pairs(source):
        if error := _error_of(pair.response):
            source.skip(int(pair.place), f"the request failed: {error}")
            continue
        if not _is_answer(pair.response):
            source.skip(int(pair.place), "the response holds no output of a model")
            continue
        beside = {key: pair.response.get(key) for key in _COUNTS_BESIDE}
        skip_odd_counts(source, int(pair.place), pair.response.get("usage") or beside)
        yield pair


def _pairs(source: Source) -> Iterator[Pair]:
    waiting: tuple[int, Fields, Fields] | None = None
    for line, record in _records(source):
        request, response = _request_of(record), _response_of(record)
        if request and response:
            yield Pair(request, response, record, str(line))
        elif request:
            if waiting is not None:
                source.skip(waiting[0], "a request without a response")
            waiting = line, request, record
        elif response and waiting is not None:
            yield Pair(waiting[1], response, waiting[2], str(waiting[0]))
            waiting = None
        else:
            source.skip(
                line, "a response without a request" if response else "neither a request nor a response"
            )
    if waiting is not None:
        source.skip(waiting[0], "a request without a response")


def _records(source: Source) -> Iterator[tuple[int, Fields]]:
    for line, value in elements(source):
        for number, member in enumerate(items(value) or [value], 1):
            yield line or number, fields(member)


def _request_of(record: Fields) -> Fields:
    """Return the request body in a record, an empty one when it holds none."""
    for key in ("request", "request_params", "request_body", "kwargs", "body"):
        body = _body(record.get(key))
        if _has_prompt(body):
            return body
    return record if _has_prompt(record) else {}


def _has_prompt(body: Fields) -> bool:
    # With a stored chain the input may be empty.
    is_responses = body.get("input") is not None and any(map(body.get, _RESPONSES_KEYS))
    return is_responses or bool(items(body.get("messages")))


def _response_of(record: Fields) -> Fields:
    for key in ("response", "response_body", "completion"):
        body = _body(record.get(key))
        if body:
            return {**body, "outputs": record.get("outputs")} if "outputs" in record else body
    if record.get("type") == "response" or "outputs" in record or items(record.get("output")):
        return record
    return {}


def _body(value: object) -> Fields:
    if isinstance(value, str) and value[:1] == "{":
        try:
            value = next(iter(source_values.parse(value.encode("utf-8", "surrogatepass")).values), None)
        except ValueError:
            return {}
    body = fields(value)
    inner = body.get("body")
    return _body(inner) if inner and not items(body.get("messages")) else body


def _is_answer(response: Fields) -> bool:
    """Say whether a response is a model's: no count of tokens, no embedding, no job that still waits."""
    if response.get("status") in ("queued", "in_progress"):
        return False
    is_listed = any(items(response.get(key)) for key in _LISTED_ANSWERS)
    return is_listed or bool(response.get("content") or fields(response.get("message")))


def _error_of(response: Mapping[str, object]) -> str:
    error = response.get("error")
    if not error:
        return ""
    return string(fields(error).get("message")) or string(error) or "no message"
