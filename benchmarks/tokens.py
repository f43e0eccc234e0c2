"""Measure the token estimates against what providers billed, and the speed of the engines.

    python benchmarks/tokens.py --data ../shared/data [--json]

A tool result or user message that was appended between two calls of a session cost
    growth = prompt_tokens(next) - prompt_tokens(this) - completion_tokens(this)
tokens, role markers included. The estimate is the counter's, plus FRAMING tokens for the markers of
the two messages between the calls. Steps that appended more than one message are left out: their
growth has no single owner. Messages below MIN_TOKENS say more about markers than about tokenizers.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NotRequired, TypedDict, cast

from ctxheap.tokens import EngineName, content_class, counter_for, engine

FRAMING = 8
MIN_TOKENS = 100
LOAD_RUNS = 5

LOAD_CODE = {
    "tiktoken": "from ctxheap.tokens import engine; engine('o200k_base', 'tiktoken')",
    "toktok": "from ctxheap.tokens import engine; engine('o200k_base', 'toktok')",
    "plain": """
import base64, gzip, tiktoken
from ctxheap.tokens.vocabulary import VOCABULARIES
v = VOCABULARIES['o200k_base']
lines = gzip.open(PATH).read().splitlines()
ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}
tiktoken.Encoding('o200k_base', pat_str=v.pattern, mergeable_ranks=ranks, special_tokens=v.special_tokens)
""",
}


class _Usage(TypedDict):
    prompt_tokens: int
    completion_tokens: int


class _Block(TypedDict, total=False):
    text: str


class _Response(TypedDict):
    model: str
    usage: _Usage


class _Extra(TypedDict, total=False):
    response: _Response


class _Message(TypedDict):
    role: str
    content: NotRequired[str | list[_Block] | None]
    usage: NotRequired[_Usage | None]
    tool_calls: NotRequired[list[object] | None]
    requestor: NotRequired[str | None]
    extra: NotRequired[_Extra]


@dataclass(frozen=True, slots=True)
class Step:
    """Hold one appended message and what it was billed, in tokens."""

    model: str
    source: str
    session: str
    text: str
    growth: int


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Hold how well one model's messages were estimated; errors are medians in percent."""

    model: str
    source: str
    exact: bool
    sessions: int
    messages: int
    error: float
    error_without_framing: float
    fitted_factor: float
    fitted_error_left_out: float


def text_of(message: _Message) -> str:
    """Return a message's text, blocks joined."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def steps(
    model: str, source: str, session: str, turns: Sequence[tuple[_Message, _Usage | None]]
) -> Iterator[Step]:
    """Yield the steps of one session in which exactly one message was appended between two calls."""
    before: _Usage | None = None
    appended: list[_Message] = []
    for message, usage in turns:
        if usage is None:
            appended.append(message)
            continue
        if before is not None and len(appended) == 1:
            growth = usage["prompt_tokens"] - before["prompt_tokens"] - before["completion_tokens"]
            yield Step(model, source, session, text_of(appended[0]), growth)
        before, appended = usage, []


def tau2(data: Path) -> Iterator[Step]:
    """Yield the steps of tau2-bench's agents; the user simulator's own tools are not in their prompt."""
    for path in sorted((data / "tau2-bench").rglob("*.json")):
        document = json.loads(path.read_text("utf-8"))
        if not isinstance(document, dict) or "simulations" not in document:
            continue
        model = cast("str", document["info"]["agent_info"]["llm"])
        for index, simulation in enumerate(cast("list[dict[str, list[_Message]]]", document["simulations"])):
            seen = [message for message in simulation["messages"] if not _is_of_simulator(message)]
            turns = [(m, m.get("usage") if m["role"] == "assistant" else None) for m in seen]
            yield from steps(model, "tau2-bench", f"{path.name}#{index}", turns)


def _is_of_simulator(message: _Message) -> bool:
    if message["role"] == "user":
        return bool(message.get("tool_calls"))
    return message["role"] == "tool" and message.get("requestor") == "user"


def mini(data: Path) -> Iterator[Step]:
    """Yield the steps of mini-swe-agent's trajectories that kept the provider's responses."""
    for path in sorted((data / "mini-swe-agent").rglob("*.traj.json")):
        document = json.loads(path.read_text("utf-8"))
        messages = cast("list[_Message]", document["messages"]) if isinstance(document, dict) else []
        responses = [message.get("extra", {}).get("response") for message in messages]
        model = next((response["model"] for response in responses if response), "")
        turns = [(m, r["usage"] if r else None) for m, r in zip(messages, responses, strict=True)]
        yield from steps(model, "mini-swe-agent", path.name, turns)


class _Completion(TypedDict):
    messages: list[_Message]
    response: _Response
    timestamp: float


def openhands(data: Path) -> Iterator[Step]:
    """Yield the steps of OpenHands' completions: one file a call, pairs whose history went on unchanged."""
    folders: dict[Path, list[_Completion]] = defaultdict(list)
    for path in sorted((data / "openhands").rglob("llm_completions/*/*.json")):
        folders[path.parent].append(cast("_Completion", json.loads(path.read_text("utf-8"))))
    for folder, calls in folders.items():
        for this, following in pairwise(sorted(calls, key=lambda call: call["timestamp"])):
            yield from _openhands_pair(folder.name, this, following)


