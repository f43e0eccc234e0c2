"""What real providers sent is read as what it is; the figures are those in the recordings."""

from __future__ import annotations

import pytest

from ctxheap.heap.model import Usage
from providers.exchanges import DATA, recorded, seen

NAMES = sorted(path.stem for path in DATA.glob("*.json"))


def test_a_stream_of_thinking_becomes_one_answer() -> None:
    (call,) = recorded("anthropic_thinking_stream")

    reading = call.read()

    assert [(part.tag, len(part.text)) for part in reading.exchange.output] == [
        ("agent_reasoning", 422),
        ("agent_output", 56),
    ]
    assert reading.exchange.usage == Usage(uncached=52, output=216)
    assert reading.exchange.call_id == "msg_01SZKz6DEhWnfZcxPQDQz49Y"
    assert reading.finish_reasons == ("end_turn",)


def test_a_stream_of_responses_becomes_one_answer() -> None:
    (call,) = recorded("responses_stream")

    reading = call.read()

    assert seen(reading.exchange.output) == [("agent_output", "Four plus five equals **nine**.")]
    assert reading.exchange.usage == Usage(uncached=13, output=9, service_tier="default")
    assert reading.chain.response == reading.exchange.call_id
    assert reading.finish_reasons == ("completed",)


def test_a_stream_cut_before_its_last_event_keeps_its_text_and_has_no_usage() -> None:
    (call,) = recorded("responses_stream")

    reading = call.read(cut=call.response.index(b"event: response.output_item.done"))

    assert seen(reading.exchange.output) == [("agent_output", "Four plus five equals **nine**.")]
    assert reading.exchange.usage is None
    assert reading.exchange.model == "gpt-4.1-2025-04-14"


def test_reasoning_of_openrouter_is_streamed_beside_the_text() -> None:
    (call,) = recorded("openrouter_stream")

    reading = call.read()

    assert [(part.tag, len(part.text)) for part in reading.exchange.output] == [
        ("agent_reasoning", 1425),
        ("agent_output", 446),
    ]
    assert reading.exchange.usage == Usage(uncached=13, output=1003)
    assert reading.exchange.provider == "openrouter"


def test_mistral_reports_usage_in_the_last_chunk_with_a_choice() -> None:
    (call,) = recorded("mistral_stream")

    reading = call.read()

    assert [(part.tag, len(part.text)) for part in reading.exchange.output] == [("agent_output", 172)]
    assert reading.exchange.usage == Usage(uncached=11, output=43)
    assert reading.exchange.provider == "mistral_ai"


def test_ollama_streams_a_line_an_object() -> None:
    (call,) = recorded("ollama_stream")

    reading = call.read()

    assert [(part.tag, len(part.text)) for part in reading.exchange.output] == [("agent_output", 212)]
    assert reading.exchange.usage == Usage(uncached=17, output=50)
    assert reading.finish_reasons == ("stop",)


def test_a_result_of_ollama_finds_its_call_without_id_and_name() -> None:
    (call,) = recorded("ollama_tools")

    asked, answer = call.read().exchange.prompt

    assert (asked.kind, answer.kind) == ("tool_call", "tool_result")
    assert answer.tool == "get_current_weather"
    assert answer.call_id == asked.call_id != ""


def test_gemini_calls_come_back_as_what_the_model_said_though_the_client_gave_them_ids() -> None:
    first, second, third = recorded("gemini_stream")

    one, two, three = first.read(), second.read(), third.read()

    assert [part.identity for part in two.exchange.prompt[-2:-1]] == [one.exchange.output[0].identity]
    assert [part.identity for part in three.exchange.prompt[-2:-1]] == [two.exchange.output[0].identity]
    assert [(part.tag, part.text) for part in three.exchange.prompt[-4:]] == [
        ("tool_call:get_capital", '{"country":"France"}'),
        ("tool_result:get_capital", "Paris"),
        ("tool_call:get_temperature", '{"city":"Paris"}'),
        ("tool_result:get_temperature", "30°C"),
    ]
    assert [call.exchange.usage for call in (one, two, three)] == [
        Usage(uncached=52, output=5),
        Usage(uncached=64, output=5),
        Usage(uncached=79, output=12),
    ]


def test_gemini_bills_thoughts_beside_the_answer() -> None:
    reading = recorded("gemini_tools")[0].read()

    assert reading.exchange.usage == Usage(uncached=57, output=15 + 124, reasoning=124)
    assert reading.exchange.model == "gemini-2.5-pro"
    assert reading.parameters["temperature"] == 0.0


def test_bedrock_reports_what_the_cache_wrote_and_read_beside_the_input() -> None:
    first, second = recorded("bedrock_cache")

    usages = [call.read().exchange.usage for call in (first, second)]

    assert usages == [
        Usage(uncached=2, cache_write_5m=1322, output=5),
        Usage(uncached=2, cache_read=1322, output=5),
    ]


def test_bedrock_calls_and_results_are_named() -> None:
    _, second = recorded("bedrock_tools")

    reading = second.read()

    assert [part.tag for part in reading.exchange.prompt] == [
        "tool_definition:get_capital",
        "system_prompt",
        "user_turn",
        "agent_output",
        "tool_call:get_capital",
        "tool_result:get_capital",
    ]
    assert reading.exchange.usage == Usage(uncached=531, output=76)
    assert reading.exchange.model == "us.amazon.nova-micro-v1:0"
    assert reading.parameters["temperature"] == 0.0


def test_reasoning_that_is_sent_back_has_the_size_that_was_billed() -> None:
    first, second = recorded("deepseek_responses_tools")

    one = first.read()
    two = second.read(known=one.prefix)

    assert [part.tokens for part in two.exchange.prompt if part.kind == "reasoning"] == [18]
    assert two.exchange.usage == Usage(uncached=60, cache_read=384, output=14, service_tier="default")


@pytest.mark.parametrize("name", NAMES)
def test_going_on_from_the_call_before_reads_the_same_as_starting_anew(name: str) -> None:
    known = None
    for call in recorded(name):
        anew, going_on = call.read(), call.read(known=known)

        assert [part.identity for part in going_on.exchange.prompt] == [
            part.identity for part in anew.exchange.prompt
        ]
        assert going_on.exchange.usage == anew.exchange.usage
        known = going_on.prefix


@pytest.mark.parametrize("name", NAMES)
def test_a_response_cut_anywhere_keeps_what_came(name: str) -> None:
    for call in recorded(name):
        whole = call.read().exchange
        for cut in range(0, len(call.response), max(1, len(call.response) // 40)):
            reading = call.read(cut=cut)

            assert reading.exchange.prompt == whole.prompt
            assert reading.exchange.usage in (None, whole.usage)
            assert len(reading.exchange.output) <= len(whole.output)
