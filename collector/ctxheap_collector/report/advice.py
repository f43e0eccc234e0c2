"""Read sessions and advise on them all: one policy, what it saves, and what should change upstream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ctxheap import __version__, tokens
from ctxheap.analysis.fleet_advice import fleet_suggestions, thetas
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
from ctxheap.reclaim.policy import Policy
from ctxheap_collector.report.build import file_report, heaps_of
from ctxheap_collector.report.contract import FileReport, Options, ProfileError
from ctxheap_collector.report.family import is_meant
from ctxheap_collector.report.findings import SuggestionRow
from ctxheap_collector.report.findings_rows import suggestion_row
from ctxheap_collector.report.pricing import Pricing
from ctxheap_collector.report.row import Row
from ctxheap_collector.transcripts.detect import read_all

CounterFor = Callable[[str, str], TokenCounter]
Progress = Callable[[int], None]


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

    Raises `ProfileError` when the price file cannot be used, or no session is the one asked for.
    """
    pricing = Pricing(options.prices)
    files: list[FileReport] = []
    studies: list[Study] = []
    for reading in read_all(sorted(set(paths)), on_bytes=progress):
        found = [study(heap, pricing.rates) for heap in heaps_of(reading.exchanges, counter_for=counter_for)]
        files.append(file_report(reading, len(found)))
        studies += [each for each in found if is_meant(each.heap.session, options.session or "")]
    count = sum(report.sessions for report in files)
    if count and not studies:
        raise ProfileError(f"there is no session {options.session!r} among the {count} read")
    known = thetas(studies)
    single = [_suggestions(each, known.get(each.heap.agent, {})) for each in studies]
    merged = [*fleet_suggestions(studies, single), *upstream(studies)] if studies else []
    rows = tuple(map(suggestion_row, merged))
    made = Advice(ctxheap=__version__, files=tuple(files), sessions=len(studies), suggestions=rows)
    return made, policy_of(merged)


def _suggestions(found: Study, theta: Mapping[str, int]) -> list[Suggestion]:
    leaks = verdicts(found, theta=theta.get)
    repeats = repeated_state(found)
    return suggest(found, leaks, repeats=repeats, regret=regret(found), theta=theta.get)


def upstream(studies: Sequence[Study]) -> list[Suggestion]:
    """Return what should change where prompts are made: what no session of the fleet ever used."""
    if not studies:
        return []
    offers = [*offered_tools(studies), *offered_servers(studies), *loaded_skills(studies)]
    unused: list[Offer | Paragraph] = [*never_called(offers), *never_taken_up(prompt_paragraphs(studies))]
    return upstream_advice(unused, course_of(studies[-1]).factors[-1])
