from __future__ import annotations

from pathlib import Path

from transcripts.written import calls_of, grows, read_file, tags, texts, write_json, write_lines

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
TOOLS: list[object] = [{"type": "function", "function": {"name": "ls", "description": "List files."}}]
MESSAGES: list[object] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Which files?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    {"role": "assistant", "content": "One file: a.py."},
    {"role": "user", "content": "Thanks."},
]
ANTHROPIC: list[object] = [
    {"role": "user", "content": "Which files?"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"path": "."}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.py"}]},
    {"role": "assistant", "content": "One file: a.py."},
]


def test_a_bare_list_is_one_session_named_after_the_file(tmp_path: Path) -> None:
    name, calls, skipped = read_file(write_json(tmp_path / "chat.v2.json", MESSAGES))

    assert (name, skipped) == ("openai-messages", [])
    assert [(call.session, call.call_id, call.implied, tags(call.prompt)) for call in calls] == [
        ("chat.v2", "chat.v2/1", True, ["system_prompt", "user_turn"]),
        ("chat.v2", "chat.v2/2", True, ["system_prompt", "user_turn", "tool_call:ls", "tool_result:ls"]),
    ]
    assert grows(calls)


def test_tools_and_model_beside_the_list_belong_to_every_call(tmp_path: Path) -> None:
    body = {"model": "gpt-4o-2024-08-06", "messages": MESSAGES, "tools": TOOLS}

    calls = calls_of(write_json(tmp_path / "chat.json", body))

    assert [(call.model, call.provider, call.prompt[0].tag) for call in calls] == [
        ("gpt-4o-2024-08-06", "openai", "tool_definition:ls"),
        ("gpt-4o-2024-08-06", "openai", "tool_definition:ls"),
    ]


def test_every_fine_tuning_example_is_a_session(tmp_path: Path) -> None:
    other = [{"role": "user", "content": "Hi"}, *MESSAGES]
    path = write_lines(tmp_path / "train.jsonl", [{"messages": MESSAGES}, {"other": 1}, {"messages": other}])

    name, calls, skipped = read_file(path)

    assert (name, skipped) == ("openai-messages", ["no list of messages"])
    assert [call.session for call in calls] == ["train#1", "train#1", "train#3", "train#3"]


def test_lists_that_the_next_one_continues_are_one_session(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [{"messages": MESSAGES[:2]}, {"messages": MESSAGES[:5]}])

    name, calls, skipped = read_file(path)

    assert (name, skipped) == ("openai-messages", ["the next list continues this one"])
    assert [(call.session, len(call.prompt)) for call in calls] == [("log#2", 2), ("log#2", 4)]


def test_messages_one_a_line_are_one_session(tmp_path: Path) -> None:
    calls = calls_of(write_lines(tmp_path / "log.jsonl", MESSAGES))

    assert [(call.session, len(call.prompt)) for call in calls] == [("log", 2), ("log", 4)]


def test_lists_in_a_list_are_sessions_of_their_own_with_their_own_ids(tmp_path: Path) -> None:
    body: list[object] = [{"session_id": "first", "messages": MESSAGES}, {"messages": MESSAGES[1:]}, MESSAGES]

    calls = calls_of(write_json(tmp_path / "set.json", body))

    assert [call.session for call in calls] == ["first", "first", "set#2", "set#2", "set#3", "set#3"]


def test_a_list_without_an_answer_yields_nothing_but_a_reason(tmp_path: Path) -> None:
    name, calls, skipped = read_file(write_json(tmp_path / "chat.json", MESSAGES[:2]))

    assert (name, calls, skipped) == ("openai-messages", [], ["chat: no answer of a model, so no call"])


def test_what_is_no_message_is_named_and_left_out(tmp_path: Path) -> None:
    body = {"messages": [*MESSAGES[:2], "nonsense", *MESSAGES[2:]]}

    _, calls, skipped = read_file(write_json(tmp_path / "chat.json", body))

    assert (len(calls), skipped) == (2, ["message 2 is no object"])


def test_anthropic_lists_are_told_by_their_blocks(tmp_path: Path) -> None:
    name, calls, _ = read_file(write_json(tmp_path / "chat.json", ANTHROPIC))

    assert name == "anthropic-messages"
    assert [tags(call.prompt) for call in calls] == [
        ["user_turn"],
        ["user_turn", "agent_output", "tool_call:ls", "tool_result:ls"],
    ]
    assert grows(calls)


def test_openai_messages_may_have_their_system_prompt_apart(tmp_path: Path) -> None:
    body = {"system": "Be brief.", "messages": MESSAGES[1:]}

    name, calls, _ = read_file(write_json(tmp_path / "chat.json", body))

    assert (name, tags(calls[0].prompt)) == ("openai-messages", ["system_prompt", "user_turn"])


def test_an_anthropic_system_prompt_and_tools_stand_in_front(tmp_path: Path) -> None:
    body = {
        "model": "claude-sonnet-4-5",
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [{"name": "ls", "description": "List files.", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
    }

    name, calls, _ = read_file(write_json(tmp_path / "chat.json", body))

    assert name == "anthropic-messages"
    assert [(call.provider, tags(call.prompt), texts(call.output)) for call in calls] == [
        ("anthropic", ["tool_definition:ls", "system_prompt", "user_turn"], ["Hello"])
    ]
