"""Time our hook where it sits: an HTTP client that posts a body which is ready.

What an SDK does above is the same with and without, and takes a thousand times as long at 3 MB.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx2

from ctxheap.capture.flight import capture
from overhead_runs.agent import Context
from overhead_runs.variants import Variant


@dataclass
class Posts:
    """Hold seconds on the caller's thread: without the hook, with it, and with its worker busy; and CPU."""

    bare: list[float] = field(default_factory=list[float])
    resting: list[float] = field(default_factory=list[float])
    busy: list[float] = field(default_factory=list[float])
    bare_cpu: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])


def posts(url: str, ours: Variant, *, messages: int, repeats: int) -> Posts:
    """Measure one growing session; each repeat posts once without the hook and twice with it."""
    found = Posts()
    bodies = _bodies(messages)
    ours.on()
    try:
        with httpx2.Client(timeout=60) as client:
            _post(client, url, next(bodies))
            ours.settle()
            for _ in range(repeats):
                three = [next(bodies) for _ in range(3)]
                sink, capture.sink = capture.sink, None
                # The first after a pause is slow with and without; those compared follow another.
                _post(client, url, three[0])
                began = time.process_time()
                found.bare.append(_post(client, url, three[0]))
                found.bare_cpu.append(time.process_time() - began)
                capture.sink = sink
                began = time.process_time()
                found.resting.append(_post(client, url, three[1]))
                found.busy.append(_post(client, url, three[2]))
                ours.settle()
                found.cpu.append((time.process_time() - began) / 2)
    finally:
        ours.off()
    return found


def _post(client: httpx2.Client, url: str, body: bytes) -> float:
    began = time.perf_counter()
    client.post(f"{url}/v1/chat/completions", content=body)
    return time.perf_counter() - began


def _bodies(messages: int) -> Iterator[bytes]:
    """Yield the bodies of a session, each two messages longer."""
    context = Context(messages, 1)
    made = [json.dumps(message).encode() for message in context.messages]
    while True:
        yield b'{"model":"gpt-5-mini","messages":[' + b",".join(made) + b"]}"
        context.grow()
        made += [json.dumps(message).encode() for message in context.messages[-2:]]


def added_ms(bare: list[float], with_it: list[float]) -> tuple[float, float, float]:
    """Return the added median in milliseconds with its bootstrapped 90 % interval."""
    drawn = random.Random(4)
    found = sorted(
        statistics.median(drawn.choices(with_it, k=len(with_it)))
        - statistics.median(drawn.choices(bare, k=len(bare)))
        for _ in range(400)
    )
    middle = statistics.median(with_it) - statistics.median(bare)
    return middle * 1e3, found[20] * 1e3, found[379] * 1e3
