"""Hold what can be set, from arguments and from the environment."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, cast

CaptureMode = Literal["off", "preview", "full"]
Redact = Callable[[str, str], str | None]

_GENAI_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_ON_SPANS = frozenset({"SPAN_ONLY", "SPAN_AND_EVENT"})


class SettingError(ValueError):
    """Name the setting and the value that cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Hold all settings of the in-process hook.

    Attributes:
        capture: How much content leaves the process. `off`: none, neither arguments nor texts;
            `preview`: names and the first 200 characters of each new object; `full`: the messages.
        redact: Called with every text that would leave and its tag; returns what leaves in its place,
            None for nothing. Where it raises, nothing leaves.
        identity_key: Secret that keys the identities of objects, so that nobody can guess short
            contents from them; None leaves them comparable between processes.
        queue_bytes: Bound on the bodies that wait to be worked off; past it whole calls are dropped.
        memory_bytes: Bound on the request bodies that are kept to read the next ones faster.
        exit_seconds: How long the end of the process waits at most.
        session_header: Request header that names the session, "" for none.
        disabled: Whether nothing is captured at all.
    """

    capture: CaptureMode = "off"
    redact: Redact | None = None
    identity_key: bytes | None = None
    queue_bytes: int = 64 * 1024 * 1024
    memory_bytes: int = 64 * 1024 * 1024
    exit_seconds: float = 5.0
    session_header: str = ""
    disabled: bool = False


def from_environment(environ: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of the environment, whose variables begin with CTXHEAP_.

    Raises:
        SettingError: A value cannot be used.
    """
    key = environ.get("CTXHEAP_IDENTITY_KEY", "")
    return Settings(
        capture=_capture(environ),
        redact=_function("CTXHEAP_REDACT", environ.get("CTXHEAP_REDACT", "")),
        identity_key=key.encode() or None,
        queue_bytes=_whole("CTXHEAP_QUEUE_BYTES", environ, Settings().queue_bytes),
        memory_bytes=_whole("CTXHEAP_MEMORY_BYTES", environ, Settings().memory_bytes),
        exit_seconds=_seconds("CTXHEAP_EXIT_SECONDS", environ, Settings().exit_seconds),
        session_header=environ.get("CTXHEAP_SESSION_HEADER", ""),
        disabled=_is_true(environ.get("CTXHEAP_DISABLED")) or _is_true(environ.get("OTEL_SDK_DISABLED")),
    )


def _capture(environ: Mapping[str, str]) -> CaptureMode:
    mode = environ.get("CTXHEAP_CAPTURE", "").lower()
    if not mode:
        return "full" if environ.get(_GENAI_CONTENT, "").upper() in _ON_SPANS else "off"
    known: tuple[CaptureMode, ...] = ("off", "preview", "full")
    found = next((name for name in known if name == mode), None)
    if found is None:
        raise SettingError(f"CTXHEAP_CAPTURE is off, preview or full, not {mode!r}")
    return found


def _whole(name: str, environ: Mapping[str, str], default: int) -> int:
    words = environ.get(name) or str(default)
    if not words.isdecimal():
        raise SettingError(f"{name} is a whole number of bytes, not {words!r}")
    return int(words)


def _seconds(name: str, environ: Mapping[str, str], default: float) -> float:
    words = environ.get(name) or str(default)
    try:
        seconds = float(words)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 3600:
        raise SettingError(f"{name} is a number of seconds, not {words!r}")
    return seconds


def _function(name: str, path: str) -> Redact | None:
    """Return the function that `package.module:function` names."""
    if not path:
        return None
    module, _, attribute = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingError(f"{name}: {path!r} cannot be imported: {error}") from error
    if not callable(found):
        raise SettingError(f"{name}: {path!r} is no function")
    return cast("Redact", found)


def _is_true(words: str | None) -> bool:
    return (words or "").strip().lower() in ("1", "true", "yes", "on")
