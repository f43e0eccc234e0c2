"""Tell what Anthropic left of a prompt before the model saw it: context editing and compaction.

    sent      …result 1 … result 2 … result 3        response: cleared_tool_uses 2
    billed    …receipt  … receipt  … result 3

The oldest go first; which they are follows from the edits that the request asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ctxheap.heap.model import Part
from ctxheap.providers.json_fields import Fields, fields, items, objects, string, tokens

CLEARED = "[Old tool result content cleared]"
"""Stands for the words that the provider puts there, which it does not publish."""


def as_billed(messages: Sequence[Part], request: Fields, response: Fields) -> Sequence[Part]:
    """Return the parts of the messages as they were billed; the same ones where nothing was edited."""
    messages = since_compaction(messages)
    asked = {string(edit.get("type")): edit for edit in objects(_management(request).get("edits"))}
    for edit in objects(_management(response).get("applied_edits")):
        kind = string(edit.get("type"))
        if count := tokens(edit.get("cleared_tool_uses")):
            messages = _without_results(messages, count, asked.get(kind, {}))
        if count := tokens(edit.get("cleared_thinking_turns")):
            messages = _without_thinking(messages, count)
    return messages


def since_compaction(messages: Sequence[Part]) -> Sequence[Part]:
    """Return what is billed: the newest block of a compaction by the provider stands for all before it."""
    for index in range(len(messages) - 1, -1, -1):
        part = messages[index]
        if part.tag == "summary" and part.role == "assistant":
            return messages[index:]
    return messages


def _management(body: Fields) -> Fields:
    return fields(body.get("context_management"))


def _without_results(messages: Sequence[Part], count: int, edit: Fields) -> list[Part]:
    kept = {name for name in items(edit.get("exclude_tools")) if isinstance(name, str)}
    results = [part for part in messages if part.kind == "tool_result" and part.tool not in kept]
    cleared = set(list(dict.fromkeys(part.call_id for part in results))[:count])
    return [
        replace(part, tag="receipt", text=CLEARED, identity=b"")
        if part.kind == "tool_result" and part.call_id in cleared
        else part
        for part in messages
    ]


def _without_thinking(messages: Sequence[Part], turns: int) -> list[Part]:
    """Leave out the thinking of the oldest turns that have any; a turn is a run of the assistant's parts."""
    left: list[Part] = []
    seen, is_thinking = 0, False
    for part in messages:
        if part.role != "assistant":
            is_thinking = False
        elif part.kind == "reasoning" and not is_thinking:
            seen, is_thinking = seen + 1, True
        if part.kind != "reasoning" or seen > turns:
            left.append(part)
    return left
