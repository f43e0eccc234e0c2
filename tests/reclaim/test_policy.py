"""Check that policies are read as they are written, and that errors say what to do."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ctxheap.heap.model import Part
from ctxheap.reclaim.policy import (
    Action,
    CacheAssumptions,
    Match,
    Policy,
    PolicyError,
    Rule,
    Trigger,
    When,
    default_policy,
    load_policy,
    mapping_of,
    policy_from,
)

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "reclaim.schema.json").read_text("utf-8"))

names = st.lists(st.text("abc*:_", min_size=1, max_size=6), max_size=2).map(tuple)
matches = st.builds(Match, names, names, st.text("af09", max_size=4), st.text(max_size=4))
counts = st.integers(0, 50)
whens = st.builds(When, st.booleans(), counts, counts, st.sampled_from(("young", "old", None)), counts)
rules = st.builds(
    Rule, st.sampled_from(get_args(Action)), matches, whens, st.integers(1, 9_999), st.text(max_size=4)
)
caches = st.builds(
    CacheAssumptions,
    st.none() | st.integers(1, 3_600),
    st.integers(1, 99),
    counts,
    st.none() | st.sampled_from((0.1, 0.5)),
    st.none() | st.just(1.25),
)
policies = st.builds(
    Policy,
    rules=st.lists(rules, max_size=3).map(tuple),
    pins=st.lists(matches, max_size=2).map(tuple),
    trigger=st.sampled_from(get_args(Trigger)),
    budget_tokens=st.none() | st.integers(1, 99),
    budget_share=st.sampled_from((0.25, 0.5, 1.0)),
    keep_recent_calls=st.integers(3, 9),
    idempotent_tools=names,
    cache=caches,
)


@given(policies)
def test_a_policy_comes_back_as_it_was_written_and_fits_the_schema(policy: Policy) -> None:
    written = mapping_of(policy)

    assert policy_from(json.loads(json.dumps(written))) == policy
    Draft202012Validator(SCHEMA).validate(cast("dict[str, Any]", written))  # pyright: ignore[reportUnknownMemberType] -- stubs name Unknown


def test_the_schema_knows_every_key() -> None:
    keys = {
        "policy": SCHEMA["properties"],
        **{name: SCHEMA["$defs"][name]["properties"] for name in ("match", "when", "rule")},
    }

    assert set(keys["policy"]) == {field.name for field in fields(Policy)} | {"version"}
    assert set(SCHEMA["properties"]["cache"]["properties"]) == {
        field.name for field in fields(CacheAssumptions)
    }
    assert [set(keys["match"]), set(keys["when"]), set(keys["rule"])] == [
        {field.name for field in fields(kind)} for kind in (Match, When, Rule)
    ]


YAML = """
trigger: economic
budget_tokens: 90000
pins:
  - {tags: user_turn, contains: production}
rules:
  - action: truncate
    match: {tags: ["tool_result:*"], signature: 3f9a}
    when: {min_tokens: 20000}
    max_tokens: 4000
"""


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "reclaim.yaml").write_text(YAML, "utf-8")

    assert load_policy(tmp_path / "reclaim.yaml") == Policy(
        rules=(
            Rule(
                "truncate",
                Match(("tool_result:*",), signature="3f9a"),
                When(min_tokens=20_000),
                max_tokens=4_000,
            ),
        ),
        pins=(Match(("user_turn",), contains="production"),),
        trigger="economic",
        budget_tokens=90_000,
    )


WRONG: list[tuple[object, str]] = [
    ({"ruels": []}, "ruels: []; known here: version, rules"),
    ({"rules": 3}, "rules: 3; a list is wanted"),
    (
        {"rules": [{"action": "evic"}]},
        "rules[0].action: 'evic'; one of dedupe, truncate, evict, pin, compact",
    ),
    ({"rules": [{}]}, "rules[0].action: None; one of"),
    (
        {"rules": [{"action": "evict", "when": {"idle_calls": True}}]},
        "rules[0].when.idle_calls: True; a whole",
    ),
    ({"rules": [{"action": "pin", "match": {"tags": [1]}}]}, "rules[0].match.tags: [1]; a list of names"),
    ({"keep_recent_calls": 2}, "keep_recent_calls: 2; a whole number from 3 is wanted"),
    ({"budget_share": 60}, "budget_share: 60; a number above 0, 1 at most is wanted"),
    ({"version": 2}, "version: 2; this release reads version 1"),
    ({"cache": {"ttl_seconds": 0}}, "cache.ttl_seconds: 0; a whole number from 1 is wanted"),
    ([], "policy: []; a mapping is wanted"),
]


@pytest.mark.parametrize(("document", "message"), WRONG)
def test_errors_name_key_value_and_remedy(document: object, message: str) -> None:
    with pytest.raises(PolicyError) as raised:
        policy_from(document)

    assert str(raised.value).startswith(message)


def test_a_file_that_is_no_yaml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "reclaim.yaml"
    path.write_text("rules: [", "utf-8")

    with pytest.raises(PolicyError, match=r"reclaim\.yaml: no YAML"):
        load_policy(path)


def test_the_budget_is_a_share_of_the_window_less_the_room_for_the_output() -> None:
    assert Policy(window_tokens=200_000, reserve_tokens=20_000, budget_share=0.5).budget == 90_000
    assert Policy(budget_tokens=7).budget == 7


def test_a_signature_narrows_only_where_the_object_has_one() -> None:
    part = Part("tool", "tool_result", "tool_result:grep", "x", "grep")
    match = Match(("tool_result:*",), ("gr*",), "aa")

    assert [match.fits(part), match.fits(part, signature="aa"), match.fits(part, signature="bb")] == [
        True,
        True,
        False,
    ]


def test_the_default_policy_acts_on_the_lower_dead_end_alone() -> None:
    assert [
        (rule.action, rule.when.idle_calls, rule.when.older_calls) for rule in default_policy().rules
    ] == [
        ("dedupe", 0, 0),
        ("truncate", 0, 0),
    ]
