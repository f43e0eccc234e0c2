"""Find out by content which format a transcript has, and read any mix of files."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Protocol, cast

from ctxheap.heap.model import Exchange
from ctxheap_collector.transcripts import (
    aider,
    anthropic_messages,
    cassettes,
    claude_code,
    claude_stream,
    codex,
    copilot,
    gemini_cli,
    inspect_log,
    langfuse,
    langsmith,
    litellm_log,
    mini_swe_agent,
    moatless,
    openai_messages,
    openhands,
    openhands_events,
    otlp_dump,
    pi,
    request_log,
    source_bytes,
    swe_agent,
    tau,
    tau2,
)
from ctxheap_collector.transcripts.source import STDIN, Found, Head, Source, Unreadable, counted, expand

SHOWN_KEYS = 12
OPENING_BYTES = 256


class Format(Protocol):
    """Name what the module of a format offers.

    Three more constants are optional. `GROUPED_BY_FOLDER = True`: the files of one folder that open alike are
    one transcript. `GLOBAL_CALL_IDS = True`: a call id is the provider's own, so that two files with the
    same id hold copies of one call, which is then billed once. `IN_ANY_ORDER = True`: lines may have been
    merged or shuffled, so that only times say which call came first.
    """

    FORMAT: str

    def looks_like(self, head: Head) -> bool:
        """Say whether a source that opens like this has the format."""
        ...

    def read(self, source: Source) -> Iterator[Exchange]:
        """Yield the calls of a source; what is left out goes to `source.skipped`."""
        ...


# Most specific first: the first that recognises a head gets the source.
FORMATS: tuple[Format, ...] = tuple(
    cast("Format", module)
    for module in (
        claude_stream,
        claude_code,
        codex,
        copilot,
        gemini_cli,
        pi,
        openhands,
        mini_swe_agent,
        moatless,
        langfuse,
        langsmith,
        inspect_log,
        otlp_dump,
        tau2,
        tau,
        swe_agent,
        openhands_events,
        cassettes,
        aider,
        litellm_log,
        request_log,
        anthropic_messages,
        openai_messages,
    )
)


@dataclass(slots=True)
class Reading:
    """Hold one source and the calls in it, which are read while they are iterated.

    Attributes:
        source: Where the calls come from; `source.skipped` is complete after the iteration.
        format: The format's name, "" when it was not recognised.
        exchanges: The calls.
        problem: Why nothing could be read, "" when it could.
        is_named: Whether a person named this very file, so that a problem is an error.
    """

    source: Source
    format: str
    exchanges: Iterator[Exchange] = field(default_factory=lambda: iter(()))
    problem: str = ""
    is_named: bool = True


def detect(source: Source) -> Format:
    """Return the module that reads a source.

    Raises:
        Unreadable: It cannot be opened, or no format recognises it.
    """
    head = source.head()
    for module in FORMATS:
        if module.looks_like(head):
            return module
    looked_for = ", ".join(module.FORMAT for module in FORMATS)
    raise Unreadable(
        f"{source.name}: no known transcript format. Found {_found(head)}; looked for {looked_for}."
    )


def _found(head: Head) -> str:
    value = head.document if head.document is not None else next(iter(head.records), None)
    if value is None:
        opening = head.text.lstrip(" \t\r\n\0")[:40]
        blank = "nothing but blanks" if head.text else "an empty file"
        return f"no JSON (it starts with {opening!r})" if opening else blank
    shape = "one JSON value" if head.document is not None else "JSON Lines"
    if isinstance(value, list):
        items = cast("list[object]", value)
        return f"{shape}: a list of {len(items)}" + (f", first {_keys(items[0])}" if items else "")
    return f"{shape}: {_keys(value)}"


def _keys(value: object) -> str:
    if not isinstance(value, dict):
        return type(value).__name__
    keys = [str(key) for key in cast("dict[object, object]", value)]
    more = ", …" if len(keys) > SHOWN_KEYS else ""
    return f"an object with the keys {', '.join(keys[:SHOWN_KEYS])}{more}"


def read_all(
    paths: Iterable[str],
    *,
    stdin: IO[bytes] | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> Iterator[Reading]:
    """Yield every transcript behind `paths`; iterate the exchanges of one before asking for the next.

    One bad file never stops the others. A call that an earlier file already held (a session that was resumed
    into a new file starts with a copy of the old one) is left out where its id is the provider's; the calls
    that follow it name the earlier session as their parent.
    """
    billed: dict[str, str] = {}
    waiting = deque(expand(paths))
    while waiting:
        found = waiting.popleft()
        name = "standard input" if found.path == STDIN else str(found.path)
        source = Source(name, (found.path,), stdin=stdin, on_bytes=on_bytes)
        try:
            module = detect(source)
        except Unreadable as error:
            yield Reading(source, "", problem=str(error), is_named=found.is_named)
            continue
        if getattr(module, "GROUPED_BY_FOLDER", False):
            source = _with_siblings(source, waiting)
        stopped: list[str] = []
        exchanges = _guarded(module.read(source), source, stopped)
        if not getattr(module, "IN_ANY_ORDER", False):
            exchanges = (replace(each, place=place) for place, each in enumerate(exchanges))
        if getattr(module, "GLOBAL_CALL_IDS", False):
            exchanges = _billed_once(exchanges, source, billed)
        yield Reading(source, module.FORMAT, exchanges, is_named=found.is_named)
        for problem in stopped:
            # A reading without calls, so that a rest which nobody read counts as an input that was not read.
            yield Reading(Source(source.name, source.files), "", problem=problem, is_named=found.is_named)
        source.close()


def _with_siblings(source: Source, waiting: deque[Found]) -> Source:
    """Take the files of the same folder that open alike out of the queue into the source."""
    first = source.files[0]
    if first == STDIN:
        return source
    opening = _opening(first)
    alike: list[Found] = []
    others: list[Found] = []
    while waiting and waiting[0].path.parent == first.parent:
        found = waiting.popleft()
        (alike if _opening(found.path) == opening else others).append(found)
    waiting.extendleft(reversed(others))
    if not alike:
        return source
    return source.joined((first, *(found.path for found in alike)), str(first.parent))


def _opening(path: Path) -> bytes:
    """Return a file's opening up to its first key, cheap to compare; empty when it cannot be read."""
    try:
        with path.open("rb") as raw:
            return source_bytes.unpack(raw).read(OPENING_BYTES).split(b":")[0]
    except source_bytes.PackedError:
        return b""


def _guarded(exchanges: Iterator[Exchange], source: Source, stopped: list[str]) -> Iterator[Exchange]:
    """Note in `stopped` what ends a reader before its time: the files after it must be read all the same."""
    try:
        yield from exchanges
    except Unreadable as error:
        stopped.append(str(error))
    except Exception as error:  # noqa: BLE001 - a reader meets data that nobody has seen before
        stopped.append(f"{source.name}: the reader stopped: {type(error).__name__}: {error}")


def _billed_once(exchanges: Iterator[Exchange], source: Source, billed: dict[str, str]) -> Iterator[Exchange]:
    """Leave out calls that an earlier file held; what follows a copied past has its session as parent."""
    origin: dict[str, str] = {}
    copies = 0
    for exchange in exchanges:
        if exchange.call_id in billed:
            copies += 1
            origin[exchange.session] = billed[exchange.call_id]
            continue
        billed[exchange.call_id] = exchange.session
        parent = origin.get(exchange.session, exchange.session)
        has_new_parent = exchange.parent is None and parent != exchange.session
        yield replace(exchange, parent=parent) if has_new_parent else exchange
    if copies:
        are_copies = counted(copies, "call is a copy of one", "calls are copies of calls")
        source.skip(0, f"{are_copies} in files read before")
