from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.model import Part
from ctxheap.providers.anthropic import block_parts, message_parts, system_parts, tool_definitions
from ctxheap.providers.anthropic_blocks import ASSUMED_DOCUMENT_TOKENS, ASSUMED_IMAGE_TOKENS, image_tokens

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "content", "text", "id", "source", "role", "name"]), inner)
    ),
    max_leaves=10,
)


def parts_of(role: str, content: object, tools: dict[str, str] | None = None) -> list[Part]:
    return message_parts({"role": role, "content": content}, tools={} if tools is None else tools, where="1")


def block_of(role: str, **block: object) -> Part:
    (part,) = parts_of(role, [block])
    return part


def png(width: int, height: int) -> str:
    header = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"
    return base64.b64encode(header).decode()


def image(data: str) -> dict[str, object]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def test_string_content_is_one_text() -> None:
    assert parts_of("user", "Hello") == [Part("user", "text", "user_turn", "Hello")]
    assert parts_of("assistant", "Hi") == [Part("assistant", "text", "agent_output", "Hi")]
    assert parts_of("user", "") == []


def test_result_finds_its_tool_by_the_id_of_the_call() -> None:
    tools: dict[str, str] = {}
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a.py", "é": 1}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "import os", "is_error": True}

    calls = parts_of("assistant", [call], tools)
    results = parts_of("user", [result], tools)

    text = '{"file_path": "a.py", "é": 1}'
    assert calls == [Part("assistant", "tool_call", "tool_call:Read", text, "Read", "t1")]
    assert results == [Part("user", "tool_result", "tool_result:Read", "import os", "Read", "t1", error=True)]
    assert results[0].where == "1:0"


def test_texts_of_a_result_are_one_part_and_reminders_and_media_parts_of_their_own() -> None:
    content = [
        {"type": "text", "text": "one"},
        image(png(750, 100)),
        {"type": "text", "text": "two\n<system-reminder>Careful</system-reminder>"},
    ]

    parts = parts_of(
        "user", [{"type": "tool_result", "tool_use_id": "t1", "content": content}], {"t1": "Shot"}
    )

    assert [(part.tag, part.text, part.tokens) for part in parts] == [
        ("tool_result:Shot", "one\ntwo", None),
        ("harness:system-reminder", "\n<system-reminder>Careful</system-reminder>", None),
        ("media:image", "", 100),
    ]


@pytest.mark.parametrize("content", [None, [], "", {}, [None], 3])
def test_empty_result_still_answers_its_call(content: object) -> None:
    (part,) = parts_of("user", [{"type": "tool_result", "tool_use_id": "t1", "content": content}])

    assert (part.kind, part.call_id, part.text) == ("tool_result", "t1", "")


def test_search_results_are_a_retrieval() -> None:
    found = {
        "type": "search_result",
        "source": "kb://1",
        "title": "T",
        "content": [{"type": "text", "text": "x"}],
    }
    web = {"type": "web_search_result", "url": "https://a", "title": "A", "encrypted_content": "E" * 900}

    (own,) = parts_of(
        "user", [{"type": "tool_result", "tool_use_id": "t1", "content": [found]}], {"t1": "kb"}
    )
    (provider,) = parts_of(
        "assistant", [{"type": "web_search_tool_result", "tool_use_id": "s1", "content": [web]}]
    )

    assert (own.tag, own.text) == ("retrieval:kb", "T\nkb://1\nx")
    assert (provider.tag, provider.text) == ("retrieval:web_search", "A\nhttps://a")
    assert block_of("user", **found).tag == "retrieval:search_result"


