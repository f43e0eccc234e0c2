from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from ctxheap.heap.model import Usage
from ctxheap_collector.report.build import heaps_of
from transcripts.written import DATA, calls_of, grows, read_file, tags, texts, write_json, write_lines

Json = dict[str, object]
NONE: list[object] = []
TOOLS: list[object] = [{"type": "function", "function": {"name": "ls"}}]
ASK: Json = {"role": "user", "content": "Which files?"}
CALL: Json = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}],
}
RESULT: Json = {"role": "tool", "tool_call_id": "c1", "content": "a.py"}
DONE: Json = {"role": "assistant", "content": "One file."}


def chat(messages: list[Json], answer: Json, tokens: int, response_id: str = "") -> Json:
    response: Json = {
        "choices": [{"index": 0, "message": answer}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 5},
    }
    return {
        "model": "gpt-4o",
        "messages": messages,
        "tools": TOOLS,
        "response": {**response, "id": response_id} if response_id else response,
    }


def sessions_of(path: Path) -> list[tuple[str, list[str]]]:
    """Return the sessions that the calls of a file are stitched to, with the ids of their calls."""
    return [(heap.session, [call.id for call in heap.calls]) for heap in heaps_of(calls_of(path))]


def test_what_the_next_request_repeats_is_the_same_object(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "log.jsonl", [chat([ASK], CALL, 50, "r1"), chat([ASK, CALL, RESULT], DONE, 70, "r2")]
    )

    name, calls, skipped = read_file(path)

    assert (name, skipped) == ("request-log", [])
    assert [(call.call_id, call.session, call.usage, call.implied) for call in calls] == [
        ("r1", "", Usage(uncached=50, output=5), False),
        ("r2", "", Usage(uncached=70, output=5), False),
    ]
    assert tags(calls[1].prompt) == ["tool_definition:ls", "user_turn", "tool_call:ls", "tool_result:ls"]
    assert grows(calls)
    assert calls[1].prompt[2] is calls[0].output[0]


def test_a_cache_mark_that_moves_on_changes_nothing(tmp_path: Path) -> None:
    marked: Json = {**ASK, "cache_control": {"type": "ephemeral"}}
    path = write_lines(
        tmp_path / "log.jsonl", [chat([marked], CALL, 50), chat([ASK, CALL, RESULT], DONE, 70)]
    )

    assert grows(calls_of(path))


def test_agents_that_take_turns_keep_their_objects(tmp_path: Path) -> None:
    other: Json = {"role": "user", "content": "What time is it?"}
    path = write_lines(
        tmp_path / "log.jsonl",
        [
            chat([ASK], CALL, 50),
            chat([other], DONE, 20),
            chat([ASK, CALL, RESULT], DONE, 70),
            chat([other, DONE, ASK], CALL, 40),
        ],
    )

    calls = calls_of(path)

    assert grows([calls[0], calls[2]])
    assert grows([calls[1], calls[3]])


def test_request_and_response_may_stand_apart_and_under_body(tmp_path: Path) -> None:
    entry = chat([ASK], DONE, 50)
    request = {key: value for key, value in entry.items() if key != "response"}
    response = entry["response"]
    path = write_lines(
        tmp_path / "log.jsonl",
        [
            {
                "request": {"body": request},
                "response": {"status": 200, "body": response},
                "session_id": "s9",
            },
            {"request": request, "response": response, "metadata": {"conversation_id": "s10"}},
        ],
    )

    calls = calls_of(path)

    assert [(call.session, call.usage, texts(call.output)) for call in calls] == [
        ("s9", Usage(uncached=50, output=5), ["One file."]),
        ("s10", Usage(uncached=50, output=5), ["One file."]),
    ]


def test_a_log_in_one_json_list_is_read_too(tmp_path: Path) -> None:
    path = write_json(tmp_path / "log.json", [chat([ASK], CALL, 50), chat([ASK, CALL, RESULT], DONE, 70)])

    assert [call.call_id.partition(":")[0] for call in calls_of(path)] == ["1", "2"]


def test_failed_and_unanswered_requests_are_named_and_not_counted(tmp_path: Path) -> None:
    failed: Json = {"model": "m", "messages": [ASK], "response": {"error": {"message": "overloaded"}}}
    path = write_lines(
        tmp_path / "log.jsonl",
        [chat([ASK], DONE, 50), failed, {"model": "m", "messages": [ASK]}, {"note": 1}],
    )

    _, calls, skipped = read_file(path)

    assert len(calls) == 1
    assert sorted(skipped) == [
        "a request without a response",
        "neither a request nor a response",
        "the request failed: overloaded",
    ]


