"""Call a model twice, as a program that knows nothing of ctxheap does."""

from __future__ import annotations

import os
import sys

import httpx

url = sys.argv[1]
messages = [{"role": "user", "content": "How much is 1 + 1?"}]
for _ in range(2):
    answer = httpx.post(f"{url}/chat/completions", json={"model": "gpt-4o", "messages": messages}).json()
    message = answer["choices"][0]["message"]
    messages += [message, {"role": "user", "content": "And once more?"}]
print(os.getpid(), message["content"])
