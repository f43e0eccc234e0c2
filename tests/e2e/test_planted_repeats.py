"""Check that the plan planted in generated transcripts is found as contained, and unused tools as unused."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from ctxheap.analysis.repeats import by_kind_and_tag, repeated_state
from ctxheap.analysis.study import study
from ctxheap.analysis.upstream import never_called, offered_tools
from ctxheap.heap.records import Heap
from ctxheap_collector.report.build import heaps_of
from ctxheap_collector.transcripts.detect import read_all

GENERATOR = Path(__file__).resolve().parents[3] / "shared" / "eval" / "gen_transcript.py"
PLANS = {
    "claude-code": "tool_result:TodoWrite",
    "openai-requests": "tool_result:update_plan",
    "openai-messages": "tool_result:update_plan",
    "anthropic-requests": "tool_result:update_plan",
}

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not GENERATOR.is_file(), reason="the shared corpus is not beside the repository"),
]


def generated(format_: str, folder: Path) -> Heap:
    path = folder / "generated.jsonl"
    command = [sys.executable, str(GENERATOR), "--format", format_, "--steps", "60", "-o", str(path)]
    subprocess.run(command, check=True)
    (reading,) = read_all([str(path)])
    (heap,) = heaps_of(reading.exchanges)
    return heap


@pytest.mark.parametrize("format_", PLANS)
def test_every_plan_but_the_last_is_contained_in_the_next(format_: str, tmp_path: Path) -> None:
    heap = generated(format_, tmp_path)
    plans = [item.number for item in heap.objects if item.tag == PLANS[format_]]

    contained = {each.of: each.number for each in heap.facts.repeats if each.kind == "contains"}

    assert contained == dict(itertools.pairwise(plans))
    states = repeated_state(study(heap, lambda _call: None))
    sums = {(each.kind, each.tag): each for each in by_kind_and_tag(states)}
    assert sums["contained", PLANS[format_]].objects == len(plans) - 1


def test_the_tools_that_no_step_calls_are_never_called(tmp_path: Path) -> None:
    heap = generated("openai-requests", tmp_path)

    offers = offered_tools([study(heap, lambda _call: None)])

    unused = {offer.name for offer in never_called(offers, min_sessions=1)}
    assert unused == {"edit_file", "send_email", "create_calendar_event"}
