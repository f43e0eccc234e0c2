"""Find the session that a call belongs to (SPEC 4), by what the model said before.

    call 1  [system, user]                     no output in it       → new session s
    call 2  [system, user, out 1, result]      out 1 is s's newest   → s
    call 3  [system, user, out 1, other text]  s has said more since → child of s, a fork
    call 4  [system, summary of s]             s's text, shortened   → s

The first that applies decides: an explicit session, a stateful chain, the newest model output in
the prompt (tool-call ids before content), a summary. Outputs that several sessions share are told
apart by the longest common prefix of the prompts.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from ctxheap.heap.access import anchor_of
from ctxheap.heap.model import Exchange, Part
from ctxheap.heap.subject import base_of

MIN_ANCHOR_CHARS = 24
_OPENING = frozenset({"system_prompt", "tool_definition"})
_REMEMBERED_ANCHORS = 64
_SEARCHED_SESSIONS = 256  # a summary follows the text that it stands for soon

Key = tuple[str, str] | bytes | str


@dataclass(frozen=True, slots=True)
class Assignment:
    """Name the session of a call, and the session that this one started from, if any."""

    session: str
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """Hold what a stateful API says about a call: the ids of its answers, "" where it says nothing.

    `response` is this call's own id, `previous` the one that it continues, `conversation` the
    object on the provider's side that holds the history.
    """

    response: str = ""
    previous: str = ""
    conversation: str = ""


@dataclass(slots=True)
class _Session:
    """Hold what is remembered of a session: its newest prompt and where its outputs are indexed."""

    id: str
    parent: str | None
    outputs: int = 0
    prompt: tuple[bytes, ...] = ()
    anchors: list[str] = field(default_factory=list[str])
    keys: set[Key] = field(default_factory=set[Key])


class Stitcher:
    """Assign calls to sessions; feed it in the order of `canonical_order`.

    It remembers the newest `max_sessions` sessions; a call of one that was forgotten starts anew.
    """

    def __init__(self, *, max_sessions: int = 10_000) -> None:
        self._max_sessions = max_sessions
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._said: dict[Key, dict[str, int]] = {}
        self._assigned: OrderedDict[str, Assignment] = OrderedDict()

    def assign(self, exchange: Exchange, chain: Chain | None = None) -> Assignment:
        """Return the session of a call; the same call again gets the same answer."""
        known = self._assigned.get(exchange.call_id)
        if known is not None:
            return known
        prompt = tuple(part.identity for part in exchange.prompt)
        session = self._session_of(exchange, chain or Chain(), prompt)
        self._remember(session, exchange, chain or Chain(), prompt)
        assignment = Assignment(session.id, session.parent)
        self._assigned[exchange.call_id] = assignment
        while len(self._assigned) > 64 * self._max_sessions:
            self._assigned.popitem(last=False)
        return assignment

    def _session_of(self, exchange: Exchange, chain: Chain, prompt: tuple[bytes, ...]) -> _Session:
        if exchange.session:
            return self._open(exchange.session, exchange.parent)
        chained = self._chained(exchange, chain)
        if chained is not None:
            return chained
        for part in reversed(exchange.prompt):
            said = self._said_by(part)
            if said:
                return self._joined(said, exchange, prompt)
        summarised = self._summarised(exchange, prompt)
        return summarised or self._open(session_id(exchange.call_id, exchange), exchange.parent)

    def _chained(self, exchange: Exchange, chain: Chain) -> _Session | None:
        """Return the session of a stateful chain; its heap is the whole chain's."""
        for name in filter(None, (chain.previous, chain.conversation)):
            said = self._said.get(f"id:{name}")
            if said:
                return self._sessions[next(iter(said))]
        if chain.previous or chain.conversation:
            return self._open(session_id(chain.conversation or chain.previous), exchange.parent)
        return None

    def _said_by(self, part: Part) -> dict[str, int] | None:
        """Return the sessions that produced a part of a prompt, each with the number of the output.

        An identity holds the call id, so that equal contents come before an id that was given
        twice; the id alone finds arguments that were written anew.
        """
        if part.role != "assistant":
            return self._said.get((part.call_id, part.tool))
        keys: list[Key] = [part.identity]
        if part.call_id:
            keys.append((part.call_id, part.tool))
        if part.kind == "text":
            keys.append(_text_key(part.text))
        return next((said for said in map(self._said.get, keys) if said), None)

    def _joined(self, said: dict[str, int], exchange: Exchange, prompt: tuple[bytes, ...]) -> _Session:
        """Return the session that goes on from an output: its own, or a fork of it."""
        candidates = [self._sessions[name] for name in reversed(said)]
        session = max(
            candidates, key=lambda each: (_common(each.prompt, prompt), said[each.id] == each.outputs)
        )
        if said[session.id] == session.outputs or _goes_on(session.prompt, exchange.prompt, prompt):
            return session
        return self._open(session_id(exchange.call_id, exchange), session.id)

    def _summarised(self, exchange: Exchange, prompt: tuple[bytes, ...]) -> _Session | None:
        """Return the session whose text a summary in the prompt stands for."""
        for place, part in enumerate(exchange.prompt):
            if base_of(part.tag) != "summary":
                continue
            said = self._said.get(_text_key(part.text))
            if said:
                return self._sessions[next(reversed(said))]
            found = self._quoted(part.text) or self._shortened(exchange.prompt[:place], prompt[:place])
            if found is not None:
                return found
        return None

    def _quoted(self, summary: str) -> _Session | None:
        """Return the newest session of which the summary repeats a line that it said."""
        for session in islice(reversed(self._sessions.values()), _SEARCHED_SESSIONS):
            if any(anchor in summary for anchor in session.anchors):
                return session
        return None

    def _shortened(self, before: Sequence[Part], prompt: tuple[bytes, ...]) -> _Session | None:
        """Return the newest session that opened with all that stands before the summary.

        A system prompt alone is shared by many sessions; then the opening has to fit only one.
        """
        fitting = [
            each for each in self._sessions.values() if each.outputs and each.prompt[: len(prompt)] == prompt
        ]
        is_own = any(base_of(part.tag) not in _OPENING for part in before)
        return fitting[-1] if fitting and prompt and (is_own or len(fitting) == 1) else None

    def _open(self, name: str, parent: str | None) -> _Session:
        session = self._sessions.get(name)
        if session is None:
            session = self._sessions[name] = _Session(name, parent if parent != name else None)
            if len(self._sessions) > self._max_sessions:
                self._forget(next(iter(self._sessions)))
        elif session.parent is None and parent != name:
            session.parent = parent
        return session

    def _remember(
        self, session: _Session, exchange: Exchange, chain: Chain, prompt: tuple[bytes, ...]
    ) -> None:
        session.outputs += bool(exchange.output)
        session.prompt = prompt
        self._sessions.move_to_end(session.id)
        for key in _keys_of(exchange, chain):
            sessions = self._said.setdefault(key, {})
            sessions.pop(session.id, None)
            sessions[session.id] = session.outputs
            session.keys.add(key)
        anchors = [anchor_of(part.text) for part in exchange.output if part.kind == "text"]
        session.anchors.extend(anchor for anchor in anchors if len(anchor) >= MIN_ANCHOR_CHARS)
        del session.anchors[:-_REMEMBERED_ANCHORS]

    def _forget(self, name: str) -> None:
        for key in self._sessions.pop(name).keys:
            sessions = self._said[key]
            del sessions[name]
            if not sessions:
                del self._said[key]


