"""Measure how late the event loop gets to a timer while fifty calls to models are under way."""

from __future__ import annotations

import asyncio
import json
import time

import httpx2

from overhead_runs.agent import Context
from overhead_runs.variants import Variant

CONCURRENT = 50
CALLS = 4
MESSAGES = 60
TICK_SECONDS = 0.001


def p99_lag_ms(url: str, known: dict[str, Variant], *, rounds: int) -> dict[str, float]:
    """Return the 99th percentile of the lateness in milliseconds, with none and with ours, in turns."""
    bodies = [_bodies(seed) for seed in range(CONCURRENT)]
    lags: dict[str, list[float]] = {"none": [], "ours": []}
    for number in range(rounds + 1):
        for name in lags if number % 2 else reversed(lags):
            known[name].on()
            try:
                found = asyncio.run(_run(url, bodies))
                known[name].settle()
            finally:
                known[name].off()
            if number:  # the first round warms up
                lags[name] += found
    return {name: sorted(found)[int(len(found) * 0.99)] * 1e3 for name, found in lags.items()}


def _bodies(seed: int) -> list[bytes]:
    context, found = Context(MESSAGES, seed), list[bytes]()
    for _ in range(CALLS):
        context.grow()
        found.append(json.dumps({"model": "gpt-5-mini", "messages": context.messages}).encode())
    return found


async def _run(url: str, bodies: list[list[bytes]]) -> list[float]:
    lags = list[float]()
    limits = httpx2.Limits(max_connections=CONCURRENT)
    async with httpx2.AsyncClient(limits=limits, timeout=60) as client:
        ticker = asyncio.create_task(_tick(lags))
        await asyncio.gather(*(_session(client, url, each) for each in bodies))
        ticker.cancel()
    return lags


async def _session(client: httpx2.AsyncClient, url: str, bodies: list[bytes]) -> None:
    for body in bodies:
        await client.post(f"{url}/v1/chat/completions", content=body)


async def _tick(lags: list[float]) -> None:
    while True:
        due = time.perf_counter() + TICK_SECONDS
        await asyncio.sleep(TICK_SECONDS)
        lags.append(max(0.0, time.perf_counter() - due))
