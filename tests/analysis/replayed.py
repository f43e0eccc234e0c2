"""Make random sessions, and bill prompts by looking at every prompt before."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from ctxheap.analysis.replay_records import Sent
from ctxheap.heap.model import Exchange, Part, Usage
from ctxheap.heap.records import Call, Heap
from ctxheap.heap.session import HeapBuilder
from ctxheap.prices import Rates
from ctxheap.reclaim.policy import CacheAssumptions, Match, Policy, Rule, When

# Powers of two: sums of money are exact.
RATES = Rates(1 / 2**10, 1 / 2**13, 1.25 / 2**10, 2 / 2**10, 1 / 2**8, "test", "2026-01-01")
FACTORS = (1, 1 / 8, 1.25)
SECOND_NS = 1_000_000_000
WORDS = ("order", "ledger", "shard", "cfg.py:12", "ORD-0017", "region", "4173", "util.py", "queue", "tenant")


class Words:
    """Count words."""

    exact = False

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def words_for(model: str, provider: str) -> Words:
    return COUNTER


COUNTER = Words()


def text(random: Random, most: int) -> str:
    return " ".join(random.choice(WORDS) for _ in range(random.randint(1, most)))


def session(random: Random) -> list[Exchange]:
    """Return a session that reads, repeats itself, drops parts and waits for longer than the cache."""
    prompt = [
        Part("system", "tool_definition", "tool_definition:read", "{}", "read"),
        Part("system", "text", "system_prompt", text(random, 30)),
        Part("user", "text", "user_turn", text(random, 10)),
    ]
    exchanges: list[Exchange] = []
    now = 0
    for call in range(1, random.randint(2, 14)):
        now += random.choice((1, 20, 299, 301, 500)) * SECOND_NS
        output = turn(random, call)
        model = "claude-sonnet-4-5" if random.random() < 0.95 else "claude-opus-4-5"
        usage = Usage(uncached=sum(COUNTER.count([part.text])[0] for part in prompt) + random.randint(0, 9))
        exchanges.append(
            Exchange(
                f"c{call}",
                tuple(prompt),
                output,
                session="s",
                model=model,
                provider="anthropic",
                started_ns=now,
                usage=usage,
            )
        )
        prompt += [*output, *(answer(random, part) for part in output if part.kind == "tool_call")]
        if random.random() < 0.2:
            prompt.append(Part("user", "text", "user_turn", text(random, 10) + f" {call}"))
        if random.random() < 0.1:
            del prompt[3 : 3 + random.choice((0, len(prompt)))]
    return exchanges


def turn(random: Random, call: int) -> tuple[Part, ...]:
    thought = Part("assistant", "reasoning", "agent_reasoning", text(random, 12))
    said = Part("assistant", "text", "agent_output", text(random, 12))
    asked = [
        Part(
            "assistant",
            "tool_call",
            "tool_call:read",
            f'{{"path": "{random.choice(WORDS)}"}}',
            "read",
            f"t{call}-{i}",
        )
        for i in range(random.randint(0, 3))
    ]
    return (thought, said, *asked) if asked else (thought, said)


def answer(random: Random, request: Part) -> Part:
    size = random.choice((5, 40, 400))
    return Part("tool", "tool_result", "tool_result:read", text(random, size), "read", request.call_id)


def policy(random: Random) -> Policy:
    """Return a policy with every action, and limits that short sessions reach."""
    results = Match(tags=("tool_result:*",))
    rules = [
        Rule("pin", Match(contains="4173 queue"), When()),
        Rule("dedupe", results, When(superseded=True)),
        Rule("truncate", results, When(), max_tokens=random.choice((30, 100))),
        Rule("evict", results, When(idle_calls=random.randint(1, 5))),
        Rule("evict", Match(tags=("agent_output", "tool_call:*")), When(older_calls=5, min_tokens=10)),
        Rule("evict", results, When(generation="young")),
        Rule("compact", Match(), When(idle_calls=random.randint(0, 3))),
    ]
    random.shuffle(rules)
    return Policy(
        rules=tuple(rules[: random.randint(1, len(rules))]),
        pins=(Match(tags=("tool_result:*",), contains="ledger shard"),),
        trigger=random.choice(("on_demand", "economic", "eager")),
        budget_tokens=random.choice((1, 200, 600)),
        idempotent_tools=("read",),
        cache=CacheAssumptions(
            ttl_seconds=300, expected_calls=random.choice((2, 40)), minimum_tokens=random.choice((0, 64))
        ),
    )


def heap_of(exchanges: Sequence[Exchange]) -> Heap:
    builder = HeapBuilder(session="s", counter_for=words_for)
    for exchange in exchanges:
        builder.add(exchange)
    return builder.finish()


def rates_of(call: Call) -> Rates | None:
    return RATES


def brute_force(sent: Sequence[Sent], calls: Sequence[Exchange], found: Policy) -> list[tuple[int, int, int]]:
    """Return what each prompt reads, writes and pays in full, by comparing it with all before it."""
    bills: list[tuple[int, int, int]] = []
    for k, now in enumerate(sent):
        total, best = sum(now.tokens), 0
        for j in range(k):
            waited = (calls[k].started_ns or 0) - (calls[j].started_ns or 0)
            is_stored = sum(sent[j].tokens) >= found.cache.minimum_tokens
            if calls[j].model == calls[k].model and waited <= 300 * SECOND_NS and is_stored:
                best = max(best, _common(sent[j], now))
        if best < found.cache.minimum_tokens:
            best = 0
        rest = total - best
        bills.append((best, rest, 0) if total >= found.cache.minimum_tokens else (best, 0, rest))
    return bills


def _common(before: Sent, now: Sent) -> int:
    tokens = 0
    for i, size in enumerate(now.tokens):
        if i >= len(before.identities) or _content(before, i) != _content(now, i):
            break
        tokens += size
    return tokens


def _content(sent: Sent, place: int) -> object:
    if place >= len(sent.parts):
        return sent.identities[place]
    part = sent.parts[place]
    return (part.role, part.kind, part.tool, part.call_id, part.text)
