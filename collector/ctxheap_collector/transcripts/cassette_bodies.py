"""Put the bodies of APIs with formats of their own into OpenAI's, as far as they are conversations.

/v1/completions      {"prompt"}                         vLLM, Together
/api/generate        {"prompt", "system"}               Ollama
/v2/chat             {"messages"}, answer in "message"  Cohere
/v1/chat             {"message", "chat_history"}        Cohere, its first version
xAI's gRPC           {"messages": [{"role": "ROLE_USER"}]}, answers in "outputs"
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxheap.providers.json_fields import Fields, fields, items, objects, string

Bodies = tuple[Fields, Fields]
"""A request and its response."""


def as_openai(path: str, request: Fields, answers: Sequence[Fields]) -> Bodies | None:
    """Return request and response as bodies of Chat Completions, None for what is no conversation.

    Args:
        path: The URI without its query.
        request: The request's body.
        answers: The objects of the response's body, several where it was a stream.
    """
    if not answers:
        return None
    if path.endswith("/completions") and isinstance(request.get("prompt"), str | list):
        return _completion(request, answers)
    if path.endswith("/api/generate"):
        return _generated(request, answers)
    if path.endswith("/v2/chat"):
        return _cohere(request, answers)
    if path.endswith(("/v1/chat", "/v1/generate")):
        return _first_cohere(request, answers)
    return None


def from_xai(request: Fields, response: Fields) -> Bodies:
    """Return what xAI's gRPC sends as bodies of Chat Completions."""
    messages = [_plain_role(message) for message in objects(request.get("messages"))]
    choices = [
        {"message": _plain_role(fields(item.get("message")))} for item in objects(response.get("outputs"))
    ]
    return {**request, "messages": messages}, {**response, "choices": choices}


def _plain_role(message: Fields) -> Fields:
    role = string(message.get("role")).removeprefix("ROLE_").lower()
    content = message.get("content")
    texts = [
        {"type": "text", **fields(block)} if "text" in fields(block) else block for block in items(content)
    ]
    return {**message, "role": role or "assistant", "content": texts or content}


def _said(text: str, role: str = "user") -> dict[str, object]:
    return {"role": role, "content": text}


def _answered(text: str, last: Fields, usage: object, **more: object) -> Fields:
    message = {**_said(text, "assistant"), **more}
    return {
        "id": last.get("id"),
        "model": last.get("model"),
        "choices": [{"message": message}],
        "usage": usage,
    }


def _completion(request: Fields, answers: Sequence[Fields]) -> Bodies:
    given = request.get("prompt")
    prompts = [given] if isinstance(given, str) else [string(item) for item in items(given)]
    texts = [string(choice.get("text")) for answer in answers for choice in objects(answer.get("choices"))]
    usage = next((answer["usage"] for answer in reversed(answers) if answer.get("usage")), None)
    asked = {"model": request.get("model"), "messages": [_said(text) for text in prompts]}
    return asked, _answered("".join(texts), answers[-1], usage)


def _generated(request: Fields, answers: Sequence[Fields]) -> Bodies:
    system = string(request.get("system"))
    messages = [_said(system, "system")] if system else []
    asked = {"model": request.get("model"), "messages": [*messages, _said(string(request.get("prompt")))]}
    text = "".join(string(answer.get("response")) for answer in answers)
    return asked, _answered(text, answers[-1], answers[-1])


def _cohere(request: Fields, answers: Sequence[Fields]) -> Bodies | None:
    whole = answers[0] if len(answers) == 1 else _joined(answers)
    message = fields(whole.get("message"))
    if not message:
        return None
    text = string(message.get("tool_plan")) or "".join(
        string(block.get("text")) for block in objects(message.get("content"))
    )
    called = message.get("tool_calls")
    usage = fields(whole.get("usage"))
    counts = fields(usage.get("tokens")) or usage.get("billed_units")
    return request, _answered(text, {**whole, "model": request.get("model")}, counts, tool_calls=called)


def _joined(events: Sequence[Fields]) -> Fields:
    """Return the response that the events of Cohere's second stream add up to."""
    text: list[str] = []
    calls: list[dict[str, object]] = []
    usage: object = None
    for event in events:
        delta = fields(event.get("delta"))
        message = fields(delta.get("message"))
        usage = delta.get("usage") or usage
        text.append(string(fields(message.get("content")).get("text")) + string(message.get("tool_plan")))
        call = fields(message.get("tool_calls"))
        if event.get("type") == "tool-call-start":
            calls.append({**call, "function": {**fields(call.get("function"))}})
        elif event.get("type") == "tool-call-delta" and calls:
            inner = fields(calls[-1]["function"])
            more = string(fields(call.get("function")).get("arguments"))
            calls[-1]["function"] = {**inner, "arguments": string(inner.get("arguments")) + more}
    content = [{"type": "text", "text": "".join(text)}]
    return {"id": events[0].get("id"), "message": {"content": content, "tool_calls": calls}, "usage": usage}


def _first_cohere(request: Fields, answers: Sequence[Fields]) -> Bodies | None:
    asked = string(request.get("message")) or string(request.get("prompt"))
    # A stream ends with an event that holds the whole response.
    last = fields(answers[-1].get("response")) or answers[-1]
    generations = objects(last.get("generations"))
    text = string(last.get("text")) or "".join(string(item.get("text")) for item in generations)
    if not asked or not text:
        return None
    preamble = string(request.get("preamble"))
    history = [_said(preamble, "system")] if preamble else []
    for turn in objects(request.get("chat_history")):
        role = "assistant" if string(turn.get("role")).upper() == "CHATBOT" else "user"
        history.append(_said(string(turn.get("message")), role))
    meta = fields(last.get("meta"))
    counts = fields(meta.get("tokens")) or meta.get("billed_units")
    named = {"id": last.get("generation_id") or last.get("id"), "model": request.get("model")}
    return {"model": request.get("model"), "messages": [*history, _said(asked)]}, _answered(
        text, named, counts
    )
