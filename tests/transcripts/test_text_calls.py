from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxheap_collector.transcripts.text_calls import bash_call, command_call, function_calls, spoken_parts


def shape(text: str, ids: list[str]) -> list[tuple[str, str, str]]:
    parts = spoken_parts(text, function_calls(text), ids=ids, where="3")
    return [(part.tag, part.text, part.call_id) for part in parts]


def test_the_only_bash_block_is_the_call() -> None:
    text = "THOUGHT: look.\n\n```bash\ncat a.py\n```\nThen we see."

    call = bash_call(text)

    assert call is not None
    parts = spoken_parts(text, [call], ids=["bash:2"], where="2")
    assert [(part.tag, part.text, part.call_id) for part in parts] == [
        ("agent_output", "THOUGHT: look.\n\n", ""),
        ("tool_call:bash", '{"command":"cat a.py"}', "bash:2"),
        ("agent_output", "\nThen we see.", ""),
    ]


def test_a_text_with_two_bash_blocks_or_none_is_no_call() -> None:
    assert bash_call("```bash\nls\n```\n```bash\npwd\n```") is None
    assert bash_call("I am done.") is None


def test_function_markup_is_cut_into_calls_with_their_parameters() -> None:
    text = (
        "Let me look.\n<function=str_replace_editor>\n<parameter=command>view</parameter>\n"
        "<parameter=path>\n/a.py\n</parameter>\n</function>"
    )

    assert shape(text, ["c1"]) == [
        ("agent_output", "Let me look.\n", ""),
        ("tool_call:str_replace_editor", '{"command":"view","path":"/a.py"}', "c1"),
    ]


def test_a_function_cut_short_by_a_stop_word_is_still_a_call() -> None:
    assert [(call.tool, call.arguments) for call in function_calls("<function=finish>")] == [("finish", {})]


def test_a_command_is_cut_out_with_its_fence_and_named_by_its_first_word() -> None:
    text = "Let me open it.\n```\nopen a.py 10\n```"

    call = command_call(text, "open a.py 10\n")

    assert call is not None
    assert (call.tool, call.arguments, text[: call.start], text[call.end :]) == (
        "open",
        {"command": "open a.py 10"},
        "Let me open it.\n",
        "",
    )


def test_a_command_that_the_text_does_not_hold_is_none() -> None:
    assert command_call("I give up.", "submit") is None
    assert command_call("anything", " ") is None


@given(st.text(), st.text())
def test_any_command_in_any_text_can_be_cut(text: str, action: str) -> None:
    call = command_call(text + action, action)

    assert call is None or 0 <= call.start <= call.end <= len(text + action)
