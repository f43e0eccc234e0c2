from __future__ import annotations

import shutil
from pathlib import Path

from ctxheap.heap.model import Exchange, Usage
from ctxheap_collector.transcripts.detect import read_all
from transcripts.written import DATA, calls_of, grows, read_file, tags, texts, write_json

FOLDER = DATA / "openhands" / "llm_completions" / "astropy__astropy-14539"
FILES = sorted(FOLDER.iterdir())


def folder_calls(folder: Path) -> list[Exchange]:
    return [exchange for reading in read_all([str(folder)]) for exchange in reading.exchanges]


def test_the_files_of_a_folder_are_the_calls_of_one_session() -> None:
    calls = folder_calls(FOLDER)

    assert [(call.session, call.implied, call.usage) for call in calls] == [
        ("astropy__astropy-14539", False, Usage(uncached=2298, output=140)),
        ("astropy__astropy-14539", False, Usage(uncached=2493, output=89)),
        ("astropy__astropy-14539", False, Usage(uncached=3697, output=92)),
    ]
    assert grows(calls)
    assert all(part in calls[1].prompt for part in calls[0].output)
    assert tags(calls[0].prompt) == [
        "tool_definition:execute_bash",
        "tool_definition:finish",
        "tool_definition:str_replace_editor",
        "system_prompt",
        "user_turn",
    ]


def test_a_single_file_shows_every_earlier_call() -> None:
    calls = calls_of(FILES[2])

    assert [(call.implied, call.usage is None, len(call.prompt)) for call in calls] == [
        (True, True, 5),
        (True, True, 8),
        (False, False, 11),
    ]
    assert grows(calls)
    assert {call.session for call in calls} == {"astropy__astropy-14539"}


def test_a_missing_file_leaves_an_implied_call(tmp_path: Path) -> None:
    folder = tmp_path / "llm_completions" / "task"
    folder.mkdir(parents=True)
    shutil.copy(FILES[0], folder)
    shutil.copy(FILES[2], folder)

    assert [(call.session, call.implied) for call in folder_calls(folder)] == [
        ("task", False),
        ("task", True),
        ("task", False),
    ]


def completion(time: float, messages: list[object], answer: str) -> dict[str, object]:
    message = {"role": "assistant", "content": answer}
    return {
        "messages": messages,
        "response": {"model": "llama", "choices": [{"message": message}], "usage": {"prompt_tokens": 9}},
        "args": [],
        "kwargs": {"stop": ["</function"]},
        "timestamp": time,
        "cost": 0.0,
    }


def said(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


PROMPT = (
    "You are an agent.\n---- BEGIN FUNCTION #1: execute_bash ----\nDescription: Run it.\n"
    "---- END FUNCTION #1 ----\nReply with calls."
)
TASK = (
    "Here's a running example of how to perform a task with the provided tools.\n--- START OF EXAMPLE ---\n"
    "USER: List files.\n--- END OF EXAMPLE ---\nFix the bug."
)
CALL = "Let me look.\n<function=execute_bash>\n<parameter=command>ls</parameter>\n</function>"


def test_without_function_calling_the_texts_are_cut_by_what_they_are(tmp_path: Path) -> None:
    opening: list[object] = [said("system", PROMPT), said("user", TASK)]
    result = said("user", "EXECUTION RESULT of [execute_bash]:\na.py")
    write_json(tmp_path / "task" / "llama-1733339213.3.json", completion(1733339213.3, opening, CALL))
    write_json(
        tmp_path / "task" / "llama-1733339214.3.json",
        completion(1733339214.3, [*opening, said("assistant", CALL), result], "Done."),
    )

    calls = folder_calls(tmp_path / "task")

    assert [call.implied for call in calls] == [False, False]
    assert tags(calls[1].prompt) == [
        "system_prompt",
        "tool_definition:execute_bash",
        "system_prompt",
        "example",
        "user_turn",
        "agent_output",
        "tool_call:execute_bash",
        "tool_result:execute_bash",
    ]
    assert "".join(texts(calls[0].prompt)) == PROMPT + TASK
    assert calls[1].prompt[6].call_id == calls[1].prompt[7].call_id != ""
    assert grows(calls)


def test_files_of_several_models_are_ordered_by_time(tmp_path: Path) -> None:
    opening: list[object] = [said("system", "s"), said("user", "u")]
    later: list[object] = [*opening, said("assistant", "one"), said("user", "go on")]
    write_json(tmp_path / "task" / "zeta-1733339213.3.json", completion(1733339213.3, opening, "one"))
    write_json(tmp_path / "task" / "alpha-1733339214.3.json", completion(1733339214.3, later, "two"))

    calls = folder_calls(tmp_path / "task")

    assert [(texts(call.output), call.implied) for call in calls] == [(["one"], False), (["two"], False)]


def test_a_delegate_is_a_session_of_its_own(tmp_path: Path) -> None:
    main: list[object] = [said("system", "main agent"), said("user", "u")]
    delegate: list[object] = [said("system", "browsing agent"), said("user", "v")]
    write_json(tmp_path / "task" / "m-1733339213.3.json", completion(1733339213.3, main, "one"))
    write_json(tmp_path / "task" / "m-1733339214.3.json", completion(1733339214.3, delegate, "two"))

    calls = folder_calls(tmp_path / "task")

    assert [(call.session, call.parent) for call in calls] == [("task", None), ("task#2", "task")]


def test_a_file_without_a_response_is_named(tmp_path: Path) -> None:
    body = {**completion(1733339213.3, [said("user", "u")], "x"), "response": {"error": "timeout"}}

    _, calls, skipped = read_file(write_json(tmp_path / "m-1733339213.3.json", body))

    assert (calls, skipped) == ([], ["m-1733339213.3.json: no response"])


def test_knowledge_that_a_word_of_the_task_called_up_is_memory(tmp_path: Path) -> None:
    content = [{"type": "text", "text": "Fix it."}, {"type": "text", "text": "<extra_info>\nOn github: …"}]
    body = completion(1733339213.3, [said("system", "s"), {"role": "user", "content": content}], "ok")

    calls = calls_of(write_json(tmp_path / "m-1733339213.3.json", body))

    assert tags(calls[0].prompt) == ["system_prompt", "user_turn", "memory:microagent"]
