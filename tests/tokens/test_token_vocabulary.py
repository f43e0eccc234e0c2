from __future__ import annotations

import base64
import hashlib
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

import pytest

from ctxheap.tokens import vocabulary
from ctxheap.tokens.vocabulary import VOCABULARIES, EncodingName, RanksDamagedError, read_ranks, unpack_ranks

ENCODINGS: tuple[EncodingName, ...] = ("o200k_base", "cl100k_base")


class Published(TypedDict):
    pat_str: str
    special_tokens: dict[str, int]


def published(name: str, monkeypatch: pytest.MonkeyPatch) -> Published:
    """Return tiktoken's own definition of an encoding, its download replaced by nothing."""

    def no_ranks(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        return {}

    openai_public = importlib.import_module("tiktoken_ext.openai_public")
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", no_ranks)
    constructor: Callable[[], Published] = getattr(openai_public, name)
    return constructor()


@pytest.mark.parametrize("name", ENCODINGS)
def test_shipped_ranks_rebuild_the_published_file_byte_for_byte(name: EncodingName) -> None:
    ranks = read_ranks(name)

    rebuilt = b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())

    assert hashlib.sha256(rebuilt).hexdigest() == VOCABULARIES[name].sha256


@pytest.mark.parametrize("name", ENCODINGS)
def test_pattern_and_special_tokens_are_those_of_tiktoken(
    name: EncodingName, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = published(name, monkeypatch)

    assert VOCABULARIES[name].pattern == expected["pat_str"]
    assert VOCABULARIES[name].special_tokens == expected["special_tokens"]


def test_a_changed_rank_file_is_refused_by_name() -> None:
    with pytest.raises(RanksDamagedError, match=r"ranks\.zlib: sha256 is .* expected 00; reinstall ctxheap"):
        unpack_ranks(b"not the ranks", expected_sha256="00", source="ranks.zlib")


def test_a_missing_rank_file_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(vocabulary, "RANKS", tmp_path)

    with pytest.raises(RanksDamagedError, match=r"o200k_base\.zlib: cannot be read"):
        read_ranks("o200k_base")
