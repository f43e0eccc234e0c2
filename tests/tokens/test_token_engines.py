from __future__ import annotations

import base64
import random
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxheap.tokens import Engine, EngineName, engine, preferred_engine, preload
from ctxheap.tokens import engines as engines_module
from ctxheap.tokens.engines import repair
from ctxheap.tokens.runs import CHUNK_CHARS, LONG_RUN_BLANKS, chunks, pieces
from ctxheap.tokens.vocabulary import EncodingName

ENCODINGS: tuple[EncodingName, ...] = ("o200k_base", "cl100k_base")
ENGINES: tuple[EngineName, ...] = ("tiktoken", "toktok")
SHARED = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
BOTH = pytest.mark.parametrize(("encoding", "name"), list(product(ENCODINGS, ENGINES)))
MILLION = 1_000_000
DATA = Path(__file__).resolve().parents[1] / "data" / "tokens" / "samples.txt"

WORDS = [
    *("the", "context", "naïve", "Größe", "Ελλάδα", "Привет", "שלום", "مرحبا", "हिन्दी", "ไทย"),
    *("日本語", "한국어", "中文", "👨‍👩‍👧", "e\u0301", "İstanbul", "ǅ", "ʰ", "½", "٣٤٥", "ß", "ﬁ"),
    *("12345", "0x1F", "it's", "WE'LL", "don’t", "_x", "self.", "==", "//", "/", "</div>"),
    *("\n", "\r\n", "\n\n  ", "\t", "    ", " ", "  \n", "\u00a0", "\u3000", "\x1c", "\x0b", "\x00"),
    *("<|endoftext|>", '{"a": [1, 2]}', "def f(x):\n    return x", "https://a.b/c?d=e"),
    *("\ufffd", "\U0001f9e0", "x\u200by"),
]


@cache
def generated_texts(count: int, seed: int) -> Sequence[str]:
    chooser = random.Random(seed)
    glue = ("", "", " ", " ", "\n")
    return [
        "".join(chooser.choice(WORDS) + chooser.choice(glue) for _ in range(chooser.randint(1, 60)))
        for _ in range(count)
    ]


def counts(encoding: EncodingName, name: EngineName, texts: Sequence[str]) -> list[int]:
    return engine(encoding, name).count(texts)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_engines_agree_on_four_thousand_generated_texts(encoding: EncodingName) -> None:
    texts = generated_texts(4000, 20261201)

    assert counts(encoding, "toktok", texts) == counts(encoding, "tiktoken", texts)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_engines_agree_on_every_basic_plane_character(encoding: EncodingName) -> None:
    texts = [f"a{chr(code)} {chr(code)}1{chr(code)}\n" for code in range(0x10000)]

    assert counts(encoding, "toktok", texts) == counts(encoding, "tiktoken", texts)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_engines_agree_on_lines_of_code_prose_and_json(encoding: EncodingName) -> None:
    text = DATA.read_text("utf-8")
    texts = [text, *text.split("\n\n"), *text.splitlines(keepends=True)]

    assert counts(encoding, "toktok", texts) == counts(encoding, "tiktoken", texts)


@pytest.mark.shared
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_engines_agree_on_lines_of_recorded_sessions(encoding: EncodingName) -> None:
    folder = SHARED / "mini-swe-agent"
    if not folder.is_dir():
        pytest.skip("the shared corpus is not here")
    lines = [line for path in sorted(folder.rglob("*.json")) for line in path.read_text("utf-8").splitlines()]
    texts = lines[::40]

    assert len(texts) > 1000
    assert counts(encoding, "toktok", texts) == counts(encoding, "tiktoken", texts)


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(codec=None, exclude_categories=())), max_size=5))
def test_engines_agree_on_any_text_lone_surrogates_included(texts: list[str]) -> None:
    assert counts("o200k_base", "toktok", texts) == counts("o200k_base", "tiktoken", texts)


