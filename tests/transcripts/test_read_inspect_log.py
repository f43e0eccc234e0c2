"""Check the reader of Inspect's logs; none that may be passed on was at hand."""

from __future__ import annotations

from pathlib import Path

from ctxheap.heap.model import Usage
from transcripts.written import grows, read_file, tags, texts, write_json

Json = dict[str, object]


def said(role: str, text: str) -> Json:
    return {"role": role, "content": text}


def called(given: list[Json], text: str, usage: Json, **more: object) -> Json:
    output: Json = {"model": "gpt-4o", "choices": [{"message": said("assistant", text)}], "usage": usage}
    return {"event": "model", "input": given, "tools": [{"name": "bash"}], "output": output, **more}


def log(path: Path, *samples: Json) -> Path:
    about: Json = {"task": "t", "run_id": "r", "model": "openai/gpt-4o"}
    return write_json(path, {"version": 2, "status": "success", "eval": about, "samples": [*samples]})


def test_model_events_are_calls_and_samples_sessions(tmp_path: Path) -> None:
    opening = [said("system", "s"), said("user", "attachment://k")]
    first = called(opening, "a", {"input_tokens": 9, "output_tokens": 2, "input_tokens_cache_read": 90})
    more = [*opening, said("assistant", "a"), said("user", "b")]
    inside: Json = {
        "input_tokens": 100,
        "output_tokens": 2,
        "total_tokens": 102,
        "input_tokens_cache_read": 90,
    }
    sample: Json = {
        "id": 1,
        "epoch": 1,
        "attachments": {"k": "long"},
        "events": [first, called(more, "c", inside)],
    }

    name, calls, skipped = read_file(log(tmp_path / "l.json", sample))

    assert (name, skipped) == ("inspect", [])
    assert [call.usage for call in calls] == [
        Usage(uncached=9, cache_read=90, output=2),
        Usage(uncached=10, cache_read=90, output=2),
    ]
    assert tags(calls[0].prompt) == ["tool_definition:bash", "system_prompt", "user_turn"]
    assert texts(calls[1].prompt)[1:] == ["s", "long", "a", "b"]
    assert {call.session for call in calls} == {"r/1/1"}
    assert grows([calls[0]])


def test_further_agents_are_children_and_failures_are_named(tmp_path: Path) -> None:
    spans: list[Json] = [
        {"event": "span_begin", "id": "a", "type": "agent", "name": "react"},
        {"event": "span_begin", "id": "b", "parent_id": "a", "type": "agent", "name": "helper"},
    ]
    events = [
        *spans,
        called([said("user", "q")], "a", {}, span_id="a"),
        called([said("user", "r")], "b", {}, span_id="b"),
        called([said("user", "q")], "", {}, error="timeout"),
    ]

    _, calls, skipped = read_file(log(tmp_path / "l.json", {"id": 1, "epoch": 2, "events": events}))

    assert [(call.session, call.parent, call.agent) for call in calls] == [
        ("r/1/2", None, ""),
        ("r/1/2/helper", "r/1/2", "helper"),
    ]
    assert skipped == ["r/1/2#2: timeout"]


def test_a_sample_without_events_has_implied_calls(tmp_path: Path) -> None:
    sample: Json = {"id": "x", "epoch": 1, "messages": [said("user", "q"), said("assistant", "a")]}

    _, calls, _ = read_file(log(tmp_path / "l.json", sample))
    nothing = read_file(log(tmp_path / "m.json"))[2]

    assert [(call.session, call.implied) for call in calls] == [("r/x/1", True)]
    assert nothing == ["no samples"]
