"""Speak OpenAI chat completions, which Mistral, Groq, vLLM and many others speak too."""

from __future__ import annotations

from collections.abc import Iterator

from ctxheap.providers.json_fields import Fields, fields, objects
from wire.speech import CREATED, Json, Reply, Truth, data, pieces


class Chat:
    """Speak chat completions.

    Args:
        stream_usage: Where a stream reports usage: `asked` (OpenAI: in a chunk of its own, when asked
            for), `last` (Mistral: in the last chunk), `groq` (there too, under `x_groq`).
    """

    def __init__(self, *, stream_usage: str = "asked") -> None:
        self._stream_usage = stream_usage

    def turn(self, request: Fields) -> int:
        """Return the number of assistant messages."""
        return sum(message.get("role") == "assistant" for message in objects(request.get("messages")))

    def truth(self, truth: Truth) -> Truth:
        """Return what is reported: no cache writes."""
        return Truth(truth.input, truth.output, truth.cache_read, 0, truth.reasoning)

    def whole(self, reply: Reply) -> Json:
        """Return a chat completion."""
        # Mistral says "" where OpenAI says null.
        nothing = "" if self._stream_usage == "last" else None
        message: Json = {"role": "assistant", "content": reply.answer.text or nothing, "refusal": None}
        if reply.answer.reasoning and self._stream_usage == "asked":
            message["reasoning_content"] = reply.answer.reasoning
        if reply.answer.tools:
            message["tool_calls"] = [_tool_call(use.id, use.name, use.json) for use in reply.answer.tools]
        choice = {"index": 0, "message": message, "finish_reason": _finish(reply), "logprobs": None}
        return {**_head(reply, "chat.completion"), "choices": [choice], "usage": usage(reply.truth)}

    def events(self, reply: Reply) -> Iterator[bytes]:
        """Yield the chunks; usage as the server's habit is."""
        yield _chunk(reply, {"role": "assistant", "content": ""})
        if reply.answer.reasoning and self._stream_usage == "asked":
            for piece in pieces(reply.answer.reasoning):
                yield _chunk(reply, {"reasoning_content": piece})
        for piece in pieces(reply.answer.text):
            yield _chunk(reply, {"content": piece})
        for index, use in enumerate(reply.answer.tools):
            if self._stream_usage == "last":
                # Mistral sends tool calls whole.
                yield _chunk(
                    reply, {"tool_calls": [{"index": index, **_tool_call(use.id, use.name, use.json)}]}
                )
                continue
            yield _chunk(reply, {"tool_calls": [{"index": index, **_tool_call(use.id, use.name, "")}]})
            for piece in pieces(use.json):
                yield _chunk(reply, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield from self._close(reply)
        yield b"data: [DONE]\n\n"

    def error(self, status: int) -> Json:
        """Return an error as OpenAI writes it."""
        return {
            "error": {"message": f"scripted {status}", "type": "server_error", "param": None, "code": None}
        }

    def _close(self, reply: Reply) -> Iterator[bytes]:
        last = _head(reply, "chat.completion.chunk")
        choice = {"index": 0, "delta": {}, "finish_reason": _finish(reply)}
        numbers = usage(reply.truth)
        if self._stream_usage == "last":
            yield data({**last, "choices": [choice], "usage": numbers})
        elif self._stream_usage == "groq":
            yield data({**last, "choices": [choice], "x_groq": {"id": "req_1", "usage": numbers}})
        else:
            yield data({**last, "choices": [choice]})
            if fields(reply.request.get("stream_options")).get("include_usage"):
                yield data({**last, "choices": [], "usage": numbers})


def usage(truth: Truth) -> Json:
    """Return the usage of a chat completion."""
    return {
        "prompt_tokens": truth.input,
        "completion_tokens": truth.output,
        "total_tokens": truth.input + truth.output,
        "prompt_tokens_details": {"cached_tokens": truth.cache_read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": truth.reasoning, "audio_tokens": 0},
    }


def _head(reply: Reply, kind: str) -> Json:
    return {
        "id": f"chatcmpl-{reply.id}",
        "object": kind,
        "created": CREATED,
        "model": reply.model,
        "system_fingerprint": "fp_scripted",
    }


def _chunk(reply: Reply, delta: Json) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
    return data({**_head(reply, "chat.completion.chunk"), "choices": [choice]})


def _tool_call(call_id: str, name: str, arguments: str) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.answer.tools else "stop"
