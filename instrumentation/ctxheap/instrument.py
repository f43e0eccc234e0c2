"""Switch the capture on and off, and take what an application says about its own calls.

Nothing here raises into the application or blocks it; with the capture off every function is a no-op.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import Token
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, cast

from ctxheap.capture.flight import Call, capture
from ctxheap.capture.guard import faults, guarded
from ctxheap.capture.hooks import import_hooks
from ctxheap.capture.imports import ImportHooks
from ctxheap.capture.intake import Counts, Intake, Weighed
from ctxheap.capture.patch import Patches
from ctxheap.capture.scope import Label, Scope, scope
from ctxheap.settings import CaptureMode, Redact, Settings, from_environment

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from ctxheap.capture.pipeline import Pipeline
    from ctxheap.telemetry.emit import Emitter
    from ctxheap.telemetry.setup import Targets

AttributeValue = str | int | float | bool


class Runtime:
    """Own the intake, the worker's pipeline and the hooks; one a process while the capture is on."""

    def __init__(
        self,
        settings: Settings,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        *,
        new_id: Callable[[], bytes] | None = None,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self.now_ns = clock or time.time_ns
        self.settings = settings
        self.session_header = settings.session_header
        self.intake = Intake(self._handle, warm=self._warm, idle=self._idle, max_bytes=settings.queue_bytes)
        self._providers = tracer_provider, meter_provider
        self._new_id = new_id
        self._targets: Targets | None = None
        self._pipeline: Pipeline | None = None
        self._emitter: Emitter | None = None
        self._told: dict[str, int] = {}
        self._patches = Patches()
        self._hooks: ImportHooks | None = None

    def start(self) -> None:
        """Install the hooks and capture from now on."""
        self._hooks = import_hooks(self._patches)
        self._hooks.install()
        capture.sink = self

    def pause(self) -> None:
        """Put everything back; what was captured is still worked off."""
        if capture.sink is self:
            capture.sink = None
        if self._hooks is not None:
            self._hooks.uninstall()
        self._patches.restore()

    def stop(self) -> None:
        """Put everything back, and work off what was captured, within the time for the exit."""
        self.pause()
        self.intake.stop(self.settings.exit_seconds)

    def wake(self) -> None:
        """Get ready for a call that has begun."""
        self.intake.wake()

    def offer(self, call: Weighed) -> bool:
        """Take a finished call, label or activity in, without blocking."""
        return self.intake.offer(call)

    def flush(self, seconds: float) -> bool:
        """Wait until all that was captured so far is exported; False when the time was not enough."""
        return self.intake.flush(seconds)

    def after_fork(self) -> None:
        """Start anew in a child process."""
        self.intake.after_fork()
        self._pipeline = self._emitter = None
        self._told = {}
        if self._targets is not None:
            self._targets.after_fork()
        engines = sys.modules.get("ctxheap.tokens.engines")
        if engines is not None:
            engines.__dict__["_lock"] = threading.Lock()  # the parent's worker may have held it

    def _warm(self, _: None) -> None:
        """Import and build what the first call needs, while that still waits for its answer."""
        self._made()
        if self._targets is not None:
            self._targets.tracer()
        from ctxheap.tokens import engine  # noqa: PLC0415 -- heavy

        engine("o200k_base")

    def _handle(self, item: Weighed) -> None:
        self._made().handle(item)

    def _idle(self, is_ending: bool) -> None:
        if self._pipeline is None or self._emitter is None or self._targets is None:
            return
        self._pipeline.idle(is_ending)
        self._tell_losses(self._emitter)
        if is_ending:
            self._targets.flush(self.settings.exit_seconds)

    def _made(self) -> Pipeline:
        """Return the pipeline; what it needs is imported here, on the worker, at the first call."""
        if self._pipeline is None:
            from ctxheap.capture.pipeline import Pipeline, random_id  # noqa: PLC0415 -- heavy
            from ctxheap.telemetry.content import Content  # noqa: PLC0415 -- heavy
            from ctxheap.telemetry.emit import Emitter  # noqa: PLC0415 -- heavy
            from ctxheap.telemetry.setup import Targets  # noqa: PLC0415 -- heavy

            settings = self.settings
            self._targets = self._targets or Targets(*self._providers)
            content = Content(settings.capture, settings.redact, settings.identity_key)
            self._emitter = Emitter(self._targets, content)
            self._pipeline = Pipeline(self._emitter, settings.memory_bytes, self._new_id or random_id)
        return self._pipeline

    def _tell_losses(self, emitter: Emitter) -> None:
        counts = self.intake.counts
        now = {"overload": counts.dropped, "fault": counts.lost}
        emitter.count_lost({reason: calls - self._told.get(reason, 0) for reason, calls in now.items()})
        self._told = now


class _Current:
    """Hold the runtime of the process."""

    def __init__(self) -> None:
        self.runtime: Runtime | None = None
        self.is_registered = False


_current = _Current()


def instrument(
    *,
    capture: CaptureMode | None = None,
    redact: Redact | None = None,
    identity_key: bytes | str | None = None,
    session_header: str | None = None,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
) -> bool:
    """Capture the calls that this process makes to models from now on.

    Libraries are hooked when they are imported; calling it again replaces the settings. Spans go to the
    provider given, else to the application's global one, else to one made from the `OTEL_*` variables.

    Args:
        capture: How much content leaves the process: `off` (default), `preview` or `full`.
        redact: Called with every text that would leave and its tag; returns what leaves instead.
        identity_key: Secret that keys the identities of contents.
        session_header: Request header that names the session.
        tracer_provider: Where spans go.
        meter_provider: Where metrics go.

    Returns:
        Whether calls are captured now; False when it is switched off or something failed, which is logged.
    """
    try:
        settings = _settings(capture, redact, identity_key, session_header)
        if settings.disabled:
            return False
        uninstrument()
        runtime = Runtime(settings, tracer_provider, meter_provider)
        runtime.start()
        _current.runtime = runtime
        _register()
    except Exception as error:
        faults.note("instrument", error)
        if faults.strict:
            raise
        return False
    return True


def _settings(
    mode: CaptureMode | None,
    redact: Redact | None,
    identity_key: bytes | str | None,
    session_header: str | None,
) -> Settings:
    found = from_environment()
    key = identity_key.encode() if isinstance(identity_key, str) else identity_key
    return Settings(
        capture=mode or found.capture,
        redact=redact or found.redact,
        identity_key=key or found.identity_key,
        queue_bytes=found.queue_bytes,
        memory_bytes=found.memory_bytes,
        exit_seconds=found.exit_seconds,
        session_header=found.session_header if session_header is None else session_header,
        disabled=found.disabled,
    )


@guarded("uninstrument", None)
def uninstrument() -> None:
    """Restore everything that `instrument` replaced; what was captured is still exported."""
    runtime, _current.runtime = _current.runtime, None
    if runtime is not None:
        runtime.stop()


@guarded("flush", otherwise=False)
def flush(seconds: float = 5.0) -> bool:
    """Wait until what was captured so far is exported; False when the time was not enough."""
    return _current.runtime is None or _current.runtime.flush(seconds)


def counts() -> Counts:
    """Return how many calls were taken, dropped and lost in this process since `instrument`."""
    return _current.runtime.intake.counts if _current.runtime is not None else Counts()


def _register() -> None:
    if _current.is_registered:
        return
    _current.is_registered = True
    atexit.register(_at_exit)
    if hasattr(os, "register_at_fork"):
        # logging takes its lock before a fork. What registered last waits first: so ours must be later, or
        # the worker may need that lock to come to the point that we wait for.
        import logging  # noqa: F401, PLC0415

        os.register_at_fork(
            before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork
        )


@guarded("exit", None)
def _at_exit() -> None:
    runtime = _current.runtime
    if runtime is not None:
        from ctxheap import pace  # noqa: PLC0415

        pace.stop()
        runtime.flush(runtime.settings.exit_seconds)


@guarded("fork", None)
def _before_fork() -> None:
    if _current.runtime is not None:
        _current.runtime.intake.before_fork()


@guarded("fork", None)
def _after_fork_in_parent() -> None:
    if _current.runtime is not None:
        _current.runtime.intake.after_fork_in_parent()


@guarded("fork", None)
def _after_fork() -> None:
    if _current.runtime is not None:
        _current.runtime.after_fork()


@contextmanager
def use_runtime(runtime: Runtime) -> Generator[None]:
    """Capture with a runtime of one's own for a while, as tests do; what was on before comes back."""
    before, _current.runtime = _current.runtime, None
    if before is not None:
        before.pause()
    runtime.start()
    _current.runtime = runtime
    try:
        yield
    finally:
        _current.runtime = None
        runtime.stop()
        if before is not None:
            before.start()
            _current.runtime = before


class session:  # noqa: N801 -- used as a function
    """Say that the calls made inside belong to one session.

    Use it as a context manager, in synchronous and in asynchronous code; tasks and threads started
    with a copied context inherit it.
    """

    def __init__(self, id: str, *, agent: str = "", parent: str = "") -> None:  # noqa: A002
        self._scope = Scope(str(id), agent, parent)
        self._token: Token[Scope] | None = None

    def __enter__(self) -> Self:
        outer = scope.get()
        if outer.session and outer.session != self._scope.session and not self._scope.parent:
            self._scope = Scope(self._scope.session, self._scope.agent, outer.session)
        self._token = scope.set(self._scope)
        return self

    def __exit__(self, *_: object) -> None:
        _reset(self._token)


class activity:  # noqa: N801 -- used as a function
    """Say what the agent does inside besides its task: `compaction`, `retrieval`, `lock`, `memory`.

    Calls made inside carry it, and a span of its own gets the further arguments as attributes. A
    compaction marks the next call of the session as one whose history was replaced.
    """

    def __init__(self, kind: str, **attributes: AttributeValue) -> None:
        self._kind = kind
        self._attributes = attributes
        self._token: Token[Scope] | None = None
        self._started_ns = 0

    def note(self, **attributes: AttributeValue) -> None:
        """Add attributes that are known only later."""
        self._attributes.update(attributes)

    def __enter__(self) -> Self:
        outer = scope.get()
        self._token = scope.set(Scope(outer.session, outer.agent, outer.parent, self._kind))
        self._started_ns = time.time_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        del error, trace
        said = scope.get()
        _reset(self._token)
        self._end(said, f"{kind.__module__}.{kind.__qualname__}" if kind else "")
        return False

    @guarded("activity", None)
    def _end(self, said: Scope, error: str) -> None:
        if _current.runtime is None:
            return
        from ctxheap.capture.flight import otel_context  # noqa: PLC0415
        from ctxheap.telemetry.record import Activity  # noqa: PLC0415

        made = Activity(
            self._kind,
            said.session,
            said.agent,
            self._started_ns,
            time.time_ns(),
            otel_context(),
            dict(self._attributes),
            error.removeprefix("builtins."),
        )
        _current.runtime.offer(made)


@guarded("scope", None)
def _reset(token: Token[Scope] | None) -> None:
    if token is None:
        return
    try:
        scope.reset(token)
    except ValueError:
        scope.set(token.old_value if isinstance(token.old_value, Scope) else Scope())


@guarded("tag", None)
def tag(texts: object, tag: str) -> None:
    """Say what a text, or the texts of documents, are before they enter a prompt: `retrieval:kb`.

    Documents may be strings, LangChain or LlamaIndex documents, or dicts with a text.
    """
    if _current.runtime is not None:
        _current.runtime.offer(Label(tuple(_texts_of(texts)), tag))


@guarded("pin", None)
def pin(texts: object) -> None:
    """Say that a text, or the texts of documents, must stay in the context while they are in a prompt."""
    if _current.runtime is not None:
        _current.runtime.offer(Label(tuple(_texts_of(texts))))


_TEXT_ATTRIBUTES = ("page_content", "text", "content")


def _texts_of(given: object) -> Iterable[str]:
    if isinstance(given, str):
        yield given
    elif isinstance(given, dict):
        known = cast("dict[str, object]", given)
        yield from (value for name in _TEXT_ATTRIBUTES if isinstance(value := known.get(name), str))
    elif isinstance(
        text := next(filter(None, (getattr(given, n, None) for n in _TEXT_ATTRIBUTES)), None), str
    ):
        yield text
    elif isinstance(given, Iterable):
        for item in cast("Iterable[object]", given):
            yield from _texts_of(item)


__all__ = ["Call", "activity", "counts", "flush", "instrument", "pin", "session", "tag", "uninstrument"]
