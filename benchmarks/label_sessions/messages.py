"""Read message lists of chat APIs: OpenAI, Anthropic and OpenTelemetry `parts` shapes."""

from __future__ import annotations

from collections.abc import Sequence

from ctxheap.heap.model import Part, Role

from .jsonish import Mapping, blocks, items, mapping, mappings, parsed, text
from .turns import Placed

OWN_ROLES = ("assistant", "model", "ai")
SYSTEM_ROLES = ("system", "developer")


def placed_messages(messages: Sequence[Mapping], *, user_results: bool = False) -> list[list[Placed]]:
    """Return the parts of each message under its position.

    Args:
        messages: The list as it was sent.
        user_results: Whether user messages after the model's first are results of its actions, as
            in agents that work without function calling.
    """
    names: dict[str, str] = {}
    placed: list[list[Placed]] = []
    spoken = False
    for index, message in enumerate(messages):
        parts = message_parts(message, names=names, is_result=user_results and spoken)
        spoken = spoken or any(part.role == "assistant" for part in parts)
        placed.append([Placed(key, part) for key, part in _keys(index, parts)])
    return placed


def _keys(index: int, parts: Sequence[Part]) -> list[tuple[str, Part]]:
    if len(parts) < 2:
        return [(str(index), part) for part in parts]
    return [(f"{index}.{place}", part) for place, part in enumerate(parts)]


def message_parts(message: Mapping, *, names: dict[str, str], is_result: bool = False) -> list[Part]:
    """Return the parts of one message; `names` maps call ids to tools and is filled on the way."""
    role = text(message.get("role")) or text(message.get("type"))
    if role in OWN_ROLES or _printed_calls(message):
        return _own_parts(message, names)
    if role in SYSTEM_ROLES:
        return [Part("system", "text", "system_prompt", text=_joined(message))]
    if role in ("user", "human"):
        return _user_parts(message, names, is_result=is_result)
    return _result_parts(message, names)


def _own_parts(message: Mapping, names: dict[str, str]) -> list[Part]:
    parts: list[Part] = []
    reasoning = text(message.get("reasoning_content")) or text(message.get("thinking"))
    if reasoning:
        parts.append(_own_text(reasoning, kind="reasoning"))
    for block in _blocks(message):
        parts.extend(_own_block(block, names))
    if "thought" in message and "action" in message:
        parts = [_own_text(text(message["thought"])), _action(text(message["action"]))]
    extra = mapping(message.get("additional_kwargs"))
    calls = mappings(message.get("tool_calls")) or mappings(extra.get("tool_calls"))
    parts.extend(_call(call, names) for call in calls or _printed_calls(message))
    return parts or [_own_text("")]


def _own_text(content: str, kind: str = "text") -> Part:
    if kind == "reasoning":
        return Part("assistant", "reasoning", "agent_reasoning", text=content)
    return Part("assistant", "text", "agent_output", text=content)


def _action(content: str) -> Part:
    return Part("assistant", "tool_call", "tool_call:action", text=content, tool="action")


def _own_block(block: Mapping, names: dict[str, str]) -> list[Part]:
    kind = text(block.get("type"))
    if kind in ("tool_call", "tool_use", "toolCall", "function_call"):
        return [_call(block, names)]
    if kind in ("thinking", "reasoning"):
        content = text(block.get("thinking") or block.get("content") or block.get("text"))
        return [_own_text(content, kind="reasoning")]
    said = block.get("text", block.get("content"))
    return [_own_text(said)] if isinstance(said, str) and said else []


def _call(call: Mapping, names: dict[str, str]) -> Part:
    function = mapping(call.get("function")) or call
    name = text(function.get("name"))
    arguments = function.get("arguments", function.get("input"))
    call_id = text(call.get("call_id") or call.get("id"))
    names[call_id] = name
    return Part(
        "assistant", "tool_call", f"tool_call:{name}", text=text(arguments), tool=name, call_id=call_id
    )


def _printed_calls(message: Mapping) -> list[Mapping]:
    # koog writes the model's calls as a tool message that holds them as JSON
    if message.get("role") != "tool":
        return []
    calls = mappings(parsed(message.get("content")))
    return calls if calls and all("function" in call and "id" in call for call in calls) else []


def _user_parts(message: Mapping, names: dict[str, str], *, is_result: bool) -> list[Part]:
    if is_result:
        return [Part("user", "tool_result", "tool_result:action", text=_joined(message), tool="action")]
    if message.get("is_demo"):
        return [Part("user", "text", "example", text=_joined(message))]
    parts: list[Part] = []
    for block in _blocks(message):
        if text(block.get("type")) in ("tool_result", "tool_call_response", "function_call_output"):
            parts.append(_result_block(block, names, role="user"))
        else:
            content = text(block.get("text", block.get("content")))
            parts.append(Part("user", "text", "user_turn", text=content))
    return parts


def _result_block(block: Mapping, names: dict[str, str], *, role: Role) -> Part:
    call_id = text(block.get("tool_use_id") or block.get("call_id") or block.get("id"))
    found = (block.get(key) for key in ("content", "result", "response", "output") if key in block)
    content = next(found, None)
    tool = text(block.get("name")) or names.get(call_id, "")
    error = bool(block.get("is_error"))
    return _result(_flat(content), tool=tool, call_id=call_id, error=error, role=role)


def _result(content: str, *, tool: str, call_id: str, error: bool = False, role: Role = "tool") -> Part:
    tag = f"tool_result:{tool}"
    return Part(role, "tool_result", tag, text=content, tool=tool, call_id=call_id, error=error)


def _result_parts(message: Mapping, names: dict[str, str]) -> list[Part]:
    results = _blocks(message)
    if any(block.get("type") in ("tool_call_response", "tool_result") for block in results):
        return [_result_block(block, names, role="tool") for block in results]
    call_id = text(message.get("tool_call_id") or message.get("id"))
    tool = text(message.get("name")) or names.get(call_id, "")
    error = bool(message.get("error"))
    return [_result(_joined(message), tool=tool, call_id=call_id, error=error)]


def _blocks(message: Mapping) -> list[Mapping]:
    return blocks(message.get("parts", message.get("content")))


def _joined(message: Mapping) -> str:
    return _flat(message.get("parts", message.get("content")))


def _flat(content: object) -> str:
    if not items(content):
        return text(content)
    texts = [text(block.get("text", block.get("content"))) for block in blocks(content)]
    return "\n".join(filter(None, texts)) or text(content)
