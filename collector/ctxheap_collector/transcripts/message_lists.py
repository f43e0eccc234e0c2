"""Find saved lists of messages, whole files or one a line, and replay each as a session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ctxheap.heap.model import Exchange, Part
from ctxheap.providers.json_fields import Fields, fields, items, odd_counts, string
from ctxheap_collector.transcripts.replay import About, Turn, replay
from ctxheap_collector.transcripts.source import Head, Source
from ctxheap_collector.transcripts.timestamps import epoch_ns
from ctxheap_collector.transcripts.wire import Wire, provider_on

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function", "model"})
_SUFFIXES = frozenset({".gz", ".json", ".jsonl", ".ndjson", ".traj", ".txt"})


@dataclass(frozen=True, slots=True)
class MessageList:
    """Hold one list of messages, the object around it, and the id of the session it stands for."""

    session: str
    body: Fields
    messages: Sequence[object]


def opening_list(head: Head) -> tuple[Fields, Sequence[object]] | None:
    """Return the first list of messages with what surrounds it, None when the source holds no such list."""
    value = head.document if head.document is not None else next(iter(head.records), None)
    if is_message(value):
        return {}, [record for record in head.records if is_message(record)]
    for _, body, messages in _lists(1, value):
        return body, messages
    return None


def is_message(value: object) -> bool:
    """Say whether a value is one message of a conversation."""
    body = fields(value)
    return string(body.get("role")) in _ROLES and (
        "content" in body or "tool_calls" in body or "function_call" in body
    )


def lists(source: Source) -> Iterator[MessageList]:
    """Yield every list of messages in a source.

    A list that the next one continues is left out: logs of growing requests, and training sets with one
    example a turn, repeat one conversation.
    """
    stem = stem_of(source)
    loose: list[object] = []
    held: tuple[int, MessageList] | None = None
    for line, value in elements(source):
        if is_message(value):
            loose.append(value)
            continue
        members = list(_lists(line, value))
        if not members:
            source.skip(line, "no list of messages")
        for place, body, messages in members:
            if held is not None and messages[: len(held[1].messages)] == held[1].messages:
                source.skip(held[0], "the next list continues this one")
            elif held is not None:
                yield held[1]
            held = place, MessageList(_session_id(body, stem, place), body, messages)
    if held is not None:
        yield held[1]
    if loose:
        # Messages one a line: the whole file is one list.
        yield MessageList(stem, {}, loose)


def stem_of(source: Source) -> str:
    """Return the name of a source without its folder and the suffixes of transcripts."""
    path = Path(source.name)
    while path.suffix in _SUFFIXES and path.stem:
        path = Path(path.stem)
    return path.name


def elements(source: Source) -> Iterator[tuple[int, object]]:
    """Yield line (or 0) and value: one a line of JSON Lines, else one a file."""
    if source.head().document is None:
        yield from source.records()
        return
    for _, document in source.documents():
        yield 0, document


def _lists(line: int, value: object) -> Iterator[tuple[int, Fields, Sequence[object]]]:
    if body := fields(value):
        messages = items(body.get("messages"))
        if any(map(is_message, messages)):
            yield line, body, messages
        return
    members = items(value)
    if any(map(is_message, members)):
        yield line, {}, members
        return
    for number, member in enumerate(members, 1):
        yield from _lists(number, member)


def _session_id(body: Fields, stem: str, place: int) -> str:
    for key in ("session_id", "conversation_id", "thread_id", "id"):
        if named := string(body.get(key)):
            return named
    return f"{stem}#{place}" if place else stem


def replay_list(
    source: Source, found: MessageList, *, wire: Wire, opening: Sequence[Part]
) -> Iterator[Exchange]:
    """Yield the calls of one list; a list without an assistant's turn is named as skipped."""
    model = string(found.body.get("model"))
    about = About(found.session, model, provider_on(wire, model), opening=opening)
    yield from replayed(source, turns(source, found.messages, wire), about)


def replayed(source: Source, turned: Iterable[Turn], about: About) -> Iterator[Exchange]:
    """Yield the calls of one session; one without any is named as skipped."""
    count = answers = 0

    def counting() -> Iterator[Turn]:
        nonlocal answers
        for number, turn in enumerate(turned, 1):
            answers += turn.is_output
            skip_odd_counts(source, 0, turn.reported, f"turn {number}: usage")
            yield turn

    for exchange in replay(counting(), about):
        count += 1
        yield exchange
    if not count:
        missing = "no prompt before the answer of a model" if answers else "no answer of a model"
        source.skip(0, f"{about.session}: {missing}, so no call")


def skip_odd_counts(source: Source, line: int, usage: object, name: str = "usage") -> None:
    """List the token counts in a usage that cannot be right."""
    for problem in odd_counts(usage, name):
        source.skip(line, problem)


def turns(source: Source, messages: Sequence[object], wire: Wire) -> Iterator[Turn]:
    """Yield the turns of a list of messages; what is no message is named as skipped."""
    tools: dict[str, str] = {}
    for index, message in enumerate(messages):
        body = fields(message)
        if not body:
            source.skip(0, f"message {index} is no object")
            continue
        usage = body.get("usage")
        yield Turn(
            parts=wire.message_parts(body, tools=tools, where=str(index)),
            is_output=string(body.get("role")) in ("assistant", "model"),
            usage=wire.usage_of(usage) if fields(usage) else None,
            reported=usage,
            started_ns=epoch_ns(body.get("timestamp")),
        )
