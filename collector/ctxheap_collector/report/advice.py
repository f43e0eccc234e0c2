"""Bring the suggestions of many sessions together: one rule an agent can run, with what it saves in all.

A rule that frees something in one session runs in all of them, so its net is summed over all: over
those where it was rejected too. What differs is taken from the most careful of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from ctxheap import __version__, tokens
from ctxheap.analysis.freeing import course_of
from ctxheap.analysis.regret import regret
from ctxheap.analysis.repeats import repeated_state
from ctxheap.analysis.study import Study, study
from ctxheap.analysis.suggestion_records import Suggestion
from ctxheap.analysis.suggestions import policy_of, suggest
from ctxheap.analysis.upstream import (
    Offer,
    Paragraph,
    loaded_skills,
    never_called,
    never_taken_up,
    offered_servers,
    offered_tools,
    prompt_paragraphs,
)
from ctxheap.analysis.upstream_advice import upstream_advice
from ctxheap.analysis.verdicts import verdicts
from ctxheap.heap.counts import TokenCounter
from ctxheap.reclaim.policy import Policy, Rule
from ctxheap_collector.report.build import file_report, heaps_of
from ctxheap_collector.report.contract import FileReport, Options
from ctxheap_collector.report.findings import SuggestionRow
from ctxheap_collector.report.findings_rows import suggestion_row
from ctxheap_collector.report.pricing import Pricing
from ctxheap_collector.report.row import Row
from ctxheap_collector.transcripts.detect import read_all

CounterFor = Callable[[str, str], TokenCounter]
Progress = Callable[[int], None]
_ORDER = ("high", "medium", "low")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice(Row):
    """Hold a whole run of `ctxheap suggest`: rows as in a profile, summed over the sessions."""

    ctxheap: str
    files: tuple[FileReport, ...]
    sessions: int
    suggestions: tuple[SuggestionRow, ...]


def advise(
    paths: Sequence[str],
    *,
    options: Options,
    progress: Progress | None = None,
    counter_for: CounterFor = tokens.counter_for,
) -> tuple[Advice, Policy]:
    """Return the suggestions for all sessions behind `paths`, and the policy of the accepted ones.

    Raises `ProfileError` when the price file cannot be used.
    """
    pricing = Pricing(options.prices)
    files: list[FileReport] = []
    studies: list[Study] = []
    for reading in read_all(sorted(set(paths)), on_bytes=progress):
        found = [study(heap, pricing.rates) for heap in heaps_of(reading.exchanges, counter_for=counter_for)]
        files.append(file_report(reading, len(found)))
        studies += [each for each in found if each.heap.session.startswith(options.session or "")]
    merged = list(joined([_suggestions(each) for each in studies], advice=upstream(studies)))
    rows = tuple(map(suggestion_row, merged))
    made = Advice(ctxheap=__version__, files=tuple(files), sessions=len(studies), suggestions=rows)
    return made, policy_of(merged)


def _suggestions(found: Study) -> list[Suggestion]:
    return suggest(found, verdicts(found), repeats=repeated_state(found), regret=regret(found))


def upstream(studies: Sequence[Study]) -> list[Suggestion]:
    """Return what should change where prompts are made: what no session of the fleet ever used."""
    if not studies:
        return []
    offers = [*offered_tools(studies), *offered_servers(studies), *loaded_skills(studies)]
    unused: list[Offer | Paragraph] = [*never_called(offers), *never_taken_up(prompt_paragraphs(studies))]
    return upstream_advice(unused, course_of(studies[-1]).factors[-1])


def joined(found: Iterable[Sequence[Suggestion]], *, advice: Sequence[Suggestion]) -> list[Suggestion]:
    """Return one suggestion a rule, summed over sessions; accepted ones first, each by its net."""
    groups: dict[tuple[str, str, str], list[Suggestion]] = {}
    for suggestions in found:
        for each in suggestions:
            groups.setdefault(_key(each), []).append(each)
    merged = [*(_joined(members) for members in groups.values()), *advice]
    return sorted(merged, key=lambda each: (not each.accepted, -each.net_tokens, each.action, each.tag))


def _key(each: Suggestion) -> tuple[str, str, str]:
    """Return what makes two suggestions one: the rule but for its numbers."""
    when = each.rule.when if each.rule else None
    kind = "" if when is None else f"{when.superseded} {when.generation} {bool(when.idle_calls)}"
    return each.action, each.tag, kind


def _joined(members: Sequence[Suggestion]) -> Suggestion:
    if len(members) == 1:
        return members[0]
    best = max(members, key=lambda each: (each.accepted, each.net_tokens))
    total = replace(
        best,
        rule=_careful([each.rule for each in members if each.rule and each.accepted == best.accepted]),
        objects=tuple(number for each in members for number in each.objects),
        tokens=sum(each.tokens for each in members),
        token_calls=sum(each.token_calls for each in members),
        gross_tokens=sum(each.gross_tokens for each in members),
        rebill_tokens=sum(each.rebill_tokens for each in members),
        regret_tokens=sum(each.regret_tokens for each in members),
        gross_usd=_sum(each.gross_usd for each in members),
        rebill_usd=_sum(each.rebill_usd for each in members),
        regret_usd=_sum(each.regret_usd for each in members),
        break_even_calls=_worst(each.break_even_calls for each in members if each.objects),
        confidence=max((each.confidence for each in members), key=_ORDER.index),
        used_later=tuple(number for each in members for number in each.used_later),
    )
    return _decided(total, members)


def _decided(total: Suggestion, members: Sequence[Suggestion]) -> Suggestion:
    """Return a summed suggestion accepted only where it pays in all and loses nothing anywhere."""
    accepted = sum(each.accepted for each in members)
    where = f"pays in {accepted} of {len(members)} sessions"
    harmed = sum(bool(each.used_later) for each in members)
    if accepted and total.net_tokens > 0 and not harmed:
        return replace(total, reason=where)
    if accepted and harmed:
        reason = f"{where}, but would free what was used later in {harmed}"
        return replace(total, accepted=False, reason=reason)
    return replace(total, accepted=False, reason=total.reason if not accepted else f"{where}, and not in all")


def _careful(rules: Sequence[Rule]) -> Rule | None:
    """Return a rule that frees no more than the most careful of some."""
    if not rules:
        return None
    first = rules[0]
    when = replace(
        first.when,
        idle_calls=max(rule.when.idle_calls for rule in rules),
        older_calls=max(rule.when.older_calls for rule in rules),
        min_tokens=max(rule.when.min_tokens for rule in rules),
    )
    return replace(first, when=when, max_tokens=max(rule.max_tokens for rule in rules))


def _sum(amounts: Iterable[float | None]) -> float | None:
    found = list(amounts)
    known = [amount for amount in found if amount is not None]
    return sum(known) if len(known) == len(found) else None


def _worst(calls: Iterable[float]) -> float:
    return max((each for each in calls if isfinite(each)), default=0.0)