def _openhands_pair(session: str, this: _Completion, following: _Completion) -> Iterator[Step]:
    count = len(this["messages"])
    new = following["messages"][count:]
    unchanged = [*map(text_of, this["messages"])] == [*map(text_of, following["messages"][:count])]
    if unchanged and len(new) == 2 and new[0]["role"] == "assistant":
        turns = [
            (new[0], this["response"]["usage"]),
            (new[1], None),
            (new[0], following["response"]["usage"]),
        ]
        yield from steps(following["response"]["model"], "OpenHands", session, turns)


def accuracy(found: Sequence[Step]) -> Accuracy | None:
    """Return how one model's steps were estimated, None where no message was large enough."""
    large = [step for step in found if step.growth >= MIN_TOKENS]
    if not large:
        return None
    counter = counter_for(large[0].model)
    texts = [step.text for step in large]
    estimates, raw = counter.count(texts), counter.raw(texts)
    ratios = [(step.growth - FRAMING) / max(tokens, 1) for step, tokens in zip(large, raw, strict=True)]
    return Accuracy(
        model=large[0].model,
        source=large[0].source,
        exact=counter.exact,
        sessions=len({step.session for step in large}),
        messages=len(large),
        error=_error(large, [estimate + FRAMING for estimate in estimates]),
        error_without_framing=_error(large, estimates),
        fitted_factor=median(ratios),
        fitted_error_left_out=_error(large, _left_out(large, raw, ratios)),
    )


def _error(large: Sequence[Step], estimates: Sequence[float]) -> float:
    return 100 * median(abs(e - step.growth) / step.growth for step, e in zip(large, estimates, strict=True))


def _left_out(large: Sequence[Step], raw: Sequence[int], ratios: Sequence[float]) -> list[float]:
    """Return estimates with one factor for all, each fitted on the other sessions only."""
    pairs = list(zip(large, ratios, strict=True))
    sessions = {step.session for step in large}
    factors = {one: median([r for s, r in pairs if s.session != one] or [1.0]) for one in sessions}
    return [tokens * factors[step.session] + FRAMING for step, tokens in zip(large, raw, strict=True)]


def megabytes_per_second(name: EngineName, texts: Sequence[str]) -> float:
    """Return how much UTF-8 text an engine counts in a second of one core."""
    built = engine("o200k_base", name)
    built.count(texts[:10])
    start = time.process_time()
    built.count(texts)
    return sum(len(text.encode("utf-8", "replace")) for text in texts) / 1e6 / (time.process_time() - start)


def load_seconds(code: str) -> float:
    """Return the best time of a fresh process to load an encoding, its own start taken off."""
    timed = f"import time; start = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"
    return min(_run(timed) for _ in range(LOAD_RUNS))


def _run(code: str) -> float:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    """Print the accuracy per model, and load time and throughput per engine."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--ranks", type=Path, default=Path("../shared/tokenizers/o200k_base.tiktoken.gz"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = [*tau2(options.data), *mini(options.data), *openhands(options.data)]
    by_model: dict[tuple[str, str], list[Step]] = defaultdict(list)
    for step in found:
        by_model[step.source, step.model].append(step)
    rows = [row for group in by_model.values() if (row := accuracy(group))]
    texts = [step.text for step in found]
    speed = {name: megabytes_per_second(name, texts) for name in ("tiktoken", "toktok")}
    load = {
        name: load_seconds(code.replace("PATH", repr(str(options.ranks)))) for name, code in LOAD_CODE.items()
    }
    if options.json:
        print(
            json.dumps(
                {"accuracy": [asdict(row) for row in rows], "mb_per_second": speed, "load_seconds": load}
            )
        )
        return
    print(f"{'model':58}{'source':16}{'n':>5}{'error':>8}{'no framing':>12}{'fitted':>8}{'left out':>10}")
    for row in rows:
        print(
            f"{row.model:58}{row.source:16}{row.messages:5}{row.error:7.1f}%{row.error_without_framing:11.1f}%"
            f"{row.fitted_factor:8.3f}{row.fitted_error_left_out:9.1f}%"
        )
    for name, seconds in load.items():
        print(f"load {name:9}{seconds:6.2f} s, {seconds / load['plain']:.2f} of plain", end="")
        print(f", {speed[name]:.1f} MB/s" if name in speed else "")
    print(
        "classes:",
        {kind: sum(content_class(t) == kind for t in texts) for kind in ("code", "english", "json")},
    )


if __name__ == "__main__":
    main()
