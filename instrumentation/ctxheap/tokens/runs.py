r"""Cut text at places where no token can span the cut, so that counts of the pieces add up exactly.

Two reasons to cut. tiktoken's regex engine gives up on a run of a million blanks (`encode` raises
ValueError, `encode_ordinary` panics past `except Exception`): its lookahead `\s+(?!\S)` stacks one
state per blank. And counting a large text in pieces keeps the token list of one piece in memory.

Why the cuts are exact, for both patterns:
  * letter | blank: no alternative of either pattern continues over a blank after a letter.
  * A run of blanks R (no newline in it) followed by something visible is matched by the lookahead
    as R without its last blank, whatever stands before: text or a newline both end a token there.
  * A run that ends in a newline is matched without lookahead and needs no cut. At the end of the
    text o200k uses the lookahead (all of R is one token piece), cl100k has `\s++$`, which does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ctxheap.tokens.vocabulary import EncodingName

LONG_RUN_BLANKS = 50_000
CHUNK_CHARS = 1 << 17

# White_Space as the Rust regex sees it, without \r and \n; Python's own \s also takes \x1c-\x1f.
_BLANK = "\t\x0b\x0c \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_LONG_RUN = re.compile(f"[{_BLANK}]{{{LONG_RUN_BLANKS},}}")
_WORD_END = re.compile("[A-Za-z](?= )")


def pieces(text: str, encoding: EncodingName) -> Iterator[tuple[str, bool]]:
    """Yield (piece, whole) in order; `whole` means: encode it as one regex match, do not split it.

    Token counts of the pieces add up to the count of the text.
    """
    if len(text) <= LONG_RUN_BLANKS:
        yield text, False
        return
    start = 0
    for run in _LONG_RUN.finditer(text):
        end = _end_of_match(text, run.end(), encoding)
        if end is None:
            continue
        yield from ((chunk, False) for chunk in chunks(text[start : run.start()]))
        yield text[run.start() : end], True
        start = end
    yield from ((chunk, False) for chunk in chunks(text[start:]))


def _end_of_match(text: str, run_end: int, encoding: EncodingName) -> int | None:
    """Return where the regex match over a long run ends, None where the engine copes by itself."""
    if run_end == len(text):
        return run_end if encoding == "o200k_base" else None
    return None if text[run_end] in "\r\n" else run_end - 1


def chunks(text: str) -> Iterator[str]:
    """Yield parts of about CHUNK_CHARS that end after a letter and before a blank."""
    start = 0
    while len(text) - start > CHUNK_CHARS:
        found = _WORD_END.search(text, start + CHUNK_CHARS)
        if found is None:
            break
        yield text[start : found.end()]
        start = found.end()
    if start < len(text):
        yield text[start:] if start else text
