"""Check how findings are told: in prose, net apart from gross, and nothing where nothing is."""

from __future__ import annotations

from dataclasses import replace

from ctxheap_collector.report.freeing import advice_report, cache, suggestions
from ctxheap_collector.report.layout import NO_BREAK, Line
from ctxheap_collector.report.regretted import regrets
from ctxheap_collector.report.sheet import View
from ctxheap_collector.report.suspects import sentences, suspects
from report.samples import leak_rows, session, suggestion_rows, troubled_session


def words(lines: list[Line]) -> str:
    return " ".join(" ".join(piece.text for line in lines for piece in line).split())


def test_leak_is_told_with_its_share_its_growth_and_what_is_to_come() -> None:
    told = words(suspects(session(), width=100, top=10))

    assert "critical leak · tool_result:read_file" in told
    assert "Dead tokens were added at 38 calls and grow by 611 a call." in told
    assert "cost $18.40 more (gross)" in told
    assert "growing, but in use: system_prompt" in told


def test_ballast_is_not_said_to_grow() -> None:
    told = words(suspects(session(), width=100, top=10))

    assert told.partition("major ballast")[2].count("dead tokens are carried to the end.") == 1


def test_ballast_that_left_before_the_end_is_not_carried_along_and_costs_nothing_more() -> None:
    left = replace(leak_rows()[1], level=0.0, score_usd=0.0)

    told = " ".join(sentences(left, session()))

    assert "It does not grow, and left before the end." in told
    assert "carried" not in told
    assert "If the session went on" not in told


def test_shares_of_a_suspect_are_in_one_unit() -> None:
    row = replace(leak_rows()[0], dead_low_usd=1.0, dead_usd=3.0)
    found = next(tag for tag in session().tags if tag.tag == row.tag)
    tag = replace(found, token_calls=1_000, rent_usd=4.0, dead_low_token_calls=100, dead_token_calls=400)
    priced = replace(session(), tags=(tag,), input_usd=8.0)
    unpriced = replace(
        priced, tags=(replace(priced.tags[0], rent_usd=None),), input_usd=None, token_calls=10_000
    )

    money = " ".join(sentences(row, priced)).replace(NO_BREAK, " ")
    tokens = " ".join(sentences(replace(row, dead_low_usd=None, dead_usd=None), unpriced)).replace(
        NO_BREAK, " "
    )

    assert "hold 50 % of this session's rent; 25–75 % of that was no longer used." in money
    assert "hold 10 % of this session's token-calls; 10–40 % of that was no longer used." in tokens


def test_trace_marks_the_suspect_edge_and_what_the_api_forces() -> None:
    told = words(suspects(session(), width=100, top=10, traced=True))

    assert "◀ suspect: held by the message list only" in told
    assert "pair: the API asks for it" in told


def test_accepted_rules_show_gross_re_billing_regret_and_net() -> None:
    told = words(suggestions(suggestion_rows(), width=120, top=10))

    assert "evict tool_result:read_file 41 118.0k $9.20 $1.30 $0.200 $7.70 6 calls" in told
    assert "not compact: would compact away 4 objects that were used later" in told


def test_pin_is_told_by_what_freeing_would_have_cost() -> None:
    pin = replace(
        suggestion_rows()[0], action="pin", evidence="5 objects used after lying idle", net_usd=0.646
    )

    told = words(suggestions([pin], width=100, top=10))

    assert told == (
        "pin tool_result:read_file: 5 objects used after lying idle; freeing them would have cost $0.646"
    )


def test_session_in_which_nothing_pays_says_so() -> None:
    told = words(suggestions(suggestion_rows()[1:], width=100, top=10))

    assert told.startswith("No rule would have paid here, net of re-billing and regret.")


def test_cache_breaks_are_summed_by_cause_the_most_tokens_first() -> None:
    told = words(cache(session(), width=100))

    assert told.index("time to live passed: 1 break, 84.0k tokens") < told.index("compaction: 1 break")
    assert "Freeing was free at 1 call" in told


def test_every_regret_is_named() -> None:
    told = words(regrets(session(), width=100))

    for part in ("fetched again", "thrash index 0.42", "1 edit failed", "1 receipt taken", "call 71, 88"):
        assert part in told
    assert "in circles from call 90 to 99: the same call with the same answer (bash), 4 times" in told
    assert "ended without one" in told


def test_session_without_findings_has_no_such_sections() -> None:
    quiet = troubled_session()

    assert suspects(quiet, width=100, top=10) == []
    assert suggestions(quiet.suggestions, width=100, top=10) == []
    assert cache(quiet, width=100) == []
    assert regrets(quiet, width=100) == []


def test_advice_says_why() -> None:
    told = words(advice_report(suggestion_rows(), 3, View(width=100)))

    assert "what freeing would save in 3 sessions" in told
    assert (
        "evict tool_result:read_file: leak, 41% of the session dead under the tag; confidence medium" in told
    )
