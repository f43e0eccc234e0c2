from __future__ import annotations

from ctxheap.heap.model import Part
from ctxheap.providers.openai import message_parts

EMPTY: dict[str, object] = {}
NONE: list[object] = []


def parts_of(*items: object) -> list[Part]:
    tools: dict[str, str] = {}
    return [
        part
        for index, item in enumerate(items)
        for part in message_parts(item, tools=tools, where=str(index))
    ]


def shape(parts: list[Part]) -> list[tuple[str, str, str, str]]:
    return [(part.kind, part.tag, part.text, part.call_id) for part in parts]


def test_messages_calls_and_outputs_are_read_item_by_item() -> None:
    parts = parts_of(
        {"role": "user", "content": [{"type": "input_text", "text": "Which files?"}]},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "ls",
            "arguments": '{"path":"."}',
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "a.py"},
        {"type": "custom_tool_call", "call_id": "call_2", "name": "patch", "input": "*** Begin"},
        {
            "type": "custom_tool_call_output",
            "call_id": "call_2",
            "output": [{"type": "input_text", "text": "ok"}],
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One file."}]},
    )

    assert shape(parts) == [
        ("text", "user_turn", "Which files?", ""),
        ("tool_call", "tool_call:ls", '{"path":"."}', "call_1"),
        ("tool_result", "tool_result:ls", "a.py", "call_1"),
        ("tool_call", "tool_call:patch", "*** Begin", "call_2"),
        ("tool_result", "tool_result:patch", "ok", "call_2"),
        ("text", "agent_output", "One file.", ""),
    ]


def test_encrypted_reasoning_is_known_by_its_ciphertext_and_counts_none_of_it() -> None:
    one = {"type": "reasoning", "id": "rs_1", "summary": NONE, "encrypted_content": "gAAAA" * 200}
    other = {"type": "reasoning", "id": "rs_2", "summary": NONE, "encrypted_content": "gBBBB" * 200}

    parts = parts_of(one, other)

    assert [(part.tag, part.text) for part in parts] == [("agent_reasoning", ""), ("agent_reasoning", "")]
    assert parts[0].identity != parts[1].identity


def test_a_reasoning_summary_is_shown_but_the_block_stays_the_same_object() -> None:
    bare = {"type": "reasoning", "id": "rs_1", "summary": NONE, "encrypted_content": "gAAAA"}
    told = {**bare, "summary": [{"type": "summary_text", "text": "Looked at the files."}]}

    parts = parts_of(bare, told)

    assert parts[1].text == "Looked at the files."
    assert parts[0].identity == parts[1].identity


def test_open_reasoning_is_text() -> None:
    item = {"type": "reasoning", "id": "rs_1", "content": [{"type": "reasoning_text", "text": "Hm."}]}

    assert shape(parts_of(item)) == [("reasoning", "agent_reasoning", "Hm.", "")]


def test_tools_that_the_provider_runs_hold_call_and_result() -> None:
    parts = parts_of(
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "name": "orders",
            "arguments": '{"since":"1"}',
            "output": "3 orders",
        },
        {"type": "mcp_call", "id": "mcp_2", "name": "orders", "arguments": "{}", "error": "timed out"},
        {
            "type": "file_search_call",
            "id": "fs_1",
            "queries": ["fees"],
            "results": [{"text": "Fees are due.", "score": 0.9}],
        },
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "code": "print(1)",
            "outputs": [{"type": "logs", "logs": "1"}],
        },
        {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "fees"}},
    )

    assert [(part.tag, part.text, part.error) for part in parts] == [
        ("tool_call:orders", '{"since":"1"}', False),
        ("tool_result:orders", "3 orders", False),
        ("tool_call:orders", "{}", False),
        ("tool_result:orders", "timed out", True),
        ("tool_call:file_search", '["fees"]', False),
        ("retrieval:file_search", "Fees are due.", False),
        ("tool_call:code_interpreter", '{"code":"print(1)"}', False),
        ("tool_result:code_interpreter", "1", False),
        ("tool_call:web_search", '{"type":"search","query":"fees"}', False),
    ]


def test_shell_and_computer_calls_are_calls_named_by_their_type() -> None:
    parts = parts_of(
        {"type": "local_shell_call", "call_id": "c1", "action": {"command": ["ls"]}},
        {"type": "local_shell_call_output", "call_id": "c1", "output": "a.py"},
        {"type": "computer_call", "call_id": "c2", "action": {"type": "screenshot"}},
        {
            "type": "computer_call_output",
            "call_id": "c2",
            "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,"},
        },
    )

    assert [(part.tag, part.call_id) for part in parts] == [
        ("tool_call:local_shell", "c1"),
        ("tool_result:local_shell", "c1"),
        ("tool_call:computer", "c2"),
        ("tool_result:computer", "c2"),
        ("media:image", ""),
    ]


def test_listed_tools_are_definitions_and_a_compaction_is_a_summary() -> None:
    parts = parts_of(
        {
            "type": "mcp_list_tools",
            "server_label": "orders",
            "tools": [{"name": "find", "input_schema": EMPTY}],
        },
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "gCCCC"},
        {"type": "of_tomorrow", "id": "x"},
    )

    assert [(part.kind, part.tag, part.text) for part in parts] == [
        ("tool_definition", "tool_definition:find", '{"name":"find","input_schema":{}}'),
        ("reasoning", "summary", ""),
    ]
