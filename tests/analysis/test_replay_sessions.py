"""Check replay: its bill against brute force, that it sees no future, and what it calls regret."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from analysis.replayed import FACTORS, SECOND_NS, brute_force, heap_of, policy, rates_of, session, words_for
from ctxheap.analysis import replay as replay_module
from ctxheap.analysis.replay import replay
from ctxheap.analysis.replay_records import Bill, ReplayReport, Sent
from ctxheap.heap.model import Exchange, Part, Usage
from ctxheap.reclaim import collector
from ctxheap.reclaim.ledger import AuditLog
from ctxheap.reclaim.policy import Match, Policy, Rule, Trigger, When, default_policy
from ctxheap.reclaim.requests import SHAPES, Shape, refused
from ctxheap_collector.report.build import heaps_of
from ctxheap_collector.report.pricing import Pricing
from ctxheap_collector.transcripts.detect import read_all

CASES = 3_000
WORKERS = 6


def run(exchanges: list[Exchange], found: Policy) -> tuple[ReplayReport, list[Sent]]:
    sent: list[Sent] = []
    heap = heap_of(exchanges)
    report = replay(heap, exchanges, found, rates_of=rates_of, counter_for=words_for, watch=sent.append)
    return report, sent


@pytest.fixture
def short_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let compactions happen in sessions of a few hundred tokens."""
    monkeypatch.setattr(collector, "WHOLE_TAIL_TOKENS", 20)


