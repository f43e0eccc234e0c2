"""Speak OpenAI's Responses API, with what it stores for `previous_response_id`."""

from __future__ import annotations

from collections.abc import Iterator

from ctxheap.providers.json_fields import Fields, objects, string
from wire.script import ToolUse
from wire.speech import CREATED, Json, Reply, Truth, event, pieces

_OURS = frozenset({"message", "function_call", "reasoning"})


class Responses:
    """Speak Responses; remembers how many turns each response ends."""

    def __init__(self) -> None:
        self._turns: dict[str, int] = {}

    def turn(self, request: Fields) -> int:
        """Return the stored turns and the runs of output items in the input."""
        turns, was_ours = self._turns.get(string(request.get("previous_response_id")), 0), False
        for item in objects(request.get("input")):
            is_ours = (
                string(item.get("type") or "message") in _OURS
                and item.get("role", "assistant") == "assistant"
            )
            turns += is_ours and not was_ours
            was_ours = is_ours
        return turns

    def truth(self, truth: Truth) -> Truth:
        """Return what is reported: no cache writes."""
        return Truth(truth.input, truth.output, truth.cache_read, 0, truth.reasoning)

    def whole(self, reply: Reply) -> Json:
        """Return a response, and remember it."""
        self._turns[f"resp_{reply.id}"] = self.turn(reply.request) + 1
        return self._response(reply, "completed", _output(reply), _usage(reply.truth))

    def events(self, reply: Reply) -> Iterator[bytes]:
        """Yield the events from `response.created` to `response.completed`."""
        done = self.whole(reply)
        begun = self._response(reply, "in_progress", [], None)
        for number, each in enumerate(_events(begun, done)):
            yield event({**each, "sequence_number": number})

    def error(self, status: int) -> Json:
        """Return an error as OpenAI writes it."""
        return {
            "error": {"message": f"scripted {status}", "type": "server_error", "param": None, "code": None}
        }

    def _response(self, reply: Reply, status: str, output: list[Json], usage: Json | None) -> Json:
        return {
            "id": f"resp_{reply.id}",
            "object": "response",
            "created_at": CREATED,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": reply.request.get("instructions"),
            "metadata": {},
            "model": reply.model,
            "output": output,
            "parallel_tool_calls": True,
            "previous_response_id": reply.request.get("previous_response_id"),
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": reply.request.get("tools") or [],
            "top_p": 1.0,
            "usage": usage,
        }


def _events(begun: Json, done: Json) -> Iterator[Json]:
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(objects(done["output"])):
        started = {**item, **_started(item)}
        yield {"type": "response.output_item.added", "output_index": index, "item": started}
        place = {"item_id": item["id"], "output_index": index}
        if item["type"] == "function_call":
            for piece in pieces(string(item["arguments"])):
                yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
            ended = {"arguments": item["arguments"], "name": item["name"]}
            yield {"type": "response.function_call_arguments.done", **place, **ended}
        if item["type"] == "message":
            yield from _text_events(place, string(objects(item["content"])[0]["text"]))
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": done}


def _started(item: Fields) -> Json:
    if item["type"] == "function_call":
        return {"arguments": "", "status": "in_progress"}
    return {"content": [], "status": "in_progress"} if item["type"] == "message" else {"summary": []}


def _text_events(place: Json, text: str) -> Iterator[Json]:
    at: Json = {**place, "content_index": 0}
    empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    yield {"type": "response.content_part.added", **at, "part": empty}
    for piece in pieces(text):
        yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **at, "text": text, "logprobs": []}
    yield {"type": "response.content_part.done", **at, "part": {**empty, "text": text}}


def _output(reply: Reply) -> list[Json]:
    output: list[Json] = []
    if reply.answer.reasoning:
        summary = [{"type": "summary_text", "text": reply.answer.reasoning}]
        output.append({"id": f"rs_{reply.id}", "type": "reasoning", "summary": summary})
    if reply.answer.text:
        content = [{"type": "output_text", "text": reply.answer.text, "annotations": [], "logprobs": []}]
        head = {"id": f"msg_{reply.id}", "type": "message", "status": "completed", "role": "assistant"}
        output.append({**head, "content": content})
    output += [_function_call(reply.id, use) for use in reply.answer.tools]
    return output


def _function_call(reply_id: str, use: ToolUse) -> Json:
    return {
        "id": f"fc_{reply_id}_{use.id}",
        "type": "function_call",
        "status": "completed",
        "call_id": use.id,
        "name": use.name,
        "arguments": use.json,
    }


def _usage(truth: Truth) -> Json:
    return {
        "input_tokens": truth.input,
        "input_tokens_details": {"cached_tokens": truth.cache_read, "cache_write_tokens": 0},
        "output_tokens": truth.output,
        "output_tokens_details": {"reasoning_tokens": truth.reasoning},
        "total_tokens": truth.input + truth.output,
    }
