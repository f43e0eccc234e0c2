from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.model import Part
from ctxheap.providers.openai import message_parts, tool_definitions, with_reasoning_tokens

EMPTY: dict[str, object] = {}


def parts_of(*messages: object) -> list[Part]:
    tools: dict[str, str] = {}
    return [
        part
        for index, message in enumerate(messages)
        for part in message_parts(message, tools=tools, where=str(index))
    ]


def shape(parts: list[Part]) -> list[tuple[str, str, str, str]]:
    return [(part.role, part.tag, part.text, part.call_id) for part in parts]


def test_a_tool_result_is_named_by_the_call_that_asked_for_it() -> None:
    parts = parts_of(
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is in a.py?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "read_file", "arguments": '{"path":"a.py"}'},
                },
                {"id": "c2", "type": "custom", "custom": {"name": "shell", "input": "ls"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c2", "content": "a.py"},
        {"role": "tool", "tool_call_id": "c1", "content": "x = 1"},
    )

    assert shape(parts) == [
        ("system", "system_prompt", "Be brief.", ""),
        ("user", "user_turn", "What is in a.py?", ""),
        ("assistant", "tool_call:read_file", '{"path":"a.py"}', "c1"),
        ("assistant", "tool_call:shell", "ls", "c2"),
        ("tool", "tool_result:shell", "a.py", "c2"),
        ("tool", "tool_result:read_file", "x = 1", "c1"),
    ]


def test_the_place_of_a_part_is_its_message_and_block() -> None:
    parts = parts_of(
        {"role": "user", "content": "a"}, {"role": "user", "content": ["b", {"type": "text", "text": "c"}]}
    )

    assert [part.where for part in parts] == ["0", "1:0", "1:1"]


def test_developer_messages_are_the_system_prompt() -> None:
    assert shape(parts_of({"role": "developer", "content": "Rules."})) == [
        ("system", "system_prompt", "Rules.", "")
    ]


def test_reasoning_comes_first_and_counts_once_whatever_names_it_has() -> None:
    message = {
        "role": "assistant",
        "content": "Done.",
        "reasoning_content": "Let me see.",
        "reasoning": "Let me see.",
        "reasoning_details": [{"type": "reasoning.text", "text": "Let me see."}],
        "thinking_blocks": [{"type": "thinking", "thinking": "Let me see."}],
    }

    assert shape(parts_of(message)) == [
        ("assistant", "agent_reasoning", "Let me see.", ""),
        ("assistant", "agent_output", "Done.", ""),
    ]


def test_reasoning_of_thinking_blocks_alone_is_found() -> None:
    message = {
        "role": "assistant",
        "content": "",
        "thinking_blocks": [{"type": "thinking", "thinking": "Hm."}],
    }

    assert shape(parts_of(message)) == [("assistant", "agent_reasoning", "Hm.", "")]


def test_reasoning_in_blocks_is_found() -> None:
    block = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}

    parts = parts_of({"role": "assistant", "content": [block, {"type": "text", "text": "Done."}]})

    assert shape(parts) == [
        ("assistant", "agent_reasoning", "Hm.", ""),
        ("assistant", "agent_output", "Done.", ""),
    ]


def test_a_refusal_and_a_spoken_answer_are_output() -> None:
    parts = parts_of(
        {"role": "assistant", "content": None, "refusal": "I cannot."},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"role": "assistant", "audio": {"id": "a1", "transcript": "Hello."}},
    )

    assert [(part.tag, part.text) for part in parts] == [
        ("agent_output", "I cannot."),
        ("agent_output", "No."),
        ("agent_output", "Hello."),
    ]


def test_legacy_functions_are_calls_whose_results_find_them_by_name() -> None:
    call = {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "weather", "arguments": '{"city":"Oslo"}'},
    }
    parts = parts_of(call, {"role": "function", "name": "weather", "content": "4 °C"})

    assert [part.tag for part in parts] == ["tool_call:weather", "tool_result:weather"]
    assert parts[0].call_id == parts[1].call_id != ""


def test_legacy_results_answer_the_newest_call_of_their_name() -> None:
    def call(city: str) -> dict[str, object]:
        return {
            "role": "assistant",
            "function_call": {"name": "weather", "arguments": json.dumps({"city": city})},
        }

    parts = parts_of(
        call("Oslo"), call("Rome"), call("Oslo"), {"role": "function", "name": "weather", "content": "4"}
    )

    assert parts[3].call_id == parts[2].call_id == parts[0].call_id