@pytest.mark.usefixtures("short_tail")
@pytest.mark.parametrize("first", range(0, CASES, CASES // WORKERS))
def test_bill_equals_the_brute_force_ledger_and_every_prompt_is_valid(first: int) -> None:
    actions: set[str] = set()
    for seed in range(first, first + CASES // WORKERS):
        random = Random(seed)
        exchanges, found = session(random), policy(random)

        report, sent = run(exchanges, found)

        bills = brute_force(sent, exchanges, found)
        read, written, uncached = (sum(column) for column in zip(*bills, strict=True))
        cost = uncached * FACTORS[0] + read * FACTORS[1] + written * FACTORS[2]
        bill = report.bill
        assert (bill.read, bill.written, bill.uncached) == (read, written, uncached), seed
        assert (bill.equivalents, bill.usd) == (cost, cost / 2**10), seed
        assert report.refusals == (), seed
        assert [refused(item.parts, shape) for item in sent for shape in SHAPES] == [[]] * (3 * len(sent)), (
            seed
        )
        actions |= {item.action for item in report.freed}
    assert actions == {"dedupe", "truncate", "evict", "compact"}


@pytest.mark.usefixtures("short_tail")
@pytest.mark.parametrize("seed", range(200))
def test_decisions_do_not_change_when_the_future_is_cut_off(seed: int) -> None:
    random = Random(seed)
    exchanges, found = session(random), policy(random)
    known = max(1, len(exchanges) // 2)

    whole, _ = run(exchanges, found)
    cut, _ = run(exchanges[:known], found)

    assert [item for item in whole.freed if item.call <= known] == list(cut.freed)


@pytest.mark.parametrize("seed", range(20))
def test_a_policy_without_rules_changes_nothing(seed: int) -> None:
    report, _ = run(session(Random(seed)), Policy(budget_tokens=1))

    assert (report.freed, report.regrets, report.net_usd) == ((), (), 0.0)
    assert report.bill == report.baseline


@pytest.mark.usefixtures("short_tail")
@pytest.mark.parametrize("seed", range(50))
def test_whatever_is_removed_is_whole_in_the_log(seed: int) -> None:
    random = Random(seed)
    exchanges, found = session(random), policy(random)
    heap, log = heap_of(exchanges), AuditLog()

    report = replay(heap, exchanges, found, rates_of=rates_of, counter_for=words_for, log=log)

    originals = {heap.objects[item.number].id.partition("#")[0] for item in report.freed}
    kept = [log.original(item.number) for item in report.freed]
    assert {part.identity.hex() for part in kept if part is not None} == originals
    assert len(log.entries) == len(report.freed)


GENERATOR = Path(__file__).resolve().parents[3] / "shared" / "eval" / "gen_transcript.py"
FORMATS = ("claude-code", "openai-requests", "anthropic-requests", "openai-messages")


def replayed(folder: Path, format_: str, trigger: Trigger) -> ReplayReport:
    path = folder / f"{format_}.jsonl"
    command = [sys.executable, str(GENERATOR), "--format", format_, "--steps", "60", "-o", str(path)]
    subprocess.run(command, check=True)
    exchanges = [exchange for reading in read_all([str(path)]) for exchange in reading.exchanges]
    heap = next(iter(heaps_of(exchanges)))
    found = replace(default_policy(), trigger=trigger, budget_tokens=20_000)
    return replay(heap, exchanges, found, rates_of=Pricing(None).rates)


@pytest.mark.shared
@pytest.mark.skipif(not GENERATOR.is_file(), reason="the shared corpus is not beside the repository")
@pytest.mark.parametrize("format_", FORMATS)
def test_only_naive_recency_frees_the_value_that_the_last_step_needs(tmp_path: Path, format_: str) -> None:
    eager = replayed(tmp_path, format_, "eager")
    careful = [replayed(tmp_path, format_, trigger) for trigger in ("on_demand", "economic")]

    late = [item for item in eager.regrets if item.is_certain and item.used >= 59]
    assert [(item.tag.split(":")[0], item.freed < 10, item.equivalents > 0) for item in late] == [
        ("tool_result", True, True)
    ]
    assert eager.refusals == ()
    for report in careful:
        assert report.freed
        assert report.refusals == ()
        assert [item for item in report.regrets if item.is_certain] == []
        assert late[0].number not in {item.number for item in report.freed}


def growing(calls: int) -> list[Exchange]:
    """Return a session that only reads, a result of 40 words a call."""
    prompt = [Part("user", "text", "user_turn", "read all")]
    found: list[Exchange] = []
    for number in range(1, calls + 1):
        asked = Part("assistant", "tool_call", "tool_call:read", f'{{"n": {number}}}', "read", f"t{number}")
        usage = Usage(uncached=sum(len(part.text.split()) for part in prompt))
        found.append(
            Exchange(
                f"c{number}",
                tuple(prompt),
                (asked,),
                session="s",
                model="claude-sonnet-4-5",
                provider="anthropic",
                started_ns=number * SECOND_NS,
                usage=usage,
            )
        )
        result = Part(
            "tool", "tool_result", "tool_result:read", f"{number} words " * 20, "read", f"t{number}"
        )
        prompt += [asked, result]
    return found


def test_a_prompt_is_checked_where_something_changed_and_in_its_own_shape(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def note(parts: Sequence[Part], shape: Shape) -> list[str]:
        asked.append(shape)
        return refused(parts, shape)

    monkeypatch.setattr(replay_module, "refused", note)
    rule = Rule("evict", Match(tags=("tool_result:*",)), When(idle_calls=4))

    report, _ = run(growing(60), Policy(rules=(rule,), budget_tokens=500))

    changed = {item.call for item in report.freed}
    assert 0 < len(changed) < 60
    assert asked == ["anthropic"] * len(changed)


def test_an_object_behind_a_hidden_part_has_the_size_it_was_billed_with() -> None:
    hidden = Part("system", "hidden", "system_prompt", "")
    exchanges = [
        replace(each, prompt=(hidden, *each.prompt), usage=Usage(uncached=2 * each.usage.uncached + 900))
        for each in growing(12)
        if each.usage is not None
    ]
    heap = heap_of(exchanges)
    billed = {number: call.tokens[place] for call in heap.calls for place, number in enumerate(call.numbers)}
    rule = Rule("evict", Match(tags=("tool_result:*",)), When(idle_calls=4))

    def freed(least: int) -> list[int]:
        when = replace(rule.when, min_tokens=least)
        report, _ = run(exchanges, Policy(rules=(replace(rule, when=when),), budget_tokens=1))
        return [item.number for item in report.freed]

    first = freed(0)[0]
    assert first in freed(billed[first])
    assert first not in freed(billed[first] + 1)


def test_bill_adds_its_classes_up() -> None:
    assert Bill(read=3, written=4, uncached=5).input == 12