def session_id(name: str, first: Exchange | None = None) -> str:
    """Return the id of a session that nobody named, from what names its first call.

    Servers give ids like `chatcmpl-1` again and again: with the call's content beside its name, sessions that
    have nothing in common have different ids, whatever file they are in.
    """
    parts = (*first.prompt, *first.output) if first else ()
    content = b"".join(part.identity for part in parts)
    return "s-" + hashlib.sha256(name.encode("utf-8", "surrogatepass") + content).hexdigest()[:16]


def canonical_order(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """Return calls by time and each once, so that order and repetition of input change nothing.

    Calls of one session stay as their source has them where it was written in order (they have a `place`):
    clocks stand still, fall back and are missing. Elsewhere, of calls at the same time (some logs know
    seconds only), the shorter prompt comes first, as contexts grow. Calls that have no time and no
    neighbour to lend one keep their order, behind all others. Of several reports of a call the fullest
    is kept.
    """
    kept: dict[str, Exchange] = {}
    for exchange in exchanges:
        known = kept.get(exchange.call_id)
        if known is None or _fullness(exchange) > _fullness(known):
            kept[exchange.call_id] = exchange
    calls = sorted(kept.values(), key=_place)
    moments = _moments(calls)
    return sorted(calls, key=lambda each: _rank(each, moments[each.call_id]))


def _moments(calls: Sequence[Exchange]) -> dict[str, int | None]:
    """Return the time to order each call by: in a source written in order it never falls back."""
    moments: dict[str, int | None] = {}
    newest: dict[str, int] = {}
    for call in calls:
        if call.place is not None and call.started_ns is not None:
            newest.setdefault(call.session, call.started_ns)
    for call in calls:
        moment = call.started_ns
        if call.place is not None and call.session in newest:
            moment = newest[call.session] = max(newest[call.session], moment or 0)
        moments[call.call_id] = moment
    return moments


def _place(exchange: Exchange) -> int:
    return exchange.place or 0


def _rank(exchange: Exchange, moment: int | None) -> tuple[bool, int, int, int, str]:
    if moment is None:
        return True, 0, 0, 0, ""
    return False, moment, _place(exchange), len(exchange.prompt), exchange.call_id


def _fullness(exchange: Exchange) -> tuple[bool, bool, int, int, bytes, int]:
    """Rank reports of one call; contents and places break ties, so that the choice does not hang on order."""
    parts = (*exchange.prompt, *exchange.output)
    content = hashlib.sha256(b"".join(part.identity for part in parts)).digest()
    return (
        exchange.usage is not None,
        not exchange.incomplete,
        len(exchange.output),
        len(exchange.prompt),
        content,
        -_place(exchange),
    )


def _keys_of(exchange: Exchange, chain: Chain) -> Iterator[Key]:
    """Yield what an output is found by again: call ids, contents, ids of a stateful API."""
    for part in exchange.output:
        if part.call_id:
            yield part.call_id, part.tool
        yield part.identity
        if part.kind == "text":
            yield _text_key(part.text)
    yield from (f"id:{name}" for name in (chain.response, chain.conversation) if name)


def _text_key(text: str) -> str:
    return "text:" + hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _goes_on(before: tuple[bytes, ...], parts: Sequence[Part], prompt: tuple[bytes, ...]) -> bool:
    """Return whether a prompt is an earlier one and an answer, although the answer reads differently."""
    end = len(before)
    return 0 < end < len(prompt) and parts[end].role == "assistant" and prompt[:end] == before


def _common(left: Sequence[bytes], right: Sequence[bytes]) -> int:
    """Return the length of the longest common prefix."""
    length = min(len(left), len(right))
    return next((index for index in range(length) if left[index] != right[index]), length)