def test_what_is_no_answer_of_a_model_is_named_and_not_counted(tmp_path: Path) -> None:
    count: Json = {"model": "m", "messages": [ASK], "response": {"input_tokens": 19}}
    embedding: Json = {
        "model": "m",
        "input": "text",
        "response": {"data": [1], "usage": {"prompt_tokens": 1}},
    }
    waiting: Json = {"model": "m", "input": "text", "response": {"status": "queued", "output": NONE}}
    path = write_lines(tmp_path / "log.jsonl", [count, embedding, waiting])

    _, calls, skipped = read_file(path)

    assert (calls, set(skipped)) == ([], {"the response holds no output of a model"})


def test_an_answer_beside_its_counts_is_read(tmp_path: Path) -> None:
    response: Json = {"model": "llama3", "message": DONE, "prompt_eval_count": 19, "eval_count": 7}

    call = calls_of(write_lines(tmp_path / "log.jsonl", [{"messages": [ASK], "response": response}]))[0]

    assert (call.usage, texts(call.output)) == (Usage(uncached=19, output=7), ["One file."])


def test_a_server_that_gives_every_response_one_id_loses_no_call(tmp_path: Path) -> None:
    same = chat([ASK], DONE, 50, "chatcmpl-123")
    path = write_lines(tmp_path / "log.jsonl", [same, chat([ASK, DONE, ASK], CALL, 90, "chatcmpl-123"), same])

    # The third line is the first one over again: one call, logged twice.
    first, other, again = [call.call_id for call in calls_of(path)]

    assert (first, other.partition("@")[0], again) == ("chatcmpl-123", "chatcmpl-123", "chatcmpl-123")
    assert other != first


@pytest.mark.parametrize("response_id", ["", "chatcmpl-1"], ids=["no id", "the same id"])
def test_equal_logs_have_equal_ids_and_logs_with_nothing_in_common_do_not(
    tmp_path: Path, response_id: str
) -> None:
    other: Json = {"role": "user", "content": "Write a poem."}
    write_lines(tmp_path / "1.jsonl", [chat([ASK], DONE, 50, response_id)])
    write_lines(tmp_path / "2.jsonl", [chat([other], DONE, 900, response_id)])
    write_lines(tmp_path / "3.jsonl", [chat([ASK], DONE, 50, response_id)])

    first, second, third = [sessions_of(tmp_path / f"{number}.jsonl") for number in (1, 2, 3)]

    assert first == third
    assert not {session for session, _ in first} & {session for session, _ in second}


def test_prompts_that_differ_are_calls_of_their_own_where_ids_and_answers_do_not(tmp_path: Path) -> None:
    other: Json = {"role": "user", "content": "How many files?"}
    path = write_lines(
        tmp_path / "log.jsonl", [chat([each], DONE, 50, "chatcmpl-1") for each in (ASK, other)]
    )

    assert len({call.call_id for call in calls_of(path)}) == 2


def test_anthropic_bodies_are_read_with_their_own_usage(tmp_path: Path) -> None:
    entry: Json = {
        "request": {
            "model": "claude-sonnet-4-5",
            "system": "Be brief.",
            "tools": [{"name": "ls", "input_schema": {"type": "object"}}],
            "messages": [ASK],
        },
        "response": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"path": "."}}],
            "usage": {"input_tokens": 4, "cache_read_input_tokens": 90, "output_tokens": 6},
        },
    }

    call = calls_of(write_lines(tmp_path / "log.jsonl", [entry]))[0]

    assert (call.call_id, call.model, call.provider) == ("msg_1", "claude-sonnet-4-5-20250929", "anthropic")
    assert tags(call.prompt) == ["tool_definition:ls", "system_prompt", "user_turn"]
    assert tags(call.output) == ["tool_call:ls"]
    assert call.usage is not None
    assert (call.usage.input, call.usage.cache_read) == (94, 90)


def responses(response_id: str, given: object, output: list[object], **more: object) -> Json:
    usage: Json = {"input_tokens": 9, "output_tokens": 40, "output_tokens_details": {"reasoning_tokens": 32}}
    return {
        "request": {"model": "gpt-5", "instructions": "Be brief.", "input": given, **more},
        "response": {"id": response_id, "model": "gpt-5", "output": output, "usage": usage},
    }


