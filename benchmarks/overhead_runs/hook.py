"""Time the hook alone: one HTTP client's `send` over a transport without a network, in turns with none."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable

import httpx2

from overhead_runs.agent import Context
from overhead_runs.variants import Variant

_ANSWER = json.dumps(
    {
        "id": "chatcmpl-1",
        "model": "gpt-5-mini",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11},
    }
).encode()
REPEATS = 60


def hook_ms(ours: Variant, messages: int) -> float:
    """Return the median milliseconds that our hook adds to one `send`, its worker at rest."""
    body = json.dumps({"model": "gpt-5-mini", "messages": Context(messages, 1).messages}).encode()
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(200, content=_ANSWER, headers={"content-type": "application/json"})
    )
    with httpx2.Client(transport=transport) as client:

        def send() -> float:
            request = client.build_request("POST", "http://model/v1/chat/completions", content=body)
            began = time.perf_counter()
            client.send(request)
            return time.perf_counter() - began

        bare = _median(send, lambda: None)
        ours.on()
        try:
            return (_median(send, ours.settle) - bare) * 1e3
        finally:
            ours.off()


def _median(send: Callable[[], float], settle: Callable[[], object]) -> float:
    found = list[float]()
    for _ in range(REPEATS):
        found.append(send())
        settle()
    return statistics.median(found)