def test_calls_and_results_of_provider_tools_are_tool_calls_and_results() -> None:
    tools: dict[str, str] = {}
    call = {"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {"code": "1"}}
    output = {"type": "code_execution_result", "stdout": "1", "stderr": "", "return_code": 0}
    result = {"type": "code_execution_tool_result", "tool_use_id": "s1", "content": output}
    remote: dict[str, object] = {
        "type": "mcp_tool_use",
        "id": "m1",
        "name": "query",
        "server_name": "db",
        "input": {},
    }
    answer = {"type": "mcp_tool_result", "tool_use_id": "m1", "content": [{"type": "text", "text": "row"}]}

    parts = parts_of("assistant", [call, result, remote, answer], tools)

    assert [part.tag for part in parts] == [
        "tool_call:code_execution",
        "tool_result:code_execution",
        "tool_call:query",
        "tool_result:query",
    ]
    assert parts[1].text == '{"stdout":"1","stderr":"","return_code":0}'


def test_encrypted_reasoning_is_sized_by_its_ciphertext_and_never_counted_as_text() -> None:
    redacted = block_of("assistant", type="redacted_thinking", data="x" * 5_563)
    omitted = block_of("assistant", type="thinking", thinking="", signature="y" * 5_563)

    assert (redacted.kind, redacted.text, redacted.tokens) == ("reasoning", "", 999)
    assert (omitted.kind, omitted.text, omitted.tokens) == ("reasoning", "", 999)
    assert redacted.identity != omitted.identity


def test_thinking_is_its_text() -> None:
    part = block_of("assistant", type="thinking", thinking="Hm", signature="y" * 500)

    assert (part.tag, part.text, part.tokens) == ("agent_reasoning", "Hm", None)


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [(200, 200, 54), (1000, 1000, 1334), (1092, 1092, 1590), (4000, 4000, 1600), (3136, 200, 210)],
)
def test_image_costs_its_pixels_after_scaling(width: int, height: int, tokens: int) -> None:
    assert image_tokens(width, height) == tokens


def test_image_of_unknown_size_is_assumed_and_marked() -> None:
    part = block_of("user", type="image", source={"type": "url", "url": "https://a/b.png"})

    assert (part.tokens, part.where) == (ASSUMED_IMAGE_TOKENS, "1:0 (size assumed)")


def test_documents_count_by_their_text_or_an_assumed_size() -> None:
    text = block_of("user", type="document", title="T", source={"type": "text", "data": "words"})
    pdf = block_of("user", type="document", source={"type": "base64", "data": "JVBERi0="})

    assert (text.tag, text.text, text.tokens) == ("media:document", "T\nwords", None)
    assert (pdf.tag, pdf.text, pdf.tokens) == ("media:document", "", ASSUMED_DOCUMENT_TOKENS)


def test_cache_marks_change_no_identity() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    plain_tool = {"name": "Read", "input_schema": {"type": "object"}}

    assert (
        parts_of("user", [{"type": "text", "text": "a"} | mark])[0].identity
        == parts_of("user", "a")[0].identity
    )
    assert tool_definitions([plain_tool | mark])[0].identity == tool_definitions([plain_tool])[0].identity


def test_system_prompt_and_tools_are_parts() -> None:
    blocks = [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}]

    assert [part.tag for part in system_parts(blocks)] == ["system_prompt", "system_prompt"]
    assert [part.text for part in system_parts("One")] == ["One"]
    assert system_parts(None) == []
    assert [part.tag for part in tool_definitions([{"name": "Read"}, {"type": "bash_20250124"}, {}])] == [
        "tool_definition:Read",
        "tool_definition:bash_20250124",
        "tool_definition:unnamed",
    ]


def test_compaction_block_is_a_summary() -> None:
    assert block_of("assistant", type="compaction", content="So far: …").tag == "summary"


@given(JSON)
def test_any_json_is_read_without_an_error(message: object) -> None:
    message_parts(message, tools={}, where="1")
    message_parts({"role": "user", "content": message}, tools={}, where="1")
    message_parts({"role": "user", "content": [message]}, tools={}, where="1")
    tool_definitions(message)
    system_parts(message)


def test_arguments_nested_deeper_than_an_encoder_follows_are_cut_not_lost() -> None:
    deep: object = "x"
    for _ in range(5_000):
        deep = {"a": [deep]}

    block = {"type": "tool_use", "id": "t1", "name": "f", "input": {"first": 1, "deep": deep}}
    (part,) = block_parts(block, role="assistant", tools={}, where="0")

    assert part.text.startswith('{"first": 1, "deep": {"a": [{"a": [')
    assert "null" in part.text
