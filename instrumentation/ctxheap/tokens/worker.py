"""Count in a process of its own: read requests from standard input, write the counts.

    request   strings u32 │ bytes of each u64 … │ the strings in UTF-8: model, provider, text, text …
    answer    tokens of each text u64 …

Each request is read whole before it is answered, and answered before the next is read, so neither
side can block the other for good. Both run on one machine: numbers are in its own byte order.
The end of input, which is also what a parent's death looks like, ends the process.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import BinaryIO, cast

from ctxheap.tokens.counter import counter_for
from ctxheap.tokens.engines import EngineName, engine

Count = Callable[[str, str, Sequence[str]], list[int]]

_HEAD = struct.Struct("=I")
_NUMBER = "Q"
_NUMBER_BYTES = array(_NUMBER).itemsize


def main() -> None:
    """Serve standard input with the engine that the first argument names, built before it is needed."""
    name = cast("EngineName", sys.argv[1])
    engine("o200k_base", name)

    def count(model: str, provider: str, texts: Sequence[str]) -> list[int]:
        return replace(counter_for(model, provider), engine_name=name).count(texts)

    serve(sys.stdin.buffer, sys.stdout.buffer, count)


def serve(requests: BinaryIO, answers: BinaryIO, count: Count) -> None:
    """Answer every request up to the end of input; `count` takes model, provider and texts."""
    while head := requests.read(_HEAD.size):
        (strings,) = _HEAD.unpack(head)
        sizes = _read_numbers(requests, strings)
        model, provider, *texts = [_text(_exactly(requests, size)) for size in sizes]
        answers.write(array(_NUMBER, count(model, provider, texts)).tobytes())
        answers.flush()


def ask(
    requests: BinaryIO, answers: BinaryIO, *, model: str, provider: str, texts: Sequence[str]
) -> list[int]:
    """Send one request and return the tokens of each text.

    Raises:
        OSError: The other side is gone.
    """
    # Lone surrogates pass: the other side has to see the text as it is here to count it the same.
    data = [text.encode("utf-8", "surrogatepass") for text in (model, provider, *texts)]
    sizes = array(_NUMBER, map(len, data)).tobytes()
    requests.write(b"".join((_HEAD.pack(len(data)), sizes, *data)))
    requests.flush()
    return list(_read_numbers(answers, len(texts)))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _read_numbers(stream: BinaryIO, count: int) -> array[int]:
    numbers = array(_NUMBER)
    numbers.frombytes(_exactly(stream, count * _NUMBER_BYTES))
    return numbers


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise ConnectionResetError("the stream ended inside a message")
    return data


if __name__ == "__main__":
    main()
