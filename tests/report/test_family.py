"""Check how sessions find their parents and how one of them is picked."""

from __future__ import annotations

import pytest

from ctxheap_collector.report.contract import ProfileError
from ctxheap_collector.report.family import families, select
from report.samples import profile, session


def test_children_count_with_their_parents() -> None:
    found = families([session(id="a", cost_usd=1.0), session(id="b", cost_usd=2.0),
                      session(id="c", parent="a", cost_usd=4.0)])  # fmt: skip

    assert [(family.head.id, family.cost_usd) for family in found] == [("a", 5.0), ("b", 2.0)]


def test_one_unknown_price_ranks_all_by_token_calls() -> None:
    found = families([session(id="dear", cost_usd=9.0, token_calls=1),
                      session(id="large", cost_usd=None, token_calls=2)])  # fmt: skip

    assert [(family.head.id, family.cost_usd) for family in found] == [("large", None), ("dear", 9.0)]


def test_sessions_that_are_each_others_parents_are_all_shown() -> None:
    found = families([session(id="a", parent="b"), session(id="b", parent="a"), session(id="c", parent="c")])

    assert sorted(member.id for family in found for member in family.members()) == ["a", "b", "c"]


def test_session_without_its_parent_heads_a_family() -> None:
    assert [family.head.id for family in families([session(id="a", parent="gone")])] == ["a"]


def test_session_is_picked_by_the_beginning_of_its_id_with_what_is_below_it() -> None:
    whole = profile(session(id="root"), session(id="child-1", parent="root"),
                    session(id="leaf", parent="child-1"), session(id="other"))  # fmt: skip

    assert [member.id for member in select(whole, "child").sessions] == ["child-1", "leaf"]


def test_id_can_be_typed_as_tables_show_it() -> None:
    whole = profile(session(id="7f3a9c12-5f0e-4c11-9d3a-0a1b2c3d4e5f/a1"), session(id="other"))

    assert [member.id for member in select(whole, "7f3a9c12/a1").sessions] == [whole.sessions[0].id]


def test_whole_id_wins_over_longer_ones() -> None:
    assert [s.id for s in select(profile(session(id="a"), session(id="ab")), "a").sessions] == ["a"]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("a", "2 sessions begin with 'a': a1, a2; give more of the id"),
        ("z", "there is no session 'z'; the largest are a1, a2"),
    ],
)
def test_wrong_id_names_the_sessions_there_are(wanted: str, message: str) -> None:
    whole = profile(session(id="a1", cost_usd=2.0), session(id="a2", cost_usd=1.0))

    with pytest.raises(ProfileError) as caught:
        select(whole, wanted)

    assert str(caught.value) == message
