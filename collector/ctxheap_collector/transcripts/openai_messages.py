"""Read saved lists of OpenAI chat messages: bare, with their tools, or one fine-tuning example a line."""

from __future__ import annotations

from collections.abc import Iterator

from ctxheap.heap.model import Exchange
from ctxheap.providers import openai
from ctxheap_collector.transcripts.message_lists import lists, opening_list, replay_list
from ctxheap_collector.transcripts.source import Head, Source
from ctxheap_collector.transcripts.wire import OPENAI

FORMAT = "openai-messages"


def looks_like(head: Head) -> bool:
    """Say whether the source opens with a list of messages, or an object that holds one."""
    return opening_list(head) is not None


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls that each list must have taken."""
    for found in lists(source):
        opening = openai.tool_definitions(found.body.get("tools") or found.body.get("functions"))
        system = {"role": "system", "content": found.body.get("system")}
        opening += openai.message_parts(system, tools={}, where="system")
        yield from replay_list(source, found, wire=OPENAI, opening=opening)
