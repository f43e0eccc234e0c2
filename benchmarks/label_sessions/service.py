"""Load the labelled formats of service agents: tau-bench, tau2-bench, Langfuse, cassettes."""

from __future__ import annotations

import ast
import re

from ctxheap.heap.model import Part

from .jsonish import Mapping, items, jsonl, mapping, mappings, parsed, text
from .messages import placed_messages
from .turns import Placed, Track, replay
from .yaml_subset import read_yaml

_PRINTED = re.compile(
    r"\b(role|content|tool_calls|tool_call_id)="
    r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\[.*?\](?= \w+=)|None)",
    re.S,
)


def tau(content: str, session: int) -> list[Track]:
    """Load one position of a list of tau-bench trajectories."""
    row = mapping(items(parsed(content))[session])
    return [replay(placed_messages(mappings(row.get("traj", row.get("messages")))))]


def tau2(content: str, session: int) -> list[Track]:
    """Load one simulation of a tau2-bench result; what the user's own device says is left out."""
    whole = mapping(parsed(content))
    environment = mapping(mapping(whole.get("info")).get("environment_info"))
    simulation = mapping(items(whole.get("simulations"))[session])
    messages = [_agent_side(message) for message in mappings(simulation.get("messages"))]
    placed = placed_messages(messages)
    policy = text(environment.get("policy"))
    system = [Placed("policy", Part("system", "text", "system_prompt", text=policy))]
    return [replay([system, *placed])]


def _agent_side(message: Mapping) -> Mapping:
    is_users = message.get("requestor") == "user" or (
        message.get("role") == "user" and message.get("tool_calls")
    )
    return {"role": "user", "content": []} if is_users else message


def tau2_sft(content: str, session: int) -> list[Track]:
    """Load one line of a tau2-bench fine-tuning file."""
    row = jsonl(content)[session]
    return [replay(placed_messages(mappings(row.get("messages"))))]


def langfuse(content: str, session: int) -> list[Track]:
    """Load the message list of one generation of a Langfuse export, its output at the end."""
    row = mapping(items(mapping(parsed(content)).get("observations"))[session])
    given = parsed(row.get("input"))
    listed = items(mapping(given).get("messages")) or items(given)
    messages = [mapping(item) or _printed(text(item)) for item in listed]
    return [replay(placed_messages([*messages, _langfuse_output(row.get("output"))]))]


def _printed(source: str) -> Mapping:
    found = {match[1]: match[2] for match in _PRINTED.finditer(source)}
    return {key: ast.literal_eval(value) for key, value in reversed(found.items())}


def _langfuse_output(value: object) -> Mapping:
    output = parsed(value)
    output = next(iter(items(output)), output)
    message = mapping(output)
    choices = mappings(message.get("choices"))
    message = mapping(choices[0].get("message")) if choices else message
    return {**message, "role": "assistant"} if message else {"role": "assistant", "content": text(output)}


def cassette(content: str, session: int) -> list[Track]:
    """Load the last interaction of a recorded HTTP exchange."""
    interactions = mappings(mapping(read_yaml(content)).get("interactions"))
    last = interactions[-1 - session] if session < len(interactions) else {}
    body = _body(mapping(last.get("request")))
    messages = mappings(body.get("messages")) or mappings(body.get("input"))
    answer = _answer(mapping(last.get("response")))
    return [replay(placed_messages([*messages, {**answer, "role": "assistant"}]))]


def _body(side: Mapping) -> Mapping:
    if "parsed_body" in side:
        return mapping(side["parsed_body"])
    body = side.get("body")
    return mapping(parsed(mapping(body).get("string", body)))


def _answer(side: Mapping) -> Mapping:
    streamed = text(mapping(side.get("body")).get("string"))
    if streamed.lstrip().startswith(("data:", "event:")):
        return _joined_stream(streamed)
    body = _body(side)
    choices = mappings(body.get("choices"))
    return (
        mapping(choices[0].get("message"))
        if choices
        else {"content": body.get("content", body.get("output"))}
    )


def _joined_stream(streamed: str) -> Mapping:
    said: list[str] = []
    calls: dict[int, Mapping] = {}
    for line in streamed.splitlines():
        chunk = mapping(parsed(line.removeprefix("data:").strip()))
        for choice in mappings(chunk.get("choices")):
            delta = mapping(choice.get("delta"))
            said.append(text(delta.get("content")))
            for call in mappings(delta.get("tool_calls")):
                _add_call(calls, call)
    return {"content": "".join(said), "tool_calls": list(calls.values())}


def _add_call(calls: dict[int, Mapping], delta: Mapping) -> None:
    place = delta.get("index")
    call = calls.setdefault(place if isinstance(place, int) else 0, {"id": "", "name": "", "arguments": ""})
    function = mapping(delta.get("function"))
    call["id"] = text(delta.get("id")) or call["id"]
    call["name"] = text(function.get("name")) or call["name"]
    call["arguments"] = text(call["arguments"]) + text(function.get("arguments"))
