"""Check every promise of a profile on every real transcript of the shared corpus."""

from __future__ import annotations

import csv
import functools
from pathlib import Path

import pytest

from ctxheap_collector.report.build import profile_paths
from ctxheap_collector.report.contract import Options, Profile

SHARED = Path(__file__).resolve().parents[3] / "shared"
READ = {
    "Claude Code session jsonl": "claude-code",
    "OpenHands llm_completions (one file per call: messages+tools+response.usage)": "openhands",
    "mini-swe-agent .traj.json (openai-chat + extra.response.usage)": "mini-swe-agent",
    "openai-chat list[{task_id,reward,info,traj}]": "tau-bench",
    "tau2 results json {simulations[].messages}": "tau2-bench",
    "openai-finetune jsonl {messages,tools}": "openai-messages",
    "SWE-agent .traj (trajectory[] + history[])": "swe-agent",
    "LLM request/response jsonl": "request-log",
    "codex session jsonl": "codex",
    "pi coding-agent session jsonl v3 (message/compaction/model_change)": "pi",
    "moatless trajectory.json (nodes[].completions[].usage)": "moatless",
    "moatless trajs/*.json (transitions[].actions[])": "moatless",
    "Langfuse trace export {trace,observations}": "langfuse",
    "gemini session json": "gemini-cli",
    "VCR cassette yaml (HTTP request+response)": "vcr-cassette",
}
# Listed as cassettes in the manifest, but spans of other tools.
NOT_CASSETTES = (".json",)


def manifest() -> list[tuple[str, str]]:
    """Return (format, file or, for OpenHands, folder) of all transcripts that the profiler reads."""
    if not (SHARED / "data" / "MANIFEST.tsv").is_file():
        return []
    with (SHARED / "data" / "MANIFEST.tsv").open(encoding="utf-8", newline="") as table:
        rows = [row for row in csv.DictReader(table, delimiter="\t") if row["format"] in READ]
    found = {(READ[row["format"]], _whole(row)) for row in rows}
    return sorted(item for item in found if item[0] != "vcr-cassette" or not item[1].endswith(NOT_CASSETTES))


def _whole(row: dict[str, str]) -> str:
    """Return what makes one transcript: the folder where each file holds a call of it."""
    path = Path(row["path"])
    return str(path.parent if READ[row["format"]] == "openhands" else path)


@functools.cache
def profiled(path: str) -> Profile:
    return profile_paths([str(SHARED / "data" / path)], options=Options(top=0, timeline=True))


pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not manifest(), reason="the shared corpus is not beside the repository"),
]


@pytest.fixture(params=manifest(), ids=lambda item: "-".join(Path(item[1]).parts[-2:])[-60:])
def transcript(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Return format and path of one transcript."""
    found: tuple[str, str] = request.param
    return found


def test_transcript_is_read_and_every_billed_token_has_one_owner(transcript: tuple[str, str]) -> None:
    format_, path = transcript

    profile = profiled(path)

    assert [file.format for file in profile.files] == [format_ if _holds_anything(path) else ""]
    assert profile.sessions or all(file.skipped for file in profile.files)
    for session in profile.sessions:
        assert session.conservation.exact_calls == session.conservation.calls
        assert session.billed.input == sum(row.input for row in session.timeline or () if not row.estimated)
        assert session.token_calls == sum(sum(row.tags.values()) for row in session.timeline or ())
        assert session.token_calls == sum(tag.lag + tag.use + tag.drag + tag.void for tag in session.tags)
        assert session.token_calls == sum(item.token_calls for item in session.objects)
        assert session.dead_low_token_calls <= session.dead_token_calls <= max(session.token_calls, 0)
        if session.input_usd is not None:
            assert sum(tag.rent_usd or 0.0 for tag in session.tags) == pytest.approx(session.input_usd)


def test_a_coding_session_given_twice_is_billed_once() -> None:
    path = next(path for format_, path in manifest() if format_ == "claude-code" and "erk" in path)
    place = str(SHARED / "data" / path)

    twice = profile_paths([place, place], options=Options())

    assert [item.billed for item in twice.sessions] == [item.billed for item in profiled(path).sessions]


def _holds_anything(path: str) -> bool:
    place = SHARED / "data" / path
    return place.is_dir() or place.stat().st_size > 0
