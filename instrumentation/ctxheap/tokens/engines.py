"""Count tokens exactly, with tiktoken or the optional toktok, behind one interface.

Engines are built once per process, on first use or by `preload`, and are safe to share between
threads. Nothing here reads the network, an environment variable or tiktoken's own cache.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Literal, Protocol, cast

from ctxheap.tokens.runs import pieces
from ctxheap.tokens.vocabulary import VOCABULARIES, EncodingName, read_ranks

EngineName = Literal["tiktoken", "toktok"]

TOKEN_ID_BYTES = 4


class Engine(Protocol):
    """Count the tokens of texts in one encoding."""

    @property
    def name(self) -> EngineName:
        """Return which tokenizer does the work."""
        ...

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text; what looks like a special token counts as plain text."""
        ...


class _Encoder(Protocol):
    """Name the calls we make into tiktoken's native encoder (any readable buffer, typed as bytes)."""

    def encode_to_tiktoken_buffer(self, text: str, allowed_special: set[str]) -> bytes: ...

    def encode_single_piece(self, piece: bytes) -> list[int]: ...


class _EncoderType(Protocol):
    def __call__(self, ranks: dict[bytes, int], special: dict[str, int], pattern: str) -> _Encoder: ...


class _Tiktoken(Protocol):
    CoreBPE: _EncoderType


class _Toktok(Protocol):
    def batch_count(self, texts: Sequence[str], encoding: str, threads: int) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class TiktokenEngine:
    """Count with tiktoken's native encoder.

    `tiktoken.Encoding` would keep a second copy of the ranks (25 MB) and hand back Python lists;
    the encoder under it is what `encode(text, disallowed_special=())` calls, and returns a buffer.
    """

    encoding: EncodingName
    encoder: _Encoder = field(repr=False)
    name: EngineName = "tiktoken"

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text; lone surrogates count as U+FFFD."""
        return [self._count(text) for text in texts]

    def _count(self, text: str) -> int:
        try:
            return sum(self._count_piece(piece, whole=whole) for piece, whole in pieces(text, self.encoding))
        except UnicodeEncodeError:
            return self._count(repair(text))

    def _count_piece(self, piece: str, *, whole: bool) -> int:
        if whole:
            return len(self.encoder.encode_single_piece(piece.encode()))
        return memoryview(self.encoder.encode_to_tiktoken_buffer(piece, set())).nbytes // TOKEN_ID_BYTES


@dataclass(frozen=True, slots=True)
class ToktokEngine:
    """Count with toktok: the same counts, ten to twenty times the speed of tiktoken."""

    encoding: EncodingName
    module: _Toktok = field(repr=False)
    name: EngineName = "toktok"

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text; lone surrogates count as U+FFFD."""
        try:
            return self.module.batch_count(texts, self.encoding, 1)
        except UnicodeEncodeError:
            return self.module.batch_count([repair(text) for text in texts], self.encoding, 1)


def repair(text: str) -> str:
    """Return the text as valid Unicode: surrogate pairs joined, lone surrogates as U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_lock = threading.Lock()
_engines: dict[tuple[EncodingName, EngineName], Engine] = {}


def engine(encoding: EncodingName, name: EngineName | None = None) -> Engine:
    """Return the process's engine of an encoding, building it on first use.

    Building takes 0.2–0.5 s and about 60 MB. Without a name it is toktok where that is installed,
    else tiktoken; the counts are equal.

    Raises:
        ModuleNotFoundError: toktok was asked for by name and is not installed.
        RanksDamagedError: A shipped rank file is missing or changed.
    """
    key = (encoding, name or preferred_engine())
    with _lock:
        if key not in _engines:
            _engines[key] = _build_toktok(encoding) if key[1] == "toktok" else _build_tiktoken(encoding)
        return _engines[key]


@cache
def preferred_engine() -> EngineName:
    """Return the fastest engine that is installed, looked for once per process."""
    return "toktok" if find_spec("toktok") else "tiktoken"


def preload(encoding: EncodingName = "o200k_base", name: EngineName | None = None) -> threading.Thread:
    """Start building an engine on a daemon thread and return the thread; the first user waits for it.

    A failure is not reported here: the first user meets it again.
    """
    thread = threading.Thread(target=_try_engine, args=(encoding, name), name="ctxheap-tokens", daemon=True)
    thread.start()
    return thread


def _try_engine(encoding: EncodingName, name: EngineName | None) -> None:
    try:
        engine(encoding, name)
    except Exception:  # noqa: BLE001 - whoever counts first builds again and gets the error
        return


def _build_tiktoken(encoding: EncodingName) -> Engine:
    # Imported here: it costs 30 ms, and a process that only counts with toktok never needs it.
    native = cast("_Tiktoken", importlib.import_module("tiktoken._tiktoken"))
    vocabulary = VOCABULARIES[encoding]
    encoder = native.CoreBPE(read_ranks(encoding), vocabulary.special_tokens, vocabulary.pattern)
    return TiktokenEngine(encoding, encoder)


def _build_toktok(encoding: EncodingName) -> Engine:
    try:
        module = cast("_Toktok", importlib.import_module("toktok"))
    except ModuleNotFoundError as error:
        message = "toktok is not installed; install ctxheap[fast] or count with tiktoken"
        raise ModuleNotFoundError(message, name="toktok") from error
    module.batch_count([""], encoding, 1)  # builds toktok's tables now, not in the first count
    return ToktokEngine(encoding, module)
