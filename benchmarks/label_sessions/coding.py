"""Load the labelled formats of coding agents that keep plain lists: OpenHands, SWE-agent and others."""

from __future__ import annotations

from ctxheap.heap.model import Part

from .jsonish import Mapping, blocks, jsonl, mapping, mappings, parsed, text
from .messages import message_parts, placed_messages
from .turns import Placed, Track, Turn, replay


def openhands(content: str, session: int) -> list[Track]:
    """Load the last completion of an OpenHands session; its reply is the last message."""
    del session
    log = mapping(parsed(content))
    choices = mappings(mapping(log.get("response")).get("choices"))
    reply = [mapping(choices[0].get("message"))] if choices else []
    return [replay(placed_messages([*mappings(log.get("messages")), *reply]))]


def mini_swe_agent(content: str, session: int) -> list[Track]:
    """Load a mini-swe-agent trajectory, with or without function calling."""
    del session
    messages = mappings(mapping(parsed(content)).get("messages"))
    return [replay(placed_messages(messages, user_results=True))]


def sweagent(content: str, session: int) -> list[Track]:
    """Load the `history` of a SWE-agent trajectory."""
    del session
    history = mappings(mapping(parsed(content)).get("history"))
    return [replay(placed_messages(history, user_results=True))]


def pi(content: str, session: int) -> list[Track]:
    """Load a pi session: one message a line, blocks under "L:b"."""
    del session
    names: dict[str, str] = {}
    placed: list[list[Placed]] = []
    for line, row in enumerate(jsonl(content), start=1):
        if row.get("type") == "message":
            placed.append(_pi_line(line, mapping(row.get("message")), names))
    return [replay(message for message in placed if message)]


def _pi_line(line: int, message: Mapping, names: dict[str, str]) -> list[Placed]:
    placed: list[Placed] = []
    for place, block in enumerate(blocks(message.get("content"))):
        shell: Mapping = {**message, "content": [block]}
        if message.get("role") == "toolResult":
            shell |= {
                "role": "tool",
                "tool_call_id": message.get("toolCallId"),
                "name": message.get("toolName"),
            }
            shell["error"] = message.get("isError")
        parts = message_parts(shell, names=names)
        placed.extend(Placed(f"{line}:{place}", part) for part in parts)
    return placed


def codex(content: str, session: int) -> list[Track]:
    """Load a Codex rollout: an output is the run of the model's items between two inputs."""
    del session
    names: dict[str, str] = {}
    track: Track = []
    pending: list[Placed] = []
    run: list[Placed] = []
    for line, row in enumerate(jsonl(content), start=1):
        if row.get("type") != "response_item":
            continue
        placed = _codex_item(str(line), mapping(row.get("payload")), names)
        if placed.part.role == "assistant":
            run.append(placed)
            continue
        if run:
            track.append(_codex_turn(pending, run))
            pending, run = list(run), []
        pending.append(placed)
    return [[*track, _codex_turn(pending, run)] if run else track]


def _codex_turn(pending: list[Placed], run: list[Placed]) -> Turn:
    return Turn(key=run[0].key, seen=tuple(pending), output=tuple(placed.part for placed in run))


def _codex_item(key: str, item: Mapping, names: dict[str, str]) -> Placed:
    kind = item.get("type")
    if kind == "reasoning":
        said = "\n".join(text(block.get("text")) for block in mappings(item.get("summary")))
        return Placed(key, Part("assistant", "reasoning", "agent_reasoning", text=said))
    if kind in ("function_call", "custom_tool_call", "local_shell_call"):
        return Placed(key, _codex_call(item, names))
    if kind in ("function_call_output", "custom_tool_call_output"):
        call_id = text(item.get("call_id"))
        tool = names.get(call_id, "")
        tag = f"tool_result:{tool}"
        said = text(item.get("output"))
        return Placed(key, Part("tool", "tool_result", tag, text=said, tool=tool, call_id=call_id))
    said = "\n".join(text(block.get("text")) for block in mappings(item.get("content")))
    return Placed(key, _codex_message(text(item.get("role")), said))


def _codex_call(item: Mapping, names: dict[str, str]) -> Part:
    name = text(item.get("name")) or "shell"
    call_id = text(item.get("call_id"))
    names[call_id] = name
    arguments = text(item.get("arguments") or item.get("input") or item.get("action"))
    return Part("assistant", "tool_call", f"tool_call:{name}", text=arguments, tool=name, call_id=call_id)


def _codex_message(role: str, said: str) -> Part:
    if role == "assistant":
        return Part("assistant", "text", "agent_output", text=said)
    if role in ("system", "developer"):
        return Part("system", "text", "system_prompt", text=said)
    is_harness = said.lstrip().startswith(("<environment_context>", "<user_instructions>"))
    return Part("user", "text", "harness:codex" if is_harness else "user_turn", text=said)


def moatless(content: str, session: int) -> list[Track]:
    """Load a moatless tree whose nodes form one path: an action and its observation each."""
    del session
    placed: list[list[Placed]] = []
    for node in mappings(mapping(parsed(content)).get("nodes")):
        number = text(node.get("node_id"))
        if node.get("message"):
            said = text(parsed(node["message"]))
            placed.append([Placed(f"{number}:message", Part("user", "text", "user_turn", text=said))])
        if node.get("action"):
            placed.append(_moatless_action(number, mapping(node["action"])))
            placed.append(_moatless_observation(number, node))
    return [replay(placed)]


def _moatless_action(number: str, action: Mapping) -> list[Placed]:
    thought = text(action.get("scratch_pad"))
    arguments = {
        key: value for key, value in action.items() if key not in ("scratch_pad", "action_args_class")
    }
    name = text(action.get("action_args_class")).rsplit(".", 1)[-1].removesuffix("Args")
    call = Part(
        "assistant", "tool_call", f"tool_call:{name}", text=text(arguments), tool=name, call_id=number
    )
    said = Part("assistant", "text", "agent_output", text=thought)
    return [Placed(f"{number}:action", part) for part in (said, call)]


def _moatless_observation(number: str, node: Mapping) -> list[Placed]:
    observed = node.get("observation")
    said = text(mapping(observed).get("message")) or text(observed)
    part = Part("tool", "tool_result", "tool_result:action", text=said, tool="action", call_id=number)
    return [Placed(f"{number}:observation", part)]
