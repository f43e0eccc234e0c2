"""Check the reader of LiteLLM's logs; none that may be passed on was at hand."""

from __future__ import annotations

import json
from pathlib import Path

from ctxheap.heap.model import Usage
from transcripts.written import grows, read_file, tags, write_lines

Json = dict[str, object]


def logged(messages: object, response: object, **more: object) -> Json:
    about: Json = {"call_type": "acompletion", "model": "gpt-4o", "startTime": 1730000000.5}
    return {**about, "messages": messages, "response": response, "prompt_tokens": 9, **more}


def said(role: str, text: str) -> Json:
    return {"role": role, "content": text}


def answer(name: str, text: str) -> Json:
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    return {"id": name, "choices": [{"message": said("assistant", text)}], "usage": usage}


def test_payloads_and_rows_with_bodies_of_any_form_are_calls(tmp_path: Path) -> None:
    tools: Json = {"tools": [{"type": "function", "function": {"name": "f"}}]}
    history = [said("user", "q"), said("assistant", "a"), said("user", "r")]
    lines = [
        logged([said("user", "q")], answer("1", "a"), model_parameters=tools, session_id="only"),
        logged(json.dumps(history), "bare text", request_id="2", session_id="s"),
        logged(
            "{}", json.dumps(answer("3", "c")), proxy_server_request={"messages": history}, session_id="s"
        ),
    ]

    name, calls, skipped = read_file(write_lines(tmp_path / "l.jsonl", lines))

    assert (name, skipped) == ("litellm", [])
    assert [(call.call_id, call.session, call.usage) for call in calls] == [
        ("1", "", Usage(6, 4, output=2)),
        ("2", "s", Usage(9)),
        ("3", "s", Usage(6, 4, output=2)),
    ]
    assert tags(calls[0].prompt) == ["tool_definition:f", "user_turn"]
    assert tags(calls[1].prompt) == ["user_turn", "agent_output", "user_turn"]
    assert grows(calls[1:])


def test_what_failed_or_is_no_conversation_is_named(tmp_path: Path) -> None:
    lines = [
        logged([said("user", "q")], {}, status="failure", error_str="429"),
        logged([], {}, call_type="aembedding"),
        {"a": 1},
    ]
    path = write_lines(tmp_path / "l.jsonl", lines)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"id": "4", "call')

    _, calls, skipped = read_file(path)

    assert calls == []
    assert skipped == [
        "the request failed: 429",
        "nothing that LiteLLM logs of a call",
        "truncated",
        "1 call was of another type: no conversation",
    ]
