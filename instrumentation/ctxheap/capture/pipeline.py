"""Work finished calls off on the worker: read, find the session, build its heap, emit.

Call ──attempts──▶ one call ──Endpoint.read──▶ Reading ──marks, pins──▶ prompt
     ──Stitcher──▶ session ──LiveHeap──▶ Snapshot ──Emitter──▶ span and metrics
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from ctxheap import pace
from ctxheap.capture.attempts import Attempts
from ctxheap.capture.flight import Call
from ctxheap.capture.labels import Labels
from ctxheap.capture.recent import Recent
from ctxheap.capture.scope import Label
from ctxheap.heap.live import LiveHeap
from ctxheap.heap.model import Compaction, Exchange
from ctxheap.heap.stitch import Assignment, Stitcher
from ctxheap.providers.json_fields import fields, string
from ctxheap.providers.reading import Reading
from ctxheap.providers.wire import UnreadableError
from ctxheap.telemetry.record import Activity, Inference
from ctxheap.tokens import counter_for

if TYPE_CHECKING:
    from ctxheap.heap.counts import TokenCounter

MAX_SESSIONS = 256
REFRESHED = 96
"""Older objects whose identities every call repeats."""
_SESSION_FIELDS = ("session_id", "sessionId", "session.id", "conversation_id", "thread_id")
_SESSION_ATTRIBUTES = ("gen_ai.conversation.id", "session.id", "langfuse.session.id")


class Output(Protocol):
    """Take what the pipeline made."""

    def emit(self, inference: Inference) -> None:
        """Emit an inference call."""
        ...

    def emit_activity(self, activity: Activity) -> None:
        """Emit an activity."""
        ...


@dataclass(slots=True)
class _Session:
    """Hold a running session: its heap, and where the turn of repeated identities stands."""

    heap: LiveHeap
    heap_id: bytes
    refreshed: int = 0
    compaction: Compaction | None = None


@dataclass(slots=True)
class Pipeline:
    """Own what is remembered between calls; used by one thread.

    Attributes:
        output: Where inference calls go.
        memory_bytes: Bound on remembered request bodies.
        new_id: Gives 8 bytes that no other session has.
        ignored: Calls that turned out to be none of a model, by reason.
    """

    output: Output
    memory_bytes: int
    new_id: Callable[[], bytes]
    count_for: Callable[[str, str], TokenCounter] = counter_for
    ignored: Counter[str] = field(default_factory=Counter[str])
    _attempts: Attempts = field(default_factory=Attempts)
    _labels: Labels = field(default_factory=Labels)
    _stitcher: Stitcher = field(default_factory=lambda: Stitcher(max_sessions=4 * MAX_SESSIONS))
    _sessions: OrderedDict[str, _Session] = field(default_factory=OrderedDict[str, _Session])
    _calls: int = 0
    _recent: Recent = field(init=False)

    def __post_init__(self) -> None:
        """Make the memory of the size that was asked for."""
        self._recent = Recent(max_bytes=self.memory_bytes)

    def handle(self, item: object) -> None:
        """Work one item off."""
        if isinstance(item, Call):
            call = self._attempts.take(item)
            if call is not None:
                self._finish(call)
        elif isinstance(item, Label):
            self._labels.add(item)
        elif isinstance(item, Activity):
            self._note(item)

    def idle(self, is_ending: bool) -> None:
        """Give up waiting for attempts that did not come; all of them when the process ends."""
        for call in self._attempts.given_up(0 if is_ending else time.time_ns()):
            self.output.emit(Inference(call))

    def _finish(self, call: Call) -> None:
        if not call.is_answered:
            self.output.emit(Inference(call))
            return
        try:
            reading = self._read(call)
        except UnreadableError as error:
            self.ignored[type(error).__name__] += 1
            return
        pace.breathe()
        exchange = self._told(call, reading)
        assignment = self._stitcher.assign(exchange, reading.chain)
        session = self._session(assignment.session, exchange)
        exchange = replace(exchange, session=assignment.session, compaction=session.compaction)
        session.compaction = None
        pace.breathe()
        snapshot = session.heap.follow(exchange)
        if snapshot is None:
            self.ignored["repeated"] += 1
            return
        refreshed = self._refreshed(session, snapshot.born, len(snapshot.objects))
        self.output.emit(
            Inference(
                call, reading, exchange, snapshot, session.heap_id, _parent(call, assignment), refreshed
            )
        )

    def _read(self, call: Call) -> Reading:
        request = call.request
        found = self._recent.before(request)
        reading = call.endpoint.read(
            request, call.response, known=found[1] if found else None, stored=self._recent.stored
        )
        is_continued = found is not None and reading.prefix.decoded.kept >= found[1].decoded.count
        chain = reading.chain
        names = (
            tuple(name for name in (chain.response, chain.conversation) if name) if _is_stateful(call) else ()
        )
        self._recent.add(reading.prefix, names, instead_of=found[0] if found and is_continued else None)
        return reading

    def _told(self, call: Call, reading: Reading) -> Exchange:
        """Return the exchange with what the application said about it, marks and pins applied."""
        self._calls += 1
        exchange = reading.exchange
        said = call.scope
        return replace(
            exchange,
            call_id=exchange.call_id + f"@{self._calls}" if exchange.call_id else f"call-{self._calls}",
            prompt=self._labels.apply(exchange.prompt),
            session=said.session or _session_in(reading, call),
            parent=said.parent or None,
            agent=said.agent or _attribute(call, ("gen_ai.agent.name",)),
            started_ns=call.started_ns,
        )

    def _session(self, name: str, exchange: Exchange) -> _Session:
        session = self._sessions.get(name)
        if session is None:
            del exchange
            session = self._sessions[name] = _Session(
                LiveHeap(session=name, counter_for=self.count_for), self.new_id()
            )
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(name)
        return session

    def _refreshed(self, session: _Session, born: Sequence[int], objects: int) -> Sequence[int]:
        """Return the older objects whose turn it is."""
        old = objects - len(born)
        if old <= 0:
            return ()
        start = session.refreshed % old
        chosen = range(start, min(old, start + REFRESHED))
        session.refreshed = chosen.stop % old
        return chosen

    def _note(self, activity: Activity) -> None:
        session = self._sessions.get(activity.session)
        if activity.kind == "compaction" and session is not None:
            session.compaction = Compaction(trigger="activity")
        self.output.emit_activity(activity)


def _is_stateful(call: Call) -> bool:
    return call.endpoint.format == "responses"


def _parent(call: Call, assignment: Assignment) -> str:
    return call.scope.parent or assignment.parent or ""


def _session_in(reading: Reading, call: Call) -> str:
    metadata = fields(reading.parameters.get("metadata"))
    for name in _SESSION_FIELDS:
        if named := string(metadata.get(name)):
            return named
    return _attribute(call, _SESSION_ATTRIBUTES)


def _attribute(call: Call, names: Sequence[str]) -> str:
    """Return an attribute of the span around the call, or of its baggage."""
    context = call.context
    if not isinstance(context, Mapping):
        return ""
    for value in context.values():
        attributes = getattr(value, "attributes", None)
        found = attributes if isinstance(attributes, Mapping) else value
        if isinstance(found, Mapping):
            for name in names:
                if isinstance(named := found.get(name), str) and named:
                    return named
    return ""


def random_id() -> bytes:
    """Return 8 bytes made of the time and the process, for heaps that no test looks at."""
    import os  # noqa: PLC0415 -- one call a session

    return hashlib.sha256(os.urandom(16)).digest()[:8]
