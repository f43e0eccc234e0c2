"""Make exchanges of request and response bodies: prompt, output, usage and the chain they stand in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ctxheap.heap.model import Exchange, Part, Usage
from ctxheap.providers import anthropic, openai
from ctxheap.providers.json_fields import Fields, fields, items, objects, string
from ctxheap_collector.transcripts.conversation import REMEMBERED, Conversation, Conversations
from ctxheap_collector.transcripts.wire import ANTHROPIC, OPENAI, Wire, provider_on, wire_of

FINGERPRINT_CHARS = 16


@dataclass(frozen=True, slots=True)
class _Link:
    """Hold what a stored response carries on: the chain's first id, all it held, and who made its parts."""

    root: str
    parts: tuple[Part, ...]
    conversation: Conversation


class ExchangeMaker:
    """Turn bodies into exchanges, sharing the parts of what successive requests repeat."""

    def __init__(self) -> None:
        self._conversations = Conversations()
        self._openings: list[tuple[Wire, object, list[Part]]] = []
        self._known: dict[bytes, Part] = {}
        self._links: dict[str, _Link] = {}
        self._seen: dict[str, str] = {}
        self._roots: dict[str, str] = {}
        self._continued: set[str] = set()
        self._chain_sessions: dict[str, str] = {}

    def exchange(
        self, request: Fields, response: Fields, *, session: str, started_ns: int | None, place: str
    ) -> Exchange:
        """Return the exchange of one request body and its response body; `place` names it in its source.

        What a response carries on must have been handed in before it (see `in_chain_order`). The first call
        of a chain gets its session only from `in_sessions`.
        """
        messages = _messages(request)
        wire = _wire(request, response, messages)
        link, missing = self._stored(request)
        conversation = link.conversation if link else self._conversations.of(wire, messages)
        # The opening is sent with every request; only the messages are stored.
        history = link.parts if link else ()
        sent = (*history, *conversation.parts(messages))
        prompt = (*self._opening(wire, request), *sent)
        usage = _usage(wire, response)
        output = _output(conversation, response, usage)
        conversation.remember(output)
        root = (
            link.root if link else string(request.get("previous_response_id")) or string(response.get("id"))
        )
        self._store(request, response, _Link(root, (*sent, *output), conversation))
        model = string(response.get("model")) or string(request.get("model"))
        call_id = self._call_id(response, prompt, output, place)
        if link or missing:
            self._continued.add(root)
        if "output" in response:
            self._roots[call_id] = root
        if session:
            self._chain_sessions.setdefault(root, session)
        return Exchange(
            call_id=call_id,
            prompt=prompt,
            output=tuple(output),
            session=session,
            model=model,
            provider=provider_on(wire, model),
            started_ns=started_ns,
            usage=usage,
            incomplete=missing,
        )

    def in_sessions(self, exchanges: Sequence[Exchange]) -> Iterator[Exchange]:
        """Yield all calls that were made, those of a chain in one session, named after its first response."""
        for exchange in exchanges:
            root = self._roots.get(exchange.call_id, "")
            if exchange.session or root not in self._continued:
                yield exchange
            else:
                yield replace(exchange, session=self._chain_sessions.get(root, root))

    def _call_id(self, response: Fields, prompt: Sequence[Part], output: Sequence[Part], place: str) -> str:
        """Return the response's id, with its content where a server gives every response the same one."""
        named, content = string(response.get("id")), _fingerprint(prompt, output)
        if not named:
            return f"{place}:{content}"
        return named if self._seen.setdefault(named, content) == content else f"{named}@{content}"

    def _opening(self, wire: Wire, request: Fields) -> list[Part]:
        """Return tool definitions and system prompt, made once for all requests that repeat them."""
        raw = [request.get(key) for key in ("tools", "functions", "system", "instructions")]
        for made_for, made_of, parts in self._openings:
            if made_for is wire and made_of == raw:
                return parts
        made = [self._known.setdefault(part.identity, part) for part in _opening_parts(wire, request)]
        self._openings = [(wire, raw, made), *self._openings][:REMEMBERED]
        return made

    def _stored(self, request: Fields) -> tuple[_Link | None, bool]:
        """Return what the provider keeps for this request, and whether that is known to be missing here."""
        named = _chain_id(request)
        link = self._links.get(named)
        return link, bool(request.get("previous_response_id")) and link is None

    def _store(self, request: Fields, response: Fields, link: _Link) -> None:
        # Only Responses has chains; keeping other histories would only cost memory.
        if "output" in response and (response_id := string(response.get("id"))):
            self._links[response_id] = link
            if conversation := _conversation_id(request):
                self._links[conversation] = link


def _fingerprint(prompt: Sequence[Part], output: Sequence[Part]) -> str:
    parts = (*prompt, *output)
    content = b"%d" % len(prompt) + b"".join(part.identity for part in parts)
    return hashlib.sha256(content).hexdigest()[:FINGERPRINT_CHARS]


def _opening_parts(wire: Wire, request: Fields) -> list[Part]:
    parts = wire.tool_definitions(request.get("tools") or request.get("functions"))
    if wire is ANTHROPIC:
        return parts + anthropic.system_parts(request.get("system"))
    if instructions := request.get("instructions"):
        parts += openai.message_parts(
            {"role": "system", "content": instructions}, tools={}, where="instructions"
        )
    return parts


def _chain_id(request: Fields) -> str:
    return string(request.get("previous_response_id")) or _conversation_id(request)


def _conversation_id(request: Fields) -> str:
    given = request.get("conversation")
    return string(given) or string(fields(given).get("id"))


def _messages(request: Fields) -> Sequence[object]:
    messages = items(request.get("messages")) or request.get("input")
    return [{"role": "user", "content": messages}] if isinstance(messages, str) else items(messages)


def _wire(request: Fields, response: Fields, messages: Sequence[object]) -> Wire:
    if response.get("type") == "message":
        return ANTHROPIC
    return OPENAI if "choices" in response or "output" in response else wire_of(request, messages)


def _usage(wire: Wire, response: Fields) -> Usage | None:
    # SWE-agent's own log and Ollama keep the counts beside the answer.
    raw = response.get("usage") or response
    if not openai.reports_usage(raw):
        return None
    tier = string(response.get("service_tier"))
    return wire.usage_of(raw) if wire is ANTHROPIC else openai.usage_of(raw, service_tier=tier)


def _output(conversation: Conversation, response: Fields, usage: Usage | None) -> list[Part]:
    parts: list[Part] = []
    for index, message in enumerate(_answers(response)):
        parts += conversation.answer(message, where=f"output:{index}")
    return openai.with_reasoning_tokens(parts, usage.reasoning) if usage else parts


def _answers(response: Fields) -> Iterator[object]:
    """Yield the messages or items of a response, in any of the shapes it can have."""
    for choice in objects(response.get("choices")):
        yield {"role": "assistant", **fields(choice.get("message"))}
    if "choices" in response:
        return
    yield from items(response.get("output"))
    content = response.get("content")
    if content:
        yield {"role": "assistant", "content": content}
    if message := fields(response.get("message")):
        yield {"role": "assistant", **message}
    # SWE-agent's own log: the text under "message", the calls beside it.
    for output in objects(response.get("outputs")):
        yield {"role": "assistant", "content": output.get("message"), "tool_calls": output.get("tool_calls")}
