"""Check the reader of LangSmith's runs; none that may be passed on was at hand."""

from __future__ import annotations

from pathlib import Path

from ctxheap.heap.model import Usage
from transcripts.written import read_file, tags, write_json, write_lines

Json = dict[str, object]


def serialised(kind: str, **kwargs: object) -> Json:
    return {"lc": 1, "type": "constructor", "id": ["langchain", kind], "kwargs": kwargs}


def run(name: str, messages: list[Json], answer: Json, **more: object) -> Json:
    extra: Json = {
        "metadata": {"ls_model_name": "gpt-4o", "thread_id": "t"},
        "invocation_params": {"tools": [{"type": "function", "function": {"name": "f"}}]},
    }
    about: Json = {"id": name, "run_type": "llm", "start_time": f"2026-01-02T03:04:0{name}", "extra": extra}
    outputs: Json = {"generations": [[{"text": "", "message": answer}]]}
    return {**about, "inputs": {"messages": [messages]}, "outputs": outputs, **more}


def test_runs_of_models_are_calls_wherever_they_are_nested(tmp_path: Path) -> None:
    asked = serialised("HumanMessage", content="q")
    usage: Json = {"input_tokens": 10, "output_tokens": 5, "input_token_details": {"cache_read": 4}}
    called: Json = {"id": "c", "name": "f", "args": {}}
    answer = serialised("AIMessage", content="", tool_calls=[called], usage_metadata=usage)
    result = serialised("ToolMessage", content="r", tool_call_id="c")
    said = serialised("AIMessage", content="done")
    chain: Json = {
        "id": "0",
        "run_type": "chain",
        "inputs": {},
        "child_runs": [run("2", [asked, answer, result], said, prompt_tokens=20), run("1", [asked], answer)],
    }

    name, calls, skipped = read_file(write_json(tmp_path / "runs.json", [chain]))

    assert (name, skipped) == ("langsmith", [])
    assert [(call.call_id, call.session, call.model) for call in calls] == [
        ("1", "t", "gpt-4o"),
        ("2", "t", "gpt-4o"),
    ]
    assert [call.usage for call in calls] == [Usage(6, 4, output=5), Usage(uncached=20)]
    assert tags(calls[1].prompt) == ["tool_definition:f", "user_turn", "tool_call:f", "tool_result:f"]
    assert calls[1].prompt[2] is calls[0].output[0]


def test_failed_runs_and_lines_without_a_run_are_named(tmp_path: Path) -> None:
    failed = {**run("1", [], {}), "error": "boom", "outputs": None}
    path = write_lines(tmp_path / "runs.jsonl", [failed, {"a": 1}])
    with path.open("a", encoding="utf-8") as file:
        file.write('{"id": "2", "run')

    _, calls, skipped = read_file(path)

    assert calls == []
    assert skipped == ["no run", "truncated", "1: boom"]
