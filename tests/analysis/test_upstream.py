"""Check which tools, paragraphs and skills of a fleet are said to be unused, and what they cost."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import pytest

from ctxheap.analysis.study import Study, study
from ctxheap.analysis.upstream import (
    loaded_skills,
    never_called,
    never_taken_up,
    offered_servers,
    offered_tools,
    prompt_paragraphs,
    skill_of,
)
from ctxheap.heap.evidence import Use
from ctxheap.heap.facts.records import Section
from ctxheap.heap.model import Kind, Usage
from ctxheap.heap.records import Call, Heap, HeapObject
from ctxheap.prices import Rates

RATES = Rates(1e-3, 1e-4, 1.25e-3, 2e-3, 5e-3, "test", "2026-12-01")
OFFERED = ("tool_definition:search", "tool_definition:mcp__mail__send", "tool_definition:mcp__mail__list")


def session(tags: Sequence[str], *, calls: int = 2, rates: Rates | None = RATES) -> Study:
    """Return a session whose objects, of 10 tokens each, are there from the first to the last call."""
    found = Heap("s", None, "agent")
    for number, tag in enumerate(tags):
        kind: Kind = "tool_definition" if tag.startswith("tool_definition") else "text"
        found.objects.append(
            HeapObject(number, str(number), kind, tag, tag, 1, calls, 0, pinned=False, error=False)
        )
    for k in range(1, calls + 1):
        found.calls.append(
            Call(
                number=k,
                id=str(k),
                model="m",
                provider="",
                started_ns=None,
                usage=Usage(uncached=10 * len(tags)),
                numbers=array("I", range(len(tags))),
                tokens=array("q", [10] * len(tags)),
                born=tuple(range(len(tags))) if k == 1 else (),
                extends=True,
                exact=True,
                implied=False,
                incomplete=False,
                compaction=None,
                messages=0,
            )
        )
    return study(found, lambda _call: rates)


def test_tools_are_counted_by_sessions_that_were_offered_and_that_called_them() -> None:
    fleet = [session([*OFFERED, "tool_call:search", "tool_call:search"]), session(OFFERED[:2], calls=4)]

    found = {each.name: each for each in offered_tools(fleet)}

    search, send = found["search"], found["mcp__mail__send"]
    assert (search.sessions, search.sessions_used, search.calls, search.token_calls) == (2, 1, 2, 60)
    assert (send.sessions, send.sessions_used, send.calls, send.tokens) == (2, 0, 0, 10.0)
    assert search.rent_usd == pytest.approx(0.06)
    assert found["mcp__mail__list"].token_calls == 20


def test_a_server_is_used_when_any_of_its_tools_is() -> None:
    fleet = [session([*OFFERED, "tool_call:mcp__mail__list"]), session(OFFERED)]

    (server,) = offered_servers(fleet)

    assert (server.name, server.tools) == ("mail", ("mcp__mail__list", "mcp__mail__send"))
    assert (server.sessions, server.sessions_used, server.calls) == (2, 1, 1)
    assert (server.tokens, server.token_calls) == (20.0, 80)


def test_never_called_needs_enough_sessions() -> None:
    fleet = [session([*OFFERED, "tool_call:search"]) for _ in range(5)]

    assert [each.name for each in never_called(offered_tools(fleet))] == [
        "mcp__mail__list",
        "mcp__mail__send",
    ]
    assert never_called(offered_tools(fleet[:4])) == []


def test_an_unknown_price_leaves_the_money_of_the_whole_fleet_unknown() -> None:
    fleet = [session(OFFERED[:1]), session(OFFERED[:1], rates=None)]

    assert [each.rent_usd for each in offered_tools(fleet)] == [None]


def test_paragraphs_of_a_fleet_are_candidates_when_they_say_enough_and_none_took_them_up() -> None:
    fleet = [session(["system_prompt"]) for _ in range(5)]
    for number, each in enumerate(fleet):
        each.heap.facts.sections = [
            Section(0, 0, "used", 0.5, uses=int(number == 3), title="Used", telling=9),
            Section(0, 1, "idle", 0.3, uses=0, title="Idle", telling=9),
            Section(0, 2, "brief", 0.2, uses=0, title="Brief", telling=1),
        ]

    found = prompt_paragraphs(fleet)

    assert [(each.title, each.sessions, each.sessions_used) for each in found] == [
        ("Used", 5, 1),
        ("Idle", 5, 0),
        ("Brief", 5, 0),
    ]
    assert [each.title for each in never_taken_up(found, min_sessions=5)] == ["Idle"]
    assert [each.share for each in found] == pytest.approx([0.5, 0.3, 0.2])
    assert found[1].token_calls == pytest.approx(5 * 2 * 10 * 0.3)
    assert found[1].rent_usd == pytest.approx(5 * 2 * 0.01 * 0.3)
    assert never_taken_up(found, min_sessions=6) == []
    assert never_taken_up(found) == []


def test_a_skill_is_used_when_an_output_took_something_up_from_it() -> None:
    fleet = [session(["harness:skill"]), session(["harness:skill"])]
    for each in fleet:
        each.heap.objects[0].name = 'skill "Base directory for this skill: /home/x/skills/pdf # PDF'
    used = fleet[0].heap
    used.uses = [Use(0, 1, "quote", 1.0, "used"), Use(0, 2, "quote", 1.0, "used")]

    (skill,) = loaded_skills([study(used, lambda _call: RATES), fleet[1]])

    assert (skill.name, skill.kind, skill.sessions, skill.sessions_used, skill.calls) == (
        "pdf",
        "skill",
        2,
        1,
        2,
    )


def test_a_text_that_names_no_folder_is_its_own_name() -> None:
    assert skill_of('skill "How to write"') == 'skill "How to write"'
