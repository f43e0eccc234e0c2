"""Time calls of the openai SDK with and without each instrumentation, in turns, and what is left to do."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from dataclasses import dataclass, field

import httpx2
import openai

from overhead_runs.agent import Context
from overhead_runs.variants import Variant

MODEL = "gpt-5-mini"
CALLS = 4
"""In a block, without a pause: from the second on, the worker is busy with the one before."""


@dataclass
class Samples:
    """Hold what was measured of one variant: seconds on the caller's thread by call, CPU by block."""

    wall: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])
    span_bytes: list[int] = field(default_factory=list[int])


def measure(url: str, known: dict[str, Variant], *, messages: int, rounds: int) -> dict[str, Samples]:
    """Return samples by variant; blocks of the variants take turns, so that drift hits all alike."""
    found: dict[str, Samples] = defaultdict(Samples)
    names = list(known)
    with openai.OpenAI(api_key="none", base_url=f"{url}/v1", http_client=httpx2.Client(timeout=60)) as client:
        for number in range(rounds + 1):
            random.Random(number).shuffle(names)
            for name in names:
                samples = found[name] if number else Samples()  # the first round warms up
                _block(client, known[name], samples, Context(messages, number))
    return dict(found)


def _block(client: openai.OpenAI, variant: Variant, samples: Samples, context: Context) -> None:
    variant.on()
    try:
        # The first call of a session is read from its start; a session's steady state is measured.
        _call(client, context)
        variant.settle()
        seen = len(variant.sizes)
        began = time.process_time()
        walls = [_call(client, context) for _ in range(CALLS)]
        variant.settle()
        samples.cpu.append((time.process_time() - began) / CALLS)
        samples.wall += walls[1:]
        samples.span_bytes += variant.sizes[seen:]
    finally:
        variant.off()


def _call(client: openai.OpenAI, context: Context) -> float:
    context.grow()
    began = time.perf_counter()
    client.chat.completions.create(model=MODEL, messages=context.messages)
    return time.perf_counter() - began
