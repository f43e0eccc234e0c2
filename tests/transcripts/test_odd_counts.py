"""Check that every reader names the token counts that cannot be right, and where they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxheap.providers.json_fields import odd_counts
from transcripts.claude_lines import answer, chain, text, user
from transcripts.written import read_file, write_json, write_lines

Json = dict[str, object]
BAD: Json = {"prompt_tokens": -5, "input_tokens": -5, "output_tokens": 3, "completion_tokens": 3}
ASK: Json = {"role": "user", "content": "Hi?"}
SAID: Json = {"role": "assistant", "content": "Yes."}
RESPONSE: Json = {"id": "r1", "model": "m", "choices": [{"message": SAID}], "usage": BAD}
EVENTS: list[Json] = [
    {"id": 0, "action": "message", "source": "user", "args": {"content": "Hi?"}},
    {"id": 1, "action": "run", "source": "agent", "tool_call_metadata": {"model_response": RESPONSE}},
]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-5, "-5"),
        (10**30, "1000000000000000000000000000000"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (True, "True"),
        ("many", "'many'"),
    ],
)
@pytest.mark.parametrize(
    "key", ["input_tokens", "cache_read_input_tokens", "prompt_eval_count", "total_tokens"]
)
def test_counts_that_cannot_be_right_are_named(key: str, value: object, shown: str) -> None:
    usage = {"details": {key: value}, "iterations": [{key: 1}, {key: value}], key: value}

    assert list(odd_counts(usage, "usage")) == [
        f"usage.details.{key} is {shown}: not counted",
        f"usage.iterations[1].{key} is {shown}: not counted",
        f"usage.{key} is {shown}: not counted",
    ]


@pytest.mark.parametrize("value", [0, 7, 7.0, "7", None, 10**12])
def test_counts_that_can_be_right_are_not_named(value: object) -> None:
    assert list(odd_counts({"input_tokens": value, "service_tier": "x", "speed": -1}, "usage")) == []


@pytest.mark.parametrize(
    ("name", "document", "place"),
    [
        ("openai-messages", {"messages": [ASK, {**SAID, "usage": BAD}]}, "turn 2: usage"),
        ("openhands-events", EVENTS, "turn 2: usage"),
        (
            "mini-swe-agent",
            {
                "info": {},
                "trajectory_format": "mini-swe-agent-1",
                "messages": [ASK, {**SAID, "extra": {"response": RESPONSE}}],
            },
            "turn 2: usage",
        ),
        (
            "tau2-bench",
            {
                "info": {},
                "tasks": [],
                "simulations": [{"id": "s", "messages": [ASK, {**SAID, "usage": BAD}]}],
            },
            "turn 2: usage",
        ),
        (
            "openhands",
            {"messages": [ASK], "kwargs": {}, "timestamp": 1, "response": RESPONSE},
            "a.json: usage",
        ),
        ("request-log", {"model": "m", "messages": [ASK], "response": RESPONSE}, "usage"),
    ],
)
def test_every_reader_names_them(tmp_path: Path, name: str, document: object, place: str) -> None:
    found, calls, skipped = read_file(write_json(tmp_path / "a.json", document))

    assert (found, len(calls)) == (name, 1)
    assert skipped == [f"{place}.{key} is -5: not counted" for key in ("prompt_tokens", "input_tokens")]


def test_claude_code_names_them_once_a_response(tmp_path: Path) -> None:
    lines = chain(
        user("u1", None, "Hi?"),
        answer("a1", None, "m1", text("Yes."), usage=BAD),
        answer("a2", None, "m1", text("No."), usage=BAD),
    )

    _, _, skipped = read_file(write_lines(tmp_path / "a.jsonl", lines))

    assert skipped == [f"usage.{key} is -5: not counted" for key in ("prompt_tokens", "input_tokens")]


@pytest.mark.parametrize("content", [[["hi"]], [], ""])
def test_an_answer_that_nothing_was_asked_for_is_named_as_that(tmp_path: Path, content: object) -> None:
    messages = [{"role": "user", "content": content}, SAID]

    _, calls, skipped = read_file(write_json(tmp_path / "a.json", {"messages": messages}))

    assert (calls, skipped) == ([], ["a: no prompt before the answer of a model, so no call"])