REASONING: Json = {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAAA" * 50}
ASKED: Json = {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"}
ANSWER: Json = {"type": "function_call_output", "call_id": "c1", "output": "a.py"}
TEXT: Json = {"type": "output_text", "text": "One file."}
SAID: Json = {"type": "message", "role": "assistant", "content": [TEXT]}


def test_reasoning_that_is_sent_back_weighs_what_it_was_billed(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "log.jsonl",
        [
            responses("resp_1", [ASK], [REASONING, ASKED]),
            responses("resp_2", [ASK, REASONING, ASKED, ANSWER], [SAID]),
        ],
    )

    calls = calls_of(path)

    assert [(part.tag, part.text, part.tokens) for part in calls[1].prompt] == [
        ("system_prompt", "Be brief.", None),
        ("user_turn", "Which files?", None),
        ("agent_reasoning", "", 32),
        ("tool_call:ls", "{}", None),
        ("tool_result:ls", "a.py", None),
    ]
    assert grows(calls)


def test_a_stored_chain_is_one_session_whose_prompt_is_the_whole_chain(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "log.jsonl",
        [
            responses("resp_1", "Which files?", [ASKED]),
            responses("resp_2", [ANSWER], [SAID], previous_response_id="resp_1"),
            responses("resp_3", "Thanks.", [SAID], previous_response_id="resp_2"),
            responses("resp_4", NONE, [SAID], previous_response_id="resp_3"),
        ],
    )

    calls = calls_of(path)

    assert [call.call_id for call in calls] == ["resp_1", "resp_2", "resp_3", "resp_4"]
    assert texts(calls[2].prompt) == ["Be brief.", "Which files?", "{}", "a.py", "One file.", "Thanks."]
    assert tags(calls[1].prompt) == ["system_prompt", "user_turn", "tool_call:ls", "tool_result:ls"]
    assert {(call.session, call.incomplete) for call in calls} == {("resp_1", False)}
    assert grows(calls)


CHAIN: list[Json] = [
    responses("resp_1", "Which files?", [ASKED]),
    responses("resp_2", [ANSWER], [SAID], previous_response_id="resp_1"),
    responses("resp_3", "Thanks.", [SAID], previous_response_id="resp_2"),
]
OTHER = responses("resp_0", "Hello?", [SAID])


@pytest.mark.parametrize("order", list(permutations([*CHAIN, OTHER])), ids=range(24))
def test_a_stored_chain_is_one_session_in_every_order_of_lines(
    tmp_path: Path, order: tuple[Json, ...]
) -> None:
    path = write_lines(tmp_path / "log.jsonl", order)

    calls = calls_of(path)

    assert {(call.call_id, call.session, call.incomplete, len(call.prompt)) for call in calls} == {
        ("resp_0", "", False, 2),
        ("resp_1", "resp_1", False, 2),
        ("resp_2", "resp_1", False, 4),
        ("resp_3", "resp_1", False, 6),
    }
    assert sorted(len(heap_calls) for _, heap_calls in sessions_of(path)) == [1, 3]


def test_a_chain_has_the_session_that_one_of_its_calls_names(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [CHAIN[0], {**CHAIN[1], "session_id": "mine"}, CHAIN[2]])

    assert [call.session for call in calls_of(path)] == ["mine", "mine", "mine"]


def test_the_calls_of_a_conversation_are_one_session(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "log.jsonl",
        [responses(f"resp_{number}", "Hi.", [SAID], conversation="conv_1") for number in (1, 2, 3)],
    )

    assert [call.session for call in calls_of(path)] == ["resp_1", "resp_1", "resp_1"]


def test_a_chain_that_goes_round_in_a_circle_loses_no_call(tmp_path: Path) -> None:
    circle = [
        responses("a", "Hi.", [SAID], previous_response_id="b"),
        responses("b", "Hi.", [SAID], previous_response_id="a"),
        responses("c", "Hi.", [SAID], previous_response_id="c"),
    ]

    calls = calls_of(write_lines(tmp_path / "log.jsonl", circle))

    assert sorted(call.call_id for call in calls) == ["a", "b", "c"]


def test_a_chain_whose_beginning_is_not_in_the_log_is_incomplete(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "log.jsonl", [responses("resp_9", "Thanks.", [SAID], previous_response_id="resp_8")]
    )

    assert [(call.session, call.incomplete) for call in calls_of(path)] == [("resp_8", True)]


def test_logs_with_request_and_response_in_two_lines_are_paired() -> None:
    name, calls, skipped = read_file(DATA / "request-log" / "two_lines_a_call.jsonl")

    assert (name, skipped) == ("request-log", ["a request without a response"])
    assert [(call.model, call.usage and call.usage.input) for call in calls] == [
        ("gpt-3.5-turbo-0613", 410),
        ("gpt-3.5-turbo-0613", 660),
        ("gpt-3.5-turbo-0613", 1853),
    ]
    assert grows(calls[:2])
    assert calls[0].started_ns == 1762141039_606104_000
