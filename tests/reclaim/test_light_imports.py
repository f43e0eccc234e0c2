"""Check that what runs inside an agent imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
before = set(sys.modules)
import ctxheap.reclaim.actions, ctxheap.reclaim.collector, ctxheap.reclaim.invariants
import ctxheap.reclaim.ledger, ctxheap.reclaim.policy, ctxheap.reclaim.requests
heavy = {"yaml", "rich", "genai_prices", "tiktoken", "toktok", "numpy", "opentelemetry", "asyncio", "httpx"}
print(*sorted(heavy & (set(sys.modules) - before)))
print(*sorted(name for name in sys.modules if name.startswith(("ctxheap.analysis", "ctxheap.prices"))))
"""


def test_reclaiming_needs_the_standard_library_alone() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["", ""]
