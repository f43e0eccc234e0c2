"""Histories are read as they were billed: stored ones, edited ones, ones without ids."""

from __future__ import annotations

from ctxheap.heap.model import Usage
from ctxheap.providers.anthropic_edits import CLEARED
from providers.exchanges import CONVERSE, GEMINI, MESSAGES, OLLAMA, RESPONSES, keeping, read, seen

Json = dict[str, object]

USER = {"role": "user", "content": "go"}


def answer(response_id: str, *output: object) -> dict[str, object]:
    usage = {"input_tokens": 9, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 3}}
    return {"id": response_id, "model": "m", "status": "completed", "output": list(output), "usage": usage}


SECRET: Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "read", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "42"}


def test_what_a_response_id_stands_for_is_in_front_of_the_request() -> None:
    first = read(RESPONSES, {"model": "m", "input": "go", "instructions": "Be."}, answer("r1", SECRET, CALL))
    request: Json = {"model": "m", "input": [OUTPUT], "previous_response_id": "r1"}

    second = read(RESPONSES, request, answer("r2"), stored=keeping(r1=first.prefix))

    assert seen(second.exchange.prompt) == [
        ("user_turn", "go"),
        ("agent_reasoning", ""),
        ("tool_call:read", "{}"),
        ("tool_result:read", "42"),
    ]
    assert second.exchange.prompt[1].tokens == 3
    assert not second.exchange.incomplete
    assert second.chain.previous == "r1"


def test_an_unknown_history_is_flagged_and_so_is_all_that_goes_on_from_it() -> None:
    request: Json = {"model": "m", "input": "go", "previous_response_id": "r0"}
    first = read(RESPONSES, request, answer("r1"))
    second = read(
        RESPONSES, {**request, "previous_response_id": "r1"}, answer("r2"), stored=keeping(r1=first.prefix)
    )

    assert first.exchange.incomplete
    assert second.exchange.incomplete


def test_a_conversation_holds_what_was_said_in_it() -> None:
    request: Json = {"model": "m", "input": "go", "conversation": {"id": "conv_1"}}
    first = read(RESPONSES, request, answer("r1", CALL))

    second = read(
        RESPONSES, {**request, "input": [OUTPUT]}, answer("r2"), stored=keeping(conv_1=first.prefix)
    )

    assert [part.tag for part in second.exchange.prompt] == [
        "user_turn",
        "tool_call:read",
        "tool_result:read",
    ]
    assert second.chain.conversation == "conv_1"


def test_references_to_items_are_the_items_and_unknown_ones_are_flagged() -> None:
    first = read(RESPONSES, {"model": "m", "input": [USER]}, answer("r1", SECRET, CALL))
    refer = [USER, {"type": "item_reference", "id": "rs_1"}, CALL, OUTPUT]

    known = read(RESPONSES, {"model": "m", "input": refer}, answer("r2"), known=first.prefix)
    unknown = read(RESPONSES, {"model": "m", "input": refer}, answer("r2"))

    assert [(part.kind, part.tokens) for part in known.exchange.prompt][1] == ("reasoning", 3)
    assert not known.exchange.incomplete
    assert unknown.exchange.incomplete


def test_encrypted_reasoning_is_sized_by_what_was_billed_when_it_is_sent_back() -> None:
    first = read(RESPONSES, {"model": "m", "input": [USER]}, answer("r1", SECRET, CALL))

    second = read(
        RESPONSES, {"model": "m", "input": [USER, SECRET, CALL, OUTPUT]}, answer("r2"), known=first.prefix
    )

    assert second.exchange.prompt[1] is first.exchange.output[0]
    assert second.exchange.prompt[1].tokens == 3


def test_a_stored_history_ends_where_the_provider_compacted_it() -> None:
    compacted = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gBBBB"}
    first = read(RESPONSES, {"model": "m", "input": [USER]}, answer("r1", CALL, compacted))
    request = {"model": "m", "input": [USER], "previous_response_id": "r1"}

    second = read(RESPONSES, request, answer("r2"), stored=keeping(r1=first.prefix))

    assert [part.tag for part in second.exchange.prompt] == ["summary", "user_turn"]


def tool_turn(number: int) -> list[dict[str, object]]:
    use: Json = {"type": "tool_use", "id": f"t{number}", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"result {number}"}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def test_results_that_the_provider_cleared_are_receipts() -> None:
    turns = [each for number in range(3) for each in tool_turn(number)]
    edits = {"edits": [{"type": "clear_tool_uses_20250919"}]}
    applied = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2}]}
    request: Json = {"model": "m", "messages": [USER, *turns], "context_management": edits}

    reading = read(MESSAGES, request, {"content": [], "context_management": applied})

    assert [each for each in seen(reading.exchange.prompt) if each[0] != "tool_call:read"] == [
        ("user_turn", "go"),
        ("receipt", CLEARED),
        ("receipt", CLEARED),
        ("tool_result:read", "result 2"),
    ]


def test_results_of_excluded_tools_are_not_taken_for_cleared() -> None:
    turns = [each for number in range(2) for each in tool_turn(number)]
    edits = {"edits": [{"type": "clear_tool_uses_20250919", "exclude_tools": ["read"]}]}
    applied = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 1}]}
    request: Json = {"model": "m", "messages": [USER, *turns], "context_management": edits}

    reading = read(MESSAGES, request, {"content": [], "context_management": applied})

    assert "receipt" not in [part.tag for part in reading.exchange.prompt]


