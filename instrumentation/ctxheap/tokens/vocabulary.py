"""Read the packed merge ranks that ship with the package, and say how each encoding splits text.

    <name>.zlib   zlib( 256 single bytes in rank order | the longer tokens in rank order, 0xFF between )

0xFF cannot occur in UTF-8, so no longer token holds it. The packing is a quarter smaller than the
published base64 lines and parses five times faster.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

EncodingName = Literal["o200k_base", "cl100k_base"]

SINGLE_BYTES = 256
RANKS = Path(__file__).parent / "ranks"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Describe an encoding: everything a byte-pair encoder needs beside the ranks themselves.

    `packed_sha256` is of the shipped file, `sha256` of the published rank file that it stands for.
    """

    name: EncodingName
    packed_sha256: str
    sha256: str
    pattern: str
    special_tokens: dict[str, int]


class RanksDamagedError(RuntimeError):
    """Tell that a shipped rank file is missing or is not the one that was built in."""


_O200K_WORD_END = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_O200K_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_O200K_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"

VOCABULARIES: dict[EncodingName, Vocabulary] = {
    "o200k_base": Vocabulary(
        name="o200k_base",
        packed_sha256="44e76322c99dfb3f8e0616c58d7e1875a323b0d8c0ba19d6c1e02794d17f6464",
        sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        pattern="|".join(
            (
                rf"[^\r\n\p{{L}}\p{{N}}]?{_O200K_UPPER}*{_O200K_LOWER}+{_O200K_WORD_END}",
                rf"[^\r\n\p{{L}}\p{{N}}]?{_O200K_UPPER}+{_O200K_LOWER}*{_O200K_WORD_END}",
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            )
        ),
        special_tokens={"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    ),
    "cl100k_base": Vocabulary(
        name="cl100k_base",
        packed_sha256="3d8e9b04ceb8c6ab0cb68717d201b15fc87478b50b65ba5165d4c717d4a0dfa8",
        sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        pattern="|".join(
            (
                r"'(?i:[sdmt]|ll|ve|re)",
                r"[^\r\n\p{L}\p{N}]?+\p{L}++",
                r"\p{N}{1,3}+",
                r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
                r"\s++$",
                r"\s*[\r\n]",
                r"\s+(?!\S)",
                r"\s",
            )
        ),
        special_tokens={
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
}


def read_ranks(name: EncodingName) -> dict[bytes, int]:
    """Return the merge ranks of an encoding, after checking the file's sha256 (about 1 ms).

    Raises:
        RanksDamagedError: The file is missing or its content has changed.
    """
    path = RANKS / f"{name}.zlib"
    try:
        packed = path.read_bytes()
    except OSError as error:
        raise RanksDamagedError(f"{path}: cannot be read ({error})") from error
    return unpack_ranks(packed, expected_sha256=VOCABULARIES[name].packed_sha256, source=str(path))


def unpack_ranks(packed: bytes, *, expected_sha256: str, source: str) -> dict[bytes, int]:
    """Return the ranks held in a packed file's bytes; `source` names it in the error."""
    found = hashlib.sha256(packed).hexdigest()
    if found != expected_sha256:
        raise RanksDamagedError(f"{source}: sha256 is {found}, expected {expected_sha256}; reinstall ctxheap")
    data = zlib.decompress(packed)
    tokens = [data[i : i + 1] for i in range(SINGLE_BYTES)]
    tokens += data[SINGLE_BYTES:].split(b"\xff")
    return dict(zip(tokens, range(len(tokens)), strict=True))
