"""Make one policy for many sessions: a rule that runs in one runs in all of them, so all are weighed.

suggestions of each session ──▶ one rule an action and tag, as careful as the most careful
refused where any session refuses it
the rules that are left     ──▶ played together in every session; what does not pay over all, or
frees something before a use anywhere, is dropped
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from ctxheap.analysis.freeing import course_of
from ctxheap.analysis.proposals import Proposal, proposal_of
from ctxheap.analysis.reuse import Reuse
from ctxheap.analysis.study import Study
from ctxheap.analysis.suggestion_records import Suggestion, objects_of
from ctxheap.analysis.suggestions import Weighing
from ctxheap.heap.presumed import ReuseGaps, gaps_of
from ctxheap.reclaim.policy import Rule

Key = tuple[str, str, bool]
_ORDER = ("high", "medium", "low")
_RULES = frozenset({"dedupe", "evict", "truncate"})


def pooled_gaps(studies: Iterable[Study]) -> dict[str, ReuseGaps]:
    """Return the reuse gaps of each agent's sessions (SPEC 5.5)."""
    gaps: dict[str, ReuseGaps] = {}
    for each in studies:
        pool = gaps.setdefault(each.heap.agent, ReuseGaps())
        for item, uses in zip(each.heap.objects, each.account.uses, strict=True):
            if not item.inherent:
                pool.add(item.tag, gaps_of(item.birth, item.last, list(uses)))
    return gaps


def thetas(studies: Sequence[Study]) -> dict[str, dict[str, int]]:
    """Return θ by agent and tag in calls, where at least 200 gaps of a fleet are known.

    The horizon is half the mean length of the agent's sessions: what is to come from the middle on.
    """
    found: dict[str, dict[str, int]] = {}
    for agent, gaps in pooled_gaps(studies).items():
        own = [each for each in studies if each.heap.agent == agent]
        horizon = fmean(len(each.heap.calls) for each in own) / 2
        tags = dict.fromkeys(item.tag for each in own for item in each.heap.objects)
        known = {tag: gaps.theta(tag, horizon=horizon) for tag in tags}
        found[agent] = {tag: theta for tag, theta in known.items() if theta is not None}
    return found


def fleet_suggestions(studies: Sequence[Study], found: Sequence[Sequence[Suggestion]]) -> list[Suggestion]:
    """Return the suggestions of single sessions as one a rule, accepted ones first, each by its net.

    Args:
        studies: The sessions.
        found: The suggestions for each of them.
    """
    if len(studies) == 1:
        return list(found[0])
    groups: dict[Key, list[Suggestion]] = {}
    for suggestions in found:
        for each in suggestions:
            groups.setdefault(_key(each), []).append(each)
    judged = {key: _judged(members) for key, members in groups.items()}
    rules = {
        key: each.rule for key, each in judged.items() if each.accepted and key[0] in _RULES and each.rule
    }
    judged |= _weighed(studies, rules, judged)
    touched = {each.tag for key, each in judged.items() if each.accepted and key[0] in _RULES}
    for key, each in judged.items():
        if each.accepted and each.action == "pin" and each.tag in touched:
            reason = "an accepted rule acts on this tag and errs nowhere"
            judged[key] = replace(each, accepted=False, reason=reason)
    return sorted(
        judged.values(), key=lambda each: (not each.accepted, -each.net_tokens, each.action, each.tag)
    )


def _key(each: Suggestion) -> Key:
    return each.action, each.tag, bool(each.rule and each.rule.when.superseded)


def _judged(members: Sequence[Suggestion]) -> Suggestion:
    """Return the sum of the suggestions for one rule, accepted unless a session refuses it."""
    refused = [each for each in members if each.is_refused]
    accepted = [each for each in members if each.accepted]
    best = max(members, key=lambda each: (each.is_refused, each.accepted, each.net_tokens))
    total = replace(_summed(best, members), rule=_careful([each.rule for each in members if each.rule]))
    if refused:
        late = sum(len(each.used_later) for each in refused)
        why = f"would free {objects_of(late)} before a later use" if late else best.reason
        where = f"{len(refused)} of {len(members)} sessions"
        return replace(total, accepted=False, reason=f"refused in {where}: {why}")
    if not accepted or best.action == "compact":
        return replace(total, accepted=False)
    return replace(total, accepted=True, reason=f"pays in {len(accepted)} of {len(members)} sessions")


