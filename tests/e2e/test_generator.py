"""Check profiles against transcripts whose truth is known because it was planted."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ctxheap_collector.report.build import profile_paths
from ctxheap_collector.report.contract import ObjectRow, Options, SessionProfile

GENERATOR = Path(__file__).resolve().parents[3] / "shared" / "eval" / "gen_transcript.py"
FORMATS = {
    "claude-code": "claude-code",
    "openai-requests": "request-log",
    "anthropic-requests": "request-log",
    "openai-messages": "openai-messages",
}
CHARACTERS_PER_TOKEN = 3.7  # as the generator bills

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not GENERATOR.is_file(), reason="the shared corpus is not beside the repository"),
]


@dataclass(frozen=True, slots=True)
class Planted:
    """Hold a generated transcript's profile and its truth."""

    path: Path
    format: str
    session: SessionProfile
    truth: dict[str, Any]

    def results(self, *names: str) -> list[ObjectRow]:
        """Return the results of a tool under any of its names."""
        ends = tuple(f"tool_result:{name}" for name in names)
        return [item for item in self.session.objects if item.tag in ends]


def generate(folder: Path, format_: str, *size: str) -> Planted:
    path = folder / f"{format_}.json"
    command = [sys.executable, str(GENERATOR), "--format", format_, *size, "-o", str(path)]
    subprocess.run(command, check=True)
    profile = profile_paths([str(path)], options=Options(top=0, timeline=True))
    truth = json.loads(Path(f"{path}.truth.json").read_text("utf-8"))
    assert len(profile.sessions) == 1
    return Planted(path, profile.files[0].format, profile.sessions[0], truth)


@pytest.fixture(scope="module", params=FORMATS)
def planted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """Return a session of 60 steps, which fits into the window, in each format."""
    return generate(tmp_path_factory.mktemp("planted"), str(request.param), "--steps", "60")


@pytest.fixture(scope="module")
def planted_long(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """Return a coding session of 5 MB with compactions."""
    return generate(tmp_path_factory.mktemp("long"), "claude-code", "--target-mb", "5")


def test_every_call_is_found_and_billed_once(planted: Planted) -> None:
    billed = planted.truth["billed"]
    known = planted.truth["format"] != "openai-messages"

    assert planted.format == FORMATS[planted.truth["format"]]
    assert planted.session.calls == planted.truth["requests"]
    assert planted.session.conservation.calls == (planted.truth["requests"] if known else 0)
    assert planted.session.conservation.exact_calls == planted.session.conservation.calls
    assert planted.session.billed.output == (billed["output"] if known else 0)


def test_value_read_at_step_2_is_in_use_to_the_last_call(planted: Planted) -> None:
    config = next(item for item in planted.results("Read", "read_file") if item.birth == 3)

    assert (config.uses[-1].call, config.phase, config.drag) == (planted.session.calls, "use", 0)


def test_results_planted_as_never_used_show_no_use_after_the_call_that_answered_them(
    planted: Planted,
) -> None:
    # Results of step i are born at call i + 1; every third query is planted as void.
    queries = planted.results("mcp__orders__query", "query_orders")
    void = [item for item in queries if item.birth > 2 and (item.birth - 1) % 3 == 0]

    assert [item.birth for item in void if any(use.call > item.birth for use in item.uses)] == []
    assert len(void) == 4


def test_exact_duplicates_are_surely_dead_but_for_the_newest(planted: Planted) -> None:
    listings = planted.results("Glob", "list_files")

    assert [item.birth for item in listings if item.superseded_by is None] == [max(i.birth for i in listings)]


def test_tokens_by_tag_agree_with_what_was_planted(planted_long: Planted) -> None:
    found = {
        tag.tag.partition(":")[2]: tag.allocated
        for tag in planted_long.session.tags
        if "_call:" not in tag.tag
    }

    assert found == pytest.approx(found | billed_results(planted_long.path), rel=0.03)


def billed_results(path: Path) -> dict[str, float]:
    """Return the planted tokens of all results that entered a prompt, by tool.

    The result that triggered a compaction is in no recorded prompt.
    """
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    names: dict[str, str] = {}
    tokens: dict[str, float] = {}
    pending: list[tuple[str, float]] = []
    for line in lines:
        content: list[dict[str, Any]] | str = line.get("message", {}).get("content", [])
        blocks = [] if isinstance(content, str) else content
        if line.get("subtype") == "compact_boundary":
            pending = []
        elif line["type"] == "assistant" and pending:
            for name, count in pending:
                tokens[name] = tokens.get(name, 0) + count
            pending = []
        for block in blocks:
            if block["type"] == "tool_use":
                names[block["id"]] = block["name"]
            if block["type"] == "tool_result":
                pending.append((names[block["tool_use_id"]], len(block["content"]) / CHARACTERS_PER_TOKEN))
    return tokens


def test_compactions_are_where_they_were_planted(planted_long: Planted) -> None:
    session, truth = planted_long.session, planted_long.truth["compactions"]

    assert [row.call for row in session.compactions] == [item["step"] + 1 for item in truth]
    # What arrived after the last call is in the planted size, but in no recorded prompt.
    for row, item in zip(session.compactions, truth, strict=True):
        assert row.before == pytest.approx(item["pre_tokens"], rel=0.07)
        assert row.after < 0.2 * (row.before or 0)
