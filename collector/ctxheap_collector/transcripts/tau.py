"""Read results of tau-bench: a list of episodes {"task_id", "reward", "info", "traj": [chat messages]}.

An episode is a session. The file holds neither the tools' schemas nor usage nor the model's name, so the
prompts are known to be incomplete.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxheap.heap.model import Exchange
from ctxheap.providers.json_fields import EMPTY, fields, items, objects
from ctxheap_collector.transcripts.message_lists import elements, replayed, stem_of, turns
from ctxheap_collector.transcripts.replay import About
from ctxheap_collector.transcripts.source import Head, Source
from ctxheap_collector.transcripts.wire import OPENAI

FORMAT = "tau-bench"


def looks_like(head: Head) -> bool:
    """Say whether the source is a list of episodes with a task and a trajectory."""
    opening = next(iter(objects(head.document)), EMPTY)
    return "task_id" in opening and "traj" in opening


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls that each episode must have taken."""
    stem = stem_of(source)
    for _, document in elements(source):
        for number, episode in enumerate(items(document), 1):
            messages = items(fields(episode).get("traj"))
            about = About(f"{stem}#{number}", agent="tau-bench", incomplete=True)
            yield from replayed(source, turns(source, messages, OPENAI), about)