@BOTH
@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        (" " * MILLION, 7813, 7813),
        (" " * MILLION + "x", 7814, 7814),
        ("\n" + " " * MILLION + "x", 7815, 7815),
        ("x\n" + " " * MILLION, 7815, 7815),
        ("a" * MILLION, 125_000, 125_000),
        ("\n" * MILLION, 62_500, 31_250),
        (" \n" * (MILLION // 2), 250_000, 250_000),
        ("\t" * MILLION, 62_500, 62_500),
    ],
    ids=[
        "blanks",
        "blanks-word",
        "newline-blanks-word",
        "newline-blanks",
        "letters",
        "newlines",
        "mixed",
        "tabs",
    ],
)
def test_runs_of_a_million_are_counted_exactly(
    encoding: EncodingName, name: EngineName, text: str, o200k: int, cl100k: int
) -> None:
    assert counts(encoding, name, [text]) == [o200k if encoding == "o200k_base" else cl100k]


@BOTH
def test_five_megabytes_of_base64_take_seconds_not_minutes(encoding: EncodingName, name: EngineName) -> None:
    text = base64.b64encode(random.Random(1).randbytes(3_750_000)).decode()
    built = engine(encoding, name)
    start = time.process_time()

    found = built.count([text])

    assert found == [3_412_718 if encoding == "o200k_base" else 3_584_758]
    assert time.process_time() - start < 20


@BOTH
@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("<|endoftext|>", 7), ("\x00", 1), ("a\ud83d\ude00b", None), ("\ud800", None)],
)
def test_awkward_texts_count_as_the_plain_text_they_stand_for(
    encoding: EncodingName, name: EngineName, text: str, expected: int | None
) -> None:
    found = counts(encoding, name, [text])

    assert found == ([expected] if expected is not None else counts(encoding, name, [repair(text)]))


def test_surrogate_pairs_are_joined_and_lone_ones_replaced() -> None:
    assert repair("a\ud83d\ude00b\ud800c\udc00") == "a😀b\ufffdc\ufffd"


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("tail", ["", "x", "-", "\n", "\nx", "\r\n", "1", "\u3000y"])
@pytest.mark.parametrize("head", ["", "x", "x ", "-", "-\n", "\n", "\r\n\n", "1"])
def test_cutting_long_runs_changes_no_count(encoding: EncodingName, head: str, tail: str) -> None:
    text = head + " " * (LONG_RUN_BLANKS + 10) + tail

    assert counts(encoding, "tiktoken", [text]) == counts(encoding, "toktok", [text])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from([*WORDS, " " * LONG_RUN_BLANKS, "word " * 40_000]), max_size=6))
def test_pieces_lose_and_repeat_nothing(parts: list[str]) -> None:
    text = "".join(parts)

    assert "".join(piece for piece, _ in pieces(text, "o200k_base")) == text
    assert "".join(piece for piece, _ in pieces(text, "cl100k_base")) == text


def test_large_texts_are_counted_in_chunks_with_the_same_sum() -> None:
    text = "\n".join(generated_texts(4000, 7)) + " plain words" * 20_000
    parts = list(chunks(text))

    assert max(map(len, parts)) < 2 * CHUNK_CHARS
    assert counts("o200k_base", "tiktoken", [text]) == counts("o200k_base", "toktok", [text])


def test_the_first_user_waits_for_a_preload_and_gets_the_same_engine() -> None:
    thread = preload("cl100k_base")
    first: Engine = engine("cl100k_base")
    thread.join()

    assert thread.daemon
    assert engine("cl100k_base") is first


def test_without_toktok_tiktoken_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_found(name: str) -> None:
        return None

    monkeypatch.setattr(engines_module, "find_spec", nothing_found)

    assert preferred_engine.__wrapped__() == "tiktoken"
    assert engine("cl100k_base", "tiktoken").name == "tiktoken"


def test_asking_for_a_missing_toktok_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "toktok", None)
    monkeypatch.setattr(engines_module, "_engines", {})

    with pytest.raises(ModuleNotFoundError, match=r"install ctxheap\[fast\]"):
        engine("cl100k_base", "toktok")


def test_counting_needs_no_network_no_cache_and_no_environment() -> None:
    code = """
        import socket, sys
        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("network")
        socket.socket.connect = refuse
        from ctxheap.tokens import engine
        print(engine("o200k_base", "tiktoken").count(["hello world"]), "requests" in sys.modules)
    """

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env={}, capture_output=True, text=True, check=True
    )

    assert done.stdout == "[2] False\n"