def test_images_audio_and_files_are_media_without_text() -> None:
    content = [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "file", "file": {"file_id": "f1"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]

    parts = parts_of({"role": "user", "content": content})

    assert [(part.tag, part.text, part.tokens, part.where) for part in parts] == [
        ("user_turn", "Look:", None, "0:0"),
        ("media:image", "", 85, "0:1"),
        ("media:audio", "", 300, "0:2 (size assumed)"),
        ("media:file", "", 3000, "0:3 (size assumed)"),
        ("media:image", "", 765, "0:4 (size assumed)"),
    ]


def test_a_tool_result_of_blocks_is_one_part_and_its_images() -> None:
    content = [
        {"type": "text", "text": "one"},
        {"type": "image_url", "image_url": {"url": "u", "detail": "low"}},
        {"type": "text", "text": "two"},
    ]

    parts = parts_of({"role": "tool", "tool_call_id": "c9", "name": "shot", "content": content})

    assert [(part.tag, part.text) for part in parts] == [
        ("tool_result:shot", "one\ntwo"),
        ("media:image", ""),
    ]


def test_an_empty_tool_result_is_still_a_result() -> None:
    parts = parts_of({"role": "tool", "tool_call_id": "c9", "content": None})

    assert [(part.kind, part.text, part.call_id) for part in parts] == [("tool_result", "", "c9")]


def test_cache_marks_do_not_change_an_identity() -> None:
    marked = {
        "role": "tool",
        "tool_call_id": "c1",
        "cache_control": {"type": "ephemeral"},
        "content": [{"type": "text", "text": "ok", "cache_control": {"type": "ephemeral"}}],
    }
    plain = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "ok"}]}

    assert [part.identity for part in parts_of(marked)] == [part.identity for part in parts_of(plain)]


def test_text_in_a_string_and_in_a_block_is_the_same_object() -> None:
    blocks = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}

    assert parts_of(blocks)[0].identity == parts_of({"role": "assistant", "content": "Done."})[0].identity


def test_definitions_are_named_in_every_form() -> None:
    parts = tool_definitions(
        [
            {"type": "function", "function": {"name": "chat_form", "parameters": EMPTY}},
            {"type": "function", "name": "responses_form", "parameters": EMPTY},
            {"type": "custom", "custom": {"name": "custom_form"}},
            {"type": "web_search"},
            {"type": "mcp", "server_label": "orders"},
            {"name": "legacy_form", "parameters": EMPTY},
            EMPTY,
            "nonsense",
        ]
    )

    assert [part.tool for part in parts] == [
        "chat_form",
        "responses_form",
        "custom_form",
        "web_search",
        "orders",
        "legacy_form",
        "unnamed",
    ]
    assert {part.kind for part in parts} == {"tool_definition"}


def test_a_definition_is_the_same_with_and_without_a_cache_mark() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": EMPTY}}

    marked = tool_definitions([{**tool, "cache_control": {"type": "ephemeral"}}])

    assert marked[0].identity == tool_definitions([tool])[0].identity


def test_reasoning_tokens_are_shared_out_whole() -> None:
    output = [
        Part("assistant", "reasoning", "agent_reasoning", "x" * 30),
        Part("assistant", "text", "agent_output", "Done."),
        Part("assistant", "reasoning", "agent_reasoning", ""),
    ]

    sized = with_reasoning_tokens(output, 64)

    assert [part.tokens for part in sized] == [62, None, 2]
    assert [part.identity for part in sized] == [part.identity for part in output]


KEYS = st.sampled_from(
    [
        "role",
        "content",
        "type",
        "text",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "tool_call_id",
        "refusal",
        "audio",
        "output",
        "image_url",
        "summary",
        "encrypted_content",
        "call_id",
        "source",
        "url",
        "action",
        "results",
        "tools",
    ]
)
LEAVES: st.SearchStrategy[object] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)
)


def nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=5)
    )


JSON = st.recursive(LEAVES, nested, max_leaves=12)
ROLES = st.sampled_from(["system", "user", "assistant", "tool", "function", "exit", "", None])
TYPES = st.sampled_from(
    [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "mcp_call",
        "file_search_call",
        "x_call",
        None,
    ]
)


@given(ROLES, TYPES, st.dictionaries(st.text(max_size=3), JSON, max_size=2), JSON)
def test_no_message_can_stop_the_reading(
    role: object, kind: object, more: dict[str, object], content: object
) -> None:
    message = {
        **more,
        "role": role,
        "type": kind,
        "content": content,
        "output": content,
        "tool_calls": content,
    }

    parts_of(message, content)
    tool_definitions(content)


@given(st.text(), st.sampled_from(["user", "assistant", "system"]))
def test_no_text_is_lost_or_added(text: str, role: str) -> None:
    parts = parts_of({"role": role, "content": text})

    assert "".join(part.text for part in parts) == text
