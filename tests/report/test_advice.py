"""Check that many sessions get one policy, and that its figures are those of all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxheap_collector.report.advice import advise
from ctxheap_collector.report.contract import Options
from ctxheap_collector.report.replays import replays

LISTING = " ".join(f"entry-{k:04}.log" for k in range(900))


def polling(path: Path, name: str, *, steps: int) -> str:
    """Write an agent that asks for the same listing at every step."""
    messages: list[dict[str, object]] = [{"role": "user", "content": f"Watch the folder {name}."}]
    for k in range(steps):
        call = {"name": "list_dir", "arguments": json.dumps({"path": f"/var/{name}"})}
        asked = {"id": f"c{k}", "type": "function", "function": call}
        messages.append({"role": "assistant", "content": f"Look number {k}.", "tool_calls": [asked]})
        messages.append({"role": "tool", "tool_call_id": f"c{k}", "content": f"{name} {LISTING}"})
    messages.append({"role": "assistant", "content": "It is not empty."})
    file = path / f"{name}.json"
    file.write_text(json.dumps({"model": "gpt-4o", "messages": messages}), "utf-8")
    return str(file)


def test_figures_of_a_rule_are_those_of_all_sessions(tmp_path: Path) -> None:
    paths = [polling(tmp_path, "spool", steps=40), polling(tmp_path, "mail", steps=25)]

    alone = [advise([path], options=Options())[0].suggestions[0] for path in paths]
    both, policy = advise(paths, options=Options())

    first = both.suggestions[0]
    assert (first.action, first.tag, first.accepted) == ("dedupe", "tool_result:list_dir", True)
    assert first.objects == sum(row.objects for row in alone)
    assert first.net_tokens == pytest.approx(sum(row.net_tokens for row in alone))
    assert [rule.action for rule in policy.rules].count("dedupe") == 1


def test_replay_of_the_policy_gives_about_the_net_that_was_promised(tmp_path: Path) -> None:
    paths = [polling(tmp_path, "spool", steps=40), polling(tmp_path, "mail", steps=25)]
    both, policy = advise(paths, options=Options())

    reports = [
        report for reports in replays(paths, policy, triggers=["economic"]).sessions for report in reports
    ]

    promised = sum(row.net_tokens for row in both.suggestions if row.accepted and row.action != "pin")
    assert sum(report.net_equivalents for report in reports) == pytest.approx(promised, rel=0.1)
    assert [report.refusals for report in reports] == [(), ()]


def test_order_of_paths_changes_nothing(tmp_path: Path) -> None:
    paths = [polling(tmp_path, "spool", steps=30), polling(tmp_path, "mail", steps=20)]

    assert advise(paths, options=Options()) == advise(paths[::-1], options=Options())


def test_no_rule_acts_on_a_tag_that_is_pinned(tmp_path: Path) -> None:
    _, policy = advise([polling(tmp_path, "spool", steps=30)], options=Options())

    pinned = {tag for pin in policy.pins for tag in pin.tags}
    assert not pinned & {tag for rule in policy.rules for tag in rule.match.tags}
