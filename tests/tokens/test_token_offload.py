"""Check that counting in another process changes no count and leaves nothing behind, whatever happens."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxheap.tokens import EngineName, counter_for
from ctxheap.tokens import offload as offload_module
from ctxheap.tokens.offload import Offload, start, worker_command

MODELS = ("gpt-4o", "gpt-4", "claude-sonnet-4-5", "deepseek-chat", "house-model")
TEXTS = [
    "",
    "hello world",
    '{"a": [1, 2]}',
    "def f(x):\n    return x",
    "中文字符",
    "\x00",
    "a\ud83d\ude00b\ud800",
]
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
# Answers one request as if each text had one token, then ends inside the next answer.
DIES = """
import io, sys
from ctxheap.tokens.worker import serve
class Ends(io.BytesIO):
    answers = 0
    def write(self, data):
        self.answers += 1
        sys.stdout.buffer.write(data if self.answers == 1 else data[:3])
        sys.stdout.buffer.flush()
        if self.answers == 2:
            raise SystemExit
serve(sys.stdin.buffer, Ends(), lambda model, provider, texts: [1] * len(texts))
"""


def here(model: str, texts: Sequence[str]) -> list[int]:
    return counter_for(model).count(texts)


SIGNALS = pytest.mark.skipif(sys.platform == "win32", reason="asks for a process by signal 0")


def is_running(pid: int | None) -> bool:
    try:
        os.kill(pid or 0, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("name", ["tiktoken", "toktok"])
def test_the_other_process_counts_as_this_one_does(name: EngineName) -> None:
    with Offload(worker_command(name)) as offload:
        answers = {model: offload.counter_for(model).submit(TEXTS) for model in MODELS}

        assert offload.pid is not None
        assert {model: answer() for model, answer in answers.items()} == {m: here(m, TEXTS) for m in MODELS}


@settings(deadline=None, max_examples=3)
@given(st.lists(st.lists(ANY_TEXT, max_size=8), max_size=30))
def test_any_texts_in_any_batches_are_counted_alike(batches: list[list[str]]) -> None:
    with Offload(worker_command("tiktoken")) as offload:
        counter = offload.counter_for("claude-opus-4-7", "anthropic")
        answers = [counter.submit(texts) for texts in batches]

        assert [answer() for answer in answers] == [here("claude-opus-4-7", texts) for texts in batches]


def test_megabytes_both_ways_block_neither_side() -> None:
    texts = [f"word {n} " * 400 for n in range(2_000)]
    expected = here("gpt-4o", texts)
    many = ["x"] * 100_000

    with Offload(worker_command("toktok")) as offload:
        counter = offload.counter_for("gpt-4o")
        answers = [counter.submit(texts) for _ in range(3)]
        last = counter.submit(many)

        assert [answer() for answer in answers] == [expected] * 3
        assert last() == [1] * len(many)


def test_a_process_killed_midway_changes_no_count() -> None:
    with Offload(worker_command("tiktoken")) as offload:
        counter = offload.counter_for("claude-sonnet-4-5")
        first = counter.count(TEXTS)
        before = counter.submit(TEXTS)
        os.kill(offload.pid or 0, 9)
        after = counter.submit(TEXTS)

        assert [first, before(), after()] == [here("claude-sonnet-4-5", TEXTS)] * 3


def test_half_an_answer_is_no_answer() -> None:
    with Offload([sys.executable, "-c", DIES]) as offload:
        counter = offload.counter_for("gpt-4o")
        found = [counter.count(["two words here"]) for _ in range(3)]

    assert found == [[1], [3], [3]]


@pytest.mark.parametrize(
    "command",
    [
        None,
        ["no-such-program-of-ours"],
        [sys.executable, "-c", ""],
        [sys.executable, "-c", "raise SystemExit(2)"],
    ],
    ids=["none", "missing", "ends", "fails"],
)
def test_without_a_working_process_all_is_counted_here(command: Sequence[str] | None) -> None:
    with Offload(command) as offload:
        assert offload.counter_for("gpt-4o").count(TEXTS) == here("gpt-4o", TEXTS)


def test_a_process_that_stands_still_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offload_module, "PATIENCE_SECONDS", 0.2)

    with Offload([sys.executable, "-c", "import time; time.sleep(600)"]) as offload:
        assert offload.counter_for("gpt-4o").count(TEXTS) == here("gpt-4o", TEXTS)
        assert offload.pid is None


@SIGNALS
def test_closing_leaves_no_process_and_no_thread_and_may_be_repeated() -> None:
    offload = Offload(worker_command("toktok"))
    pid = offload.pid
    unanswered = offload.counter_for("gpt-4o").submit(TEXTS)
    offload.close()
    offload.close()

    assert not is_running(pid)
    assert "ctxheap-offload" not in {thread.name for thread in threading.enumerate()}
    assert unanswered() == here("gpt-4o", TEXTS)
    assert offload.counter_for("gpt-4o").count(TEXTS) == here("gpt-4o", TEXTS)


@SIGNALS
def test_an_interrupt_leaves_nothing_running() -> None:
    offload = Offload(worker_command("tiktoken"))
    pid = offload.pid

    with pytest.raises(KeyboardInterrupt), offload:
        raise KeyboardInterrupt

    assert not is_running(pid)


def test_the_process_ends_when_nobody_writes_to_it_any_more() -> None:
    command = worker_command("tiktoken")
    assert command
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    out, _ = process.communicate(timeout=60)

    assert (process.returncode, out) == (0, b"")


def test_one_processor_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offload_module, "_processors", lambda: 1)

    with start(10_000_000) as offload:
        assert offload.pid is None
        assert offload.counter_for("gpt-4o").count(["hello world"]) == [2]


def test_counters_of_models_that_count_alike_are_equal() -> None:
    with Offload(None) as one, Offload(None) as other:
        assert one.counter_for("gpt-4o") == one.counter_for("gpt-4.1")
        assert one.counter_for("gpt-4o") != one.counter_for("gpt-4")
        assert one.counter_for("gpt-4o") != other.counter_for("gpt-4o")
        assert one.counter_for("gpt-4o").exact
