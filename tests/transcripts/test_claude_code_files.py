from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.model import Exchange, Usage
from ctxheap.providers.anthropic import usage_of
from ctxheap.providers.json_fields import fields, string
from ctxheap_collector.transcripts.claude_code import looks_like, read
from ctxheap_collector.transcripts.source import Source
from transcripts.claude_lines import SESSION, answer, chain, result, text, tool_use, user

DATA = Path(__file__).resolve().parents[1] / "data" / "claude_code"
CORPUS = (
    "erk/**/*.jsonl",
    "claude-code-log/**/*.jsonl",
    "vibecodingtracker/**/claude_code.jsonl",
    "ccusage/**/claude/**/*.jsonl",
    "agentsview/**/testdata/claude/*.jsonl",
)


def corpus(shared: Path) -> list[Path]:
    found = itertools.chain.from_iterable((shared / "data").glob(pattern) for pattern in CORPUS)
    return sorted(path for path in found if path.stat().st_size)


def independent_count(path: Path) -> tuple[int, int, int]:
    """Return calls, input and output of a file by message id, without the reader."""
    best: dict[str, Usage] = {}
    for number, raw in enumerate(path.read_bytes().splitlines()):
        try:
            record = json.loads(raw)
        except ValueError:
            continue
        line = fields(record)
        message = fields(line.get("message"))
        if (
            line.get("type", "assistant") != "assistant"
            or message.get("model") == "<synthetic>"
            or not message
        ):
            continue
        key = string(message.get("id")) or string(line.get("requestId")) or str(number)
        usage = usage_of(message.get("usage"))
        if key not in best or usage.output >= best[key].output:
            best[key] = usage
    return len(best), sum(u.input for u in best.values()), sum(u.output for u in best.values())


def billed(exchanges: list[Exchange]) -> tuple[int, int, int]:
    usages = [exchange.usage for exchange in exchanges if exchange.usage is not None]
    return len(exchanges), sum(u.input for u in usages), sum(u.output for u in usages)


def test_rewound_session_is_two_sessions_with_one_past() -> None:
    calls = list(read(Source.of(DATA / "rewound.jsonl")))

    sessions = Counter((call.session[36:], call.parent is None) for call in calls)
    fork = next(call for call in calls if call.parent is not None)
    assert sessions == {("", True): 6, ("/fork-9edc38e6", False): 3}
    assert (fork.usage and fork.usage.input, len(fork.prompt)) == (27_428, 11)
    assert billed(calls) == independent_count(DATA / "rewound.jsonl")


@pytest.mark.shared
def test_every_real_file_is_read_and_billed_as_by_an_independent_count(shared: Path) -> None:
    differing: list[str] = []
    silent: list[str] = []
    for path in corpus(shared):
        source = Source.of(path)
        assert looks_like(source.head()), path
        calls = list(read(source))
        differing += [path.name] * (billed(calls) != independent_count(path))
        silent += [path.name] * (not calls and not source.skipped)

    assert differing == []
    assert silent == []


@pytest.mark.shared
def test_compactions_name_the_size_of_the_call_before(shared: Path) -> None:
    errors: list[float] = []
    for path in corpus(shared):
        before: dict[str, int] = {}
        for call in read(Source.of(path)):
            if call.compaction is not None and call.compaction.before and call.session in before:
                errors.append(abs(call.compaction.before / before[call.session] - 1))
                assert call.usage is not None
                assert call.usage.input < before[call.session] / 2
            if call.usage is not None:
                before[call.session] = call.usage.input

    assert len(errors) >= 7
    assert max(errors) < 0.025


@pytest.mark.shared
def test_generated_transcript_is_billed_as_planted(shared: Path, tmp_path: Path) -> None:
    path = tmp_path / "generated.jsonl"
    generator = shared / "eval" / "gen_transcript.py"
    arguments = ["--steps", "160", "--window", "60000", "--start", "1795910400", "-o", str(path)]
    subprocess.run([sys.executable, str(generator), *arguments], check=True)
    truth = json.loads((tmp_path / "generated.jsonl.truth.json").read_text())

    calls = list(read(Source.of(path)))

    sizes = Counter[str]()
    for part in itertools.chain.from_iterable(call.output for call in calls):
        sizes[part.tag] += len(part.text)
    planted, money = truth["chars_by_tag"], truth["billed"]
    assert len(calls) == truth["requests"] == 160
    assert billed(calls)[1:] == (money["input"] + money["cache_read"] + money["cache_write"], money["output"])
    assert [call.compaction.before for call in calls if call.compaction] == [
        compaction["pre_tokens"] for compaction in truth["compactions"]
    ]
    assert sizes["agent_reasoning"] + sizes["agent_output"] == planted["agent_reasoning"]
    assert sizes["tool_call:TodoWrite"] == planted["tool_call:TodoWrite"]
    assert sizes["tool_call:mcp__orders__query"] == planted["tool_call:mcp__orders__query"]


FIELDS = st.sampled_from(["u1", "a1", "r1", "a2", "gone", "", None, 7])
LINES = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["user", "assistant", "system", "attachment", "progress", "summary", "", 3, None]
        )
    },
    optional={
        "uuid": FIELDS,
        "parentUuid": FIELDS,
        "sessionId": st.sampled_from([SESSION, "other", "", None]),
        "isSidechain": st.sampled_from([True, False, None]),
        "agentId": FIELDS,
        "isCompactSummary": st.booleans(),
        "isMeta": st.booleans(),
        "subtype": st.sampled_from(["compact_boundary", "microcompact_boundary", "local_command", None]),
        "compactMetadata": st.sampled_from(
            [None, {"preservedSegment": {"headUuid": "a1"}, "preTokens": "9"}]
        ),
        "microcompactMetadata": st.sampled_from([None, {"compactedToolIds": ["t1", 3]}]),
        "attachment": st.sampled_from(
            [None, {"type": "file", "content": [["x"]]}, {"type": "queued_command"}]
        ),
        "message": st.sampled_from(
            [
                None,
                3,
                {},
                {"content": "hello"},
                {"content": [3, {"type": "tool_result", "tool_use_id": "t1"}]},
                {
                    "id": "m1",
                    "content": [text("a"), tool_use("t1", "Task", prompt="p")],
                    "usage": {"input_tokens": 9},
                },
                {"id": "m2", "content": [text("b")], "usage": {"input_tokens": "x"}},
            ]
        ),
    },
)


@given(st.lists(LINES, max_size=14))
def test_any_lines_are_read_without_an_error_and_no_call_twice(lines: list[object]) -> None:
    lines = [*chain(user("u1", None, "Go"), answer("a1", None, "m1", tool_use("t1", "Read"))), *lines]
    lines += chain(result("r1", "a1", "t1", "text"), answer("a2", None, "m2", text("b")))
    source = _Lines(lines)

    calls = list(read(source))

    assert len({call.call_id for call in calls}) == len(calls)
    assert all(call.prompt[0].kind == "hidden" for call in calls)


class _Lines(Source):
    """Records that were never written to a file."""

    def __init__(self, lines: list[object]) -> None:
        super().__init__("lines", (Path("lines"),))
        self._lines = lines

    def records(self) -> Iterator[tuple[int, object]]:
        yield from enumerate(self._lines, 1)
