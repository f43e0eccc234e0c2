"""Read trajectories of mini-swe-agent (`.traj.json`).

    {"info", "messages": [{…, "extra": {"response": {"usage"}}}], "trajectory_format"}     since version 1
    [{"role", "content"}]                                                                  before

The model either calls the one tool, bash, or writes its command into a fenced block of its text; what the
command printed then comes back as a user's message, and is a tool result all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ctxheap.heap.model import Exchange, Part
from ctxheap.heap.tags import result_parts, text_parts
from ctxheap.providers import openai
from ctxheap.providers.json_fields import Fields, dollars, fields, items, objects, string
from ctxheap_collector.transcripts.message_lists import elements, replayed, stem_of
from ctxheap_collector.transcripts.replay import About, Turn
from ctxheap_collector.transcripts.source import Head, Source
from ctxheap_collector.transcripts.text_calls import bash_call, spoken_parts
from ctxheap_collector.transcripts.timestamps import epoch_ns
from ctxheap_collector.transcripts.wire import provider_of

FORMAT = "mini-swe-agent"

# The files do not hold the schema of the agent's only tool; it is the same in every run.
_BASH_TOOL = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Execute a bash command",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string", "description": "The bash command to execute"}},
            "required": ["command"],
        },
    },
}
_OBSERVATIONS = ("<returncode>", "<output>", "Observation:", "The last command")
_OLD_LIST_CHECKED = 4


def looks_like(head: Head) -> bool:
    """Say whether the source is a trajectory: it says so, or its commands and return codes do."""
    document = fields(head.document)
    if string(document.get("trajectory_format")).startswith("mini-swe-agent"):
        return True
    info = fields(document.get("info"))
    if "mini_version" in info or ("model_stats" in info and "messages" in document):
        return True
    opening = objects(head.document)[:_OLD_LIST_CHECKED]
    texts = [string(message.get("content")) for message in opening]
    return any(bash_call(text) for text in texts) and any(text.startswith("<returncode>") for text in texts)


def read(source: Source) -> Iterator[Exchange]:
    """Yield one call for each answer of the model; calls with a recorded response are not implied."""
    for _, document in elements(source):
        body = fields(document)
        messages = objects(body.get("messages") if body else document)
        about = _about(source, body, messages)
        yield from replayed(source, _turns(messages), about)


def _about(source: Source, body: Fields, messages: Sequence[Fields]) -> About:
    config = fields(fields(fields(body.get("info")).get("config")).get("model"))
    model = string(config.get("model_name"))
    has_tool = any(items(message.get("tool_calls")) for message in messages)
    return About(
        session=string(body.get("instance_id")) or stem_of(source),
        model=model,
        provider=provider_of(model),
        agent="mini-swe-agent",
        opening=openai.tool_definitions([_BASH_TOOL]) if has_tool else (),
    )


def _turns(messages: Sequence[Fields]) -> Iterator[Turn]:
    tools: dict[str, str] = {}
    asked = ""
    for index, message in enumerate(messages):
        role, text = string(message.get("role")), string(message.get("content"))
        if role == "exit":
            # The submitted patch is appended for the file only; no model was sent it.
            continue
        if role == "assistant":
            turn = _answer(message, tools, index)
            asked = next(
                (p.call_id for p in turn.parts if p.kind == "tool_call" and p.call_id not in tools), ""
            )
            yield turn
        elif role == "user" and index > 1:
            yield Turn(_observation(message, text, asked, str(index)))
            asked = ""
        else:
            parts = openai.message_parts(message, tools=tools, where=str(index))
            yield Turn([_with_error(part, message) for part in parts])


def _answer(message: Fields, tools: dict[str, str], index: int) -> Turn:
    parts = openai.message_parts(message, tools=tools, where=str(index))
    spoken = bash_call(string(message.get("content")))
    if spoken and not items(message.get("tool_calls")):
        reasoning = [part for part in parts if part.kind == "reasoning"]
        text = string(message.get("content"))
        parts = reasoning + spoken_parts(text, [spoken], ids=[f"bash:{index}"], where=str(index))
    extra = fields(message.get("extra"))
    response = fields(extra.get("response"))
    usage = response.get("usage")
    return Turn(
        parts=parts,
        is_output=True,
        usage=openai.usage_of(usage) if openai.reports_usage(usage) else None,
        reported=usage,
        call_id=string(response.get("id")),
        model=string(response.get("model")),
        started_ns=epoch_ns(extra.get("timestamp")) or epoch_ns(response.get("created")),
        recorded_usd=dollars(extra.get("cost")),
    )


def _observation(message: Fields, text: str, asked: str, where: str) -> list[Part]:
    if asked:
        parts = result_parts(text, tool="bash", call_id=asked, role="user", where=where)
        return [_with_error(part, message) for part in parts]
    if text.startswith(_OBSERVATIONS):
        return result_parts(text, tool="bash", call_id="", role="user", where=where)
    # Nothing was run: the agent tells the model what was wrong with its answer.
    return text_parts("user", text, where=where, plain="harness:format_error")


def _with_error(part: Part, message: Fields) -> Part:
    if part.kind != "tool_result":
        return part
    code = fields(message.get("extra")).get("returncode")
    failed = code not in (None, 0) or (
        code is None and part.text.startswith("<returncode>") and part.text[12:14] != "0<"
    )
    return replace(part, error=True) if failed else part