def _careful(rules: Sequence[Rule]) -> Rule | None:
    """Return a rule that frees no more than the most careful of some."""
    if not rules:
        return None
    when = replace(
        rules[0].when,
        idle_calls=max(rule.when.idle_calls for rule in rules),
        older_calls=max(rule.when.older_calls for rule in rules),
        min_tokens=max(rule.when.min_tokens for rule in rules),
    )
    return replace(rules[0], when=when, max_tokens=max(rule.max_tokens for rule in rules))


def _weighed(
    studies: Sequence[Study], rules: Mapping[Key, Rule], judged: Mapping[Key, Suggestion]
) -> dict[Key, Suggestion]:
    """Return the rules as played together in every session, those dropped that do not pay or err."""
    weighings = [Weighing(each, course_of(each), Reuse(each)) for each in studies]
    kept, result = dict(rules), dict[Key, Suggestion]()
    while kept:
        sums = _played(weighings, kept, judged)
        wrong = {key: each for key, each in sums.items() if each.used_later}
        losing = {key: each for key, each in sums.items() if each.net_tokens <= 0}
        dropped = wrong or dict(sorted(losing.items(), key=lambda pair: pair[1].net_tokens)[:1])
        for key, each in dropped.items():
            late = f"as one rule for all it would free {objects_of(len(each.used_later))} before a later use"
            reason = late if each.used_later else "net ≤ 0 over all sessions"
            result[key] = replace(each, accepted=False, reason=reason)
        if not dropped:
            return result | {key: replace(each, accepted=True) for key, each in sums.items()}
        kept = {key: rule for key, rule in kept.items() if key not in dropped}
    return result


def _played(
    weighings: Sequence[Weighing], rules: Mapping[Key, Rule], judged: Mapping[Key, Suggestion]
) -> dict[Key, Suggestion]:
    """Return what each rule comes to over all sessions when all of them run."""
    members: dict[Key, list[Suggestion]] = {key: [] for key in rules}
    for weighing in weighings:
        found: list[Proposal] = [proposal_of(weighing.study, rule) for rule in rules.values()]
        for key, each in zip(rules, weighing.together(found), strict=True):
            members[key].append(each)
    return {
        key: replace(_summed(judged[key], each), rule=rules[key], reason=judged[key].reason)
        for key, each in members.items()
    }


def _summed(first: Suggestion, members: Sequence[Suggestion]) -> Suggestion:
    """Return the sums of some suggestions in the words of one."""
    return replace(
        first,
        objects=tuple(number for each in members for number in each.objects),
        freed_at=tuple(call for each in members for call in each.freed_at),
        tokens=sum(each.tokens for each in members),
        token_calls=sum(each.token_calls for each in members),
        gross_tokens=sum(each.gross_tokens for each in members),
        rebill_tokens=sum(each.rebill_tokens for each in members),
        regret_tokens=sum(each.regret_tokens for each in members),
        gross_usd=_sum(each.gross_usd for each in members),
        rebill_usd=_sum(each.rebill_usd for each in members),
        regret_usd=_sum(each.regret_usd for each in members),
        break_even_calls=max((each.break_even_calls for each in members if each.objects), default=0.0),
        confidence=max((each.confidence for each in members), key=_ORDER.index),
        used_later=tuple(number for each in members for number in each.used_later),
        lost_tokens=sum(each.lost_tokens for each in members),
        keeps=tuple(number for each in members for number in each.keeps),
    )


def _sum(amounts: Iterable[float | None]) -> float | None:
    found = list(amounts)
    known = [amount for amount in found if amount is not None]
    return sum(known) if len(known) == len(found) else None
