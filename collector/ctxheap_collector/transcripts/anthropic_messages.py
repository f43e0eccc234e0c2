"""Read saved lists of Anthropic messages: content in typed blocks, the system prompt apart."""

from __future__ import annotations

from collections.abc import Iterator

from ctxheap.heap.model import Exchange
from ctxheap.providers import anthropic
from ctxheap_collector.transcripts.message_lists import lists, opening_list, replay_list
from ctxheap_collector.transcripts.source import Head, Source
from ctxheap_collector.transcripts.wire import ANTHROPIC, wire_of

FORMAT = "anthropic-messages"


def looks_like(head: Head) -> bool:
    """Say whether the source opens with messages whose blocks or surroundings only Anthropic's format has."""
    found = opening_list(head)
    return found is not None and wire_of(*found) is ANTHROPIC


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls that each list must have taken."""
    for found in lists(source):
        opening = [
            *anthropic.tool_definitions(found.body.get("tools")),
            *anthropic.system_parts(found.body.get("system")),
        ]
        yield from replay_list(source, found, wire=ANTHROPIC, opening=opening)
