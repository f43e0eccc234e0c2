"""Check verdicts on transcripts with planted leaks and on sessions labelled by reading."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxheap.analysis.study import Study, study
from ctxheap.analysis.verdicts import verdicts
from ctxheap_collector.report.build import heaps_of
from ctxheap_collector.transcripts.detect import read_all

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from label_sessions.leak_labels import label_report

SHARED = Path(__file__).resolve().parents[3] / "shared"
GENERATOR = SHARED / "eval" / "gen_transcript.py"
LABELS = SHARED / "labels" / "leaks.json"
TAU2 = SHARED / "data" / "tau2-bench"
PLANS = {"tool_result:TodoWrite", "tool_result:update_plan"}

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not GENERATOR.is_file(), reason="the shared corpus is not beside the repository"),
]


def studies(path: Path) -> Iterator[Study]:
    for reading in read_all([str(path)]):
        for heap in heaps_of(reading.exchanges):
            yield study(heap, lambda call: None)


@pytest.mark.parametrize(
    "format_", ["claude-code", "openai-requests", "anthropic-requests", "openai-messages"]
)
def test_the_planted_plan_is_the_first_leak_named(tmp_path: Path, format_: str) -> None:
    path = tmp_path / "planted.jsonl"
    command = [sys.executable, str(GENERATOR), "--format", format_, "--steps", "120", "-o", str(path)]
    subprocess.run(command, check=True)

    first = [verdicts(item)[0] for item in studies(path)]

    assert [(leak.tag in PLANS, leak.verdict, leak.is_echo) for leak in first] == [(True, "leak", True)]


@pytest.mark.parametrize("name", ["gpt-4.1_airline", "claude-sonnet-4-5_airline"])
def test_sessions_without_repeats_get_no_leak_from_duplicates(name: str) -> None:
    paths = sorted(TAU2.rglob(f"{name}*.json"))

    found = [
        leak for path in paths for item in studies(path) for leak in verdicts(item) if leak.verdict == "leak"
    ]

    assert paths
    assert [leak for leak in found if leak.dead_low_token_calls] == []


def test_verdicts_agree_with_sessions_labelled_by_reading() -> None:
    report = label_report(LABELS, SHARED / "data")

    leak, severity = report["leak"], report["severity"]
    assert isinstance(leak, dict)
    assert isinstance(severity, dict)
    assert (leak["precision"] >= 0.85, leak["recall"] >= 0.85) == (True, True)
    assert severity["agreed"] >= 0.8 * severity["of"]
