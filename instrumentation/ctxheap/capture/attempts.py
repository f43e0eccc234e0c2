"""Make one call of the attempts that an SDK needed for it.

An SDK that gets a 429, a 5xx or a broken connection sends the same body again. So a failed attempt
waits for a while: if the same body goes to the same place again, it was an attempt of that call.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Iterator

from ctxheap.capture.flight import Call

PATIENCE_NS = 90 * 10**9
"""How long after a failure an attempt may follow: SDKs back off for up to a minute."""
MAX_WAITING = 1_000

_MODEL = re.compile(rb'"model"\s*:\s*"([^"\\]{1,200})"')

Key = tuple[str, int | None, str, bytes]


class Attempts:
    """Hold failed attempts until it is clear what became of them."""

    def __init__(self) -> None:
        self._failed: OrderedDict[Key, Call] = OrderedDict()

    def take(self, call: Call) -> Call | None:
        """Return the whole call, None while it may still be attempted again."""
        if not self._failed and not _may_be_retried(call):
            return call
        key = _key(call)
        before = self._failed.pop(key, None)
        if before is not None and call.started_ns >= before.ended_ns:
            call.attempts = before.attempts + 1
            call.failures = [*before.failures, before.error or str(before.status)]
            call.started_ns = before.started_ns
        elif before is not None:
            self._failed[key] = before  # a twin that was under way at the same time
            return call
        if not _may_be_retried(call):
            return call
        # The little that a span of a failed call tells; the rest is not worth its memory.
        call.model, call.body, call.chunks = _model_in(call.body), b"", []
        self._failed[key] = call
        return None

    def given_up(self, now_ns: int) -> Iterator[Call]:
        """Yield the failed calls that nobody attempted again; all of them with a `now_ns` of 0."""
        while self._failed:
            key, call = next(iter(self._failed.items()))
            if now_ns and now_ns - call.ended_ns < PATIENCE_NS and len(self._failed) <= MAX_WAITING:
                return
            del self._failed[key]
            yield call


def _may_be_retried(call: Call) -> bool:
    if call.status == 0:
        return True
    return call.status in (408, 409, 425, 429) or call.status >= 500


def _key(call: Call) -> Key:
    endpoint = call.endpoint
    digest = hashlib.sha256(call.request).digest()
    return endpoint.server, endpoint.port, endpoint.format, digest


def _model_in(body: bytes | str) -> str:
    """Return the model that a body asks for, without decoding it: inside strings the quotes are escaped."""
    data = body.encode("utf-8", "replace") if isinstance(body, str) else body
    found = _MODEL.search(data)
    return found[1].decode("utf-8", "replace") if found else ""
