"""Answer every POST with one canned chat completion, from a process of its own.

python server.py DELAY_SECONDS     prints its port, serves until its standard input ends
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_BODY = json.dumps(
    {
        "id": "chatcmpl-canned",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "gpt-5-mini",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "The totals are in report_17.csv, line 204."},
            }
        ],
        "usage": {"prompt_tokens": 500_000, "completion_tokens": 14, "total_tokens": 500_014},
    }
).encode()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
    number = 0
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            await asyncio.sleep(delay)
            number += 1
            body = _BODY.replace(b"canned", b"%08x%06x" % (id(writer) & 0xFFFFFFFF, number))
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
                % (len(body), body)
            )
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
        writer.close()


async def _serve(delay: float) -> None:
    server = await asyncio.start_server(
        lambda reader, writer: _answer(reader, writer, delay), "127.0.0.1", 0, limit=1 << 24
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


@contextmanager
def serving(delay: float = 0.0) -> Iterator[str]:
    """Run the server in a process of its own; yields its URL."""
    command = [sys.executable, str(Path(__file__)), str(delay)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("no pipes")
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.stdin.close()
        process.wait(5)


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
