"""Check that policies are read as they are written, and that errors say what to do."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from hypothesis import example, given, settings
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


VALUES: st.SearchStrategy[object] = st.sampled_from(
    (
        None,
        True,
        0,
        1,
        1.0,
        1.5,
        3,
        3.0,
        -1,
        10**9,
        10**9 + 1,
        1e300,
        10**400,
        "",
        "a",
        "old",
        [],
        ["a"],
        {},
        [""],
    )
)


def keyed(properties: dict[str, Any], **inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Return mappings of a schema's keys, and now and then another key."""
    kinds = {name: inner.get(name, st.nothing()) | VALUES for name in (*properties, "other")}
    picked = st.lists(st.sampled_from(sorted(kinds)), max_size=3, unique=True)
    return picked.flatmap(lambda names: st.fixed_dictionaries({name: kinds[name] for name in names}))


_DEFS = SCHEMA["$defs"]
_MATCH = keyed(_DEFS["match"]["properties"])
_RULE = keyed(
    _DEFS["rule"]["properties"],
    action=st.sampled_from(get_args(Action)),
    match=_MATCH,
    when=keyed(_DEFS["when"]["properties"]),
)
documents = keyed(
    SCHEMA["properties"],
    trigger=st.sampled_from(get_args(Trigger)),
    cache=keyed(SCHEMA["properties"]["cache"]["properties"]),
    pins=st.lists(_MATCH, max_size=2),
    rules=st.lists(_RULE, max_size=2),
)


def is_read(document: object) -> bool:
    try:
        policy_from(document)
    except PolicyError:
        return False
    return True


@settings(max_examples=1_000)
@given(documents)
@example({"budget_tokens": None})
@example({"rules": [{"action": "evict", "when": {"generation": None}}]})
@example({"version": 1.0, "reserve_tokens": 1.0})
@example({"cache": {"read_factor": math.inf}})
def test_schema_and_code_take_the_same_documents(document: object) -> None:
    schema = Draft202012Validator(SCHEMA)

    assert is_read(document) == schema.is_valid(cast("dict[str, Any]", document))  # pyright: ignore[reportUnknownMemberType] -- stubs name Unknown


def bomb(key: str) -> str:
    levels = [f"&a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    return f"{key}:\n- &a0 [x]\n" + "".join(f"- {level}\n" for level in levels)


UNUSABLE = {
    "aliases": (bomb("rules"), "line 3: an alias (*); write what it stands for"),
    "aliases of an unknown key": (bomb("rule"), "line 3: an alias (*); write what it stands for"),
    "a number beyond floats": (f"window_tokens: 1{'0' * 400}", "window_tokens: 1000"),
    "a number of too many digits": (f"window_tokens: 1{'0' * 5_000}", "no YAML: Exceeds the limit"),
    "a date": ("version: 2026-13-45", "version: '2026-13-45'; a whole number"),
    "a tag that does not fit": ("version: !!timestamp x", "no YAML"),
    "lists in lists": ("[" * 3_000, "nested too deep"),
    "infinity": ("cache: {read_factor: .inf}", "cache.read_factor: inf; a number from 0 to 1000"),
    "a key twice": ("trigger: eager\ntrigger: economic", "line 2: 'trigger' stands twice; leave one out"),
    "a key that is no text": ("? [a, b]\n: 1", "line 1: ['a', 'b'] as a key; text is wanted"),
    "nothing": ("# rules to come\n", "nothing in it; a policy that frees nothing is `version: 1`"),
    "a key without a value": ("rules:", "rules: None; a list is wanted"),
    "a long key": (f"{'k' * 999}: 1", "'kkkk"),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", UNUSABLE)
def test_an_unusable_file_is_refused_at_once_and_in_few_words(tmp_path: Path, name: str) -> None:
    text, message = UNUSABLE[name]
    (tmp_path / "p.yaml").write_text(text, "utf-8")

    with pytest.raises(PolicyError) as raised:
        load_policy(tmp_path / "p.yaml")

    assert str(raised.value).startswith(f"{tmp_path / 'p.yaml'}: {message}")
    assert len(str(raised.value)) < 600


@pytest.mark.timeout(20)
def test_errors_about_nested_mappings_are_bounded() -> None:
    nested: object = ["x"] * 10
    for _ in range(12):
        nested = [nested] * 10

    for document in ({"rules": [nested]}, {"rule": nested}, {10**5_000: 1}, {"version": 10**5_000}, nested):
        with pytest.raises(PolicyError) as raised:
            policy_from(document)
        assert len(str(raised.value)) < 600


def test_a_window_that_is_named_is_kept_whatever_it_is() -> None:
    assert policy_from({"window_tokens": 200_000}).window_tokens == 200_000
    assert mapping_of(policy_from({"window_tokens": 200_000}))["window_tokens"] == 200_000
    assert (Policy().window_tokens, Policy().window) == (None, 200_000)