def test_thinking_that_the_provider_cleared_is_gone() -> None:
    thoughts = [
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": text}, {"type": "text", "text": "x"}],
        }
        for text in ("old", "new")
    ]
    applied = {"applied_edits": [{"type": "clear_thinking_20251015", "cleared_thinking_turns": 1}]}
    request: Json = {"model": "m", "messages": [USER, thoughts[0], USER, thoughts[1]]}

    reading = read(MESSAGES, request, {"content": [], "context_management": applied})

    assert [part.text for part in reading.exchange.prompt if part.kind == "reasoning"] == ["new"]


def test_what_lies_before_a_compaction_is_not_billed() -> None:
    compacted = {"role": "assistant", "content": [{"type": "compaction", "content": "They greeted."}]}
    request: Json = {
        "model": "m",
        "system": "Be.",
        "messages": [USER, compacted, {"role": "user", "content": "on"}],
    }

    reading = read(MESSAGES, request, {"content": []})

    assert seen(reading.exchange.prompt) == [
        ("system_prompt", "Be."),
        ("summary", "They greeted."),
        ("user_turn", "on"),
    ]


def gemini_call(name: str, **args: object) -> dict[str, object]:
    return {"functionCall": {"name": name, "args": args}}


def gemini_result(name: str, text: str) -> dict[str, object]:
    return {"functionResponse": {"name": name, "response": {"result": text}}}


def test_parallel_results_without_ids_find_their_calls_by_name_and_order() -> None:
    calls = [gemini_call("read", p="a"), gemini_call("read", p="b"), gemini_call("list"), gemini_call("list")]
    results = [("list", "1"), ("read", "A"), ("read", "B"), ("list", "2")]
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": [gemini_result(*each) for each in results]},
    ]

    prompt = read(GEMINI, {"contents": contents}, {"candidates": []}).exchange.prompt

    asked = {part.call_id: part.text for part in prompt if part.kind == "tool_call"}
    assert len(asked) == 4
    assert [(asked[part.call_id], part.text) for part in prompt if part.kind == "tool_result"] == [
        ("{}", "1"),
        ('{"p":"a"}', "A"),
        ('{"p":"b"}', "B"),
        ("{}", "2"),
    ]


def test_a_call_that_nobody_answered_does_not_take_the_result_of_the_next_turn() -> None:
    contents = [
        {"role": "model", "parts": [gemini_call("read", p="old")]},
        {"role": "user", "parts": [{"text": "never mind"}]},
        {"role": "model", "parts": [gemini_call("read", p="new")]},
        {"role": "user", "parts": [gemini_result("read", "N")]},
    ]

    prompt = read(GEMINI, {"contents": contents}, {"candidates": []}).exchange.prompt

    assert prompt[-1].call_id == prompt[-2].call_id != prompt[0].call_id


def test_gemini_takes_snake_case_too() -> None:
    request: Json = {
        "system_instruction": {"parts": [{"text": "Be."}]},
        "tools": [{"function_declarations": [{"name": "read"}]}, {"google_search": {}}],
        "contents": [{"role": "user", "parts": [{"inline_data": {"mime_type": "text/csv", "data": "YSxi"}}]}],
    }

    prompt = read(GEMINI, request, {"candidates": []}).exchange.prompt

    assert seen(prompt) == [
        ("tool_definition:read", '{"name":"read"}'),
        ("tool_definition:google_search", '{"name":"google_search"}'),
        ("system_prompt", "Be."),
        ("media:document", "a,b"),
    ]


def test_gemini_usage_holds_the_cache_and_what_tools_of_google_read() -> None:
    usage = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 80,
        "toolUsePromptTokenCount": 30,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 7,
        "totalTokenCount": 142,
    }

    reading = read(GEMINI, {"contents": []}, {"candidates": [], "usageMetadata": usage})

    assert reading.exchange.usage == Usage(uncached=50, cache_read=80, output=12, reasoning=7)


def test_stored_content_of_gemini_is_known_to_be_missing() -> None:
    request: Json = {"contents": [], "cachedContent": "cachedContents/1"}

    assert read(GEMINI, request, {"candidates": []}).exchange.incomplete


def test_converse_blocks_are_read_for_what_they_are() -> None:
    content = [
        {"text": "go"},
        {"cachePoint": {"type": "default"}},
        {"document": {"format": "md", "name": "d", "source": {"bytes": "SGk="}}},
        {"guardContent": {"text": {"text": "safe?"}}},
        {"video": {"format": "mp4", "source": {"bytes": "AA=="}}},
    ]
    result = {"toolUseId": "t", "status": "error", "content": [{"json": {"a": 1}}, {"text": "no"}]}
    messages: list[Json] = [
        {"role": "user", "content": content},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "read", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": result}]},
    ]

    prompt = read(CONVERSE, {"messages": messages}, {"output": {"message": {}}}).exchange.prompt

    assert seen(prompt) == [
        ("user_turn", "go"),
        ("media:document", "d\nHi"),
        ("user_turn", "safe?"),
        ("media:video", ""),
        ("tool_call:read", "{}"),
        ("tool_result:read", '{"a":1}\nno'),
    ]
    assert prompt[-1].error


def test_ollama_thinks_sees_and_calls() -> None:
    call = {"function": {"name": "read", "arguments": {"p": 1}}}
    messages: list[Json] = [
        {"role": "user", "content": "go", "images": ["aGk="]},
        {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [call]},
        {"role": "tool", "tool_name": "read", "content": "42"},
    ]

    prompt = read(OLLAMA, {"model": "m", "messages": messages}, {"message": {}, "done": True}).exchange.prompt

    assert seen(prompt) == [
        ("user_turn", "go"),
        ("media:image", ""),
        ("agent_reasoning", "hm"),
        ("tool_call:read", '{"p":1}'),
        ("tool_result:read", "42"),
    ]
