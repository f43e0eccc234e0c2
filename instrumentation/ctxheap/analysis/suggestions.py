"""Suggest what to free and what not to send, each with its net saving and the reason if it does not pay.

    leaks, repeats ──▶ proposed rules ──▶ played together under the economic trigger ──▶ net of each
                                                     ▲ the worst that does not pay is dropped ─┘

Figures of accepted rules add up: they are played as one policy, and what a cut makes the cache store
again is shared by size among what leaves at it. Rejected rules show what they would have come to.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ctxheap.analysis.compaction_advice import compaction_advice
from ctxheap.analysis.freeing import Candidate, Course, Freed, course_of, play, totals
from ctxheap.analysis.proposals import Proposal, proposals
from ctxheap.analysis.regret import Regret
from ctxheap.analysis.repeats import RepeatedState
from ctxheap.analysis.reuse import Reuse, refetch_tokens
from ctxheap.analysis.series import ThetaOf
from ctxheap.analysis.study import Study
from ctxheap.analysis.suggestion_records import Confidence, Suggestion, objects_of
from ctxheap.analysis.upstream import Offer, Paragraph
from ctxheap.analysis.upstream_advice import top_k_advice, upstream_advice
from ctxheap.analysis.verdicts import Leak
from ctxheap.reclaim.policy import READS, Match, Policy, Rule

MEDIUM_WATCHED = 20
"""Objects seen idle that long from which on an idle rule is more than a guess."""


def suggest(
    study: Study,
    leaks: Sequence[Leak],
    *,
    repeats: Sequence[RepeatedState] = (),
    upstream: Sequence[Offer | Paragraph] = (),
    regret: Regret | None = None,
    theta: ThetaOf | None = None,
) -> list[Suggestion]:
    """Return the suggestions for a session, accepted ones first, each by its net saving.

    Args:
        study: The session.
        leaks: Its verdicts; idle rules are proposed for leaks and ballast only.
        repeats: Its repeated state, as evidence.
        upstream: What a fleet of the agent's sessions never used.
        regret: What the session regrets of what left its prompt; tags that thrash are left alone.
        theta: θ of a tag in calls, from the fleet's reuse gaps.
    """
    reuse = Reuse(study)
    weighed = Weighing(study, course_of(study), reuse)
    thrashing = frozenset(regret.never_evict) if regret else frozenset[str]()
    found = weighed.judge(proposals(study, leaks, reuse, theta=theta), thrashing=thrashing)
    found = [_with_repeats(each, repeats) for each in found]
    found += weighed.pins([each for each in found if not each.accepted], found)
    found += _unless_others(compaction_advice(study, weighed.course, theta=theta), found)
    found += top_k_advice(study, weighed.course)
    found += upstream_advice(upstream, weighed.course.factors[-1]) if weighed.course.factors else []
    return sorted(found, key=lambda each: (not each.accepted, -each.net_tokens, each.action, each.tag))


def _unless_others(compactions: Iterable[Suggestion], found: Iterable[Suggestion]) -> list[Suggestion]:
    """Return compactions, refused where other rules are accepted: what those save it cannot save again."""
    others = any(each.accepted and each.objects for each in found)
    reason = "other rules free what is dead and leave the rest as it is"
    return [
        replace(each, accepted=False, reason=reason) if each.accepted and others else each
        for each in compactions
    ]


def policy_of(suggestions: Iterable[Suggestion]) -> Policy:
    """Return the policy that the accepted suggestions make, with the economic trigger."""
    order = ("dedupe", "truncate", "evict", "compact")
    chosen = [each for each in suggestions if each.accepted and each.rule is not None]
    rules = sorted(
        (each.rule for each in chosen if each.rule and each.action in order),
        key=lambda rule: order.index(rule.action),
    )
    pins = [each.rule.match for each in chosen if each.rule and each.action == "pin"]
    return Policy(rules=tuple(rules), pins=tuple(pins), trigger="economic", idempotent_tools=READS)


@dataclass(slots=True)
class Weighing:
    """Play proposals, and turn what they come to into suggestions."""

    study: Study
    course: Course
    reuse: Reuse

    def judge(self, found: Sequence[Proposal], *, thrashing: frozenset[str]) -> list[Suggestion]:
        """Return a suggestion for each proposal: refused, dropped because it does not pay, or accepted."""
        refused = {place: self._refusal(each, thrashing) for place, each in enumerate(found)}
        kept = [place for place in refused if not refused[place]]
        suggestions = {
            place: replace(self._alone(found[place]), reason=reason, is_refused=True)
            for place, reason in refused.items()
            if reason
        }
        while kept:
            weighed = self.together([found[place] for place in kept])
            figures = dict(zip(kept, weighed, strict=True))
            worst = min(kept, key=lambda place: figures[place].net_tokens)
            # what a dropped rule leaves may fall to one that has nothing yet, so those go last
            dropped = [worst] if figures[worst].net_tokens < 0 else []
            dropped = dropped or [place for place in kept if figures[place].net_tokens <= 0]
            suggestions.update((place, _dropped(figures[place])) for place in dropped)
            if not dropped:
                suggestions.update((place, _accepted(figures[place])) for place in kept)
                break
            kept = [place for place in kept if place not in dropped]
        return [suggestions[place] for place in sorted(suggestions)]

    def _refusal(self, proposal: Proposal, thrashing: frozenset[str]) -> str:
        if proposal.used_later:
            return f"would free {objects_of(len(proposal.used_later))} before a later use"
        if proposal.tag in thrashing:
            return "what left the prompt under this tag was fetched again too often"
        return proposal.doubt

    def _alone(self, proposal: Proposal) -> Suggestion:
        return self.together([proposal])[0]

    def pins(self, refused: Iterable[Suggestion], found: Iterable[Suggestion]) -> list[Suggestion]:
        """Return a pin for each tag that idle rules would err on and no accepted rule touches.

        What it saves is fetching again what the idle rule would have freed before a use.
        """
        touched = {each.tag for each in found if each.accepted}
        wrong = {each.tag: each for each in refused if each.used_later and each.tag not in touched}
        return [self._pin(each) for each in wrong.values()]

    def _pin(self, wrong: Suggestion) -> Suggestion:
        rule = Rule("pin", Match(tags=(wrong.tag,)), reason="used again after lying idle for long")
        pin = Suggestion(
            action="pin",
            tag=wrong.tag,
            rule=rule,
            gross_tokens=wrong.lost_tokens,
            gross_usd=wrong.lost_usd,
            rebill_usd=None if wrong.lost_usd is None else 0.0,
            regret_usd=None if wrong.lost_usd is None else 0.0,
            evidence=f"{objects_of(len(wrong.used_later))} used after lying idle for long",
            keeps=wrong.used_later,
        )
        if pin.net_tokens <= 0:
            return replace(pin, reason="the rule that would err on it never came to act here")
        return replace(
            pin, accepted=True, reason="an idle rule would free it before a use; the net is what that costs"
        )

    def together(self, found: Sequence[Proposal]) -> list[Suggestion]:
        """Return what each proposal comes to when all are played as one policy.

        An object goes by the rule that may free it first, the earlier rule where two may.
        """
        first: dict[int, tuple[int, Candidate]] = {}
        for place, proposal in enumerate(found):
            for each in proposal.candidates:
                if each.number not in first or each.call < first[each.number][1].call:
                    first[each.number] = (place, each)
        freed = play(self.study, self.course, [each for _, each in first.values()])
        groups: dict[int, list[int]] = {}
        for number in freed:
            groups.setdefault(first[number][0], []).append(number)
        return [
            self._suggestion(proposal, freed, groups.get(place, ())) for place, proposal in enumerate(found)
        ]

    def _suggestion(
        self, proposal: Proposal, freed: Mapping[int, Freed], numbers: Sequence[int]
    ) -> Suggestion:
        sums = totals(freed, numbers)
        late = set(proposal.used_later)
        risks = {number: self._risk(proposal, freed[number], is_certain=number in late) for number in numbers}
        is_priced = self.study.is_priced
        return Suggestion(
            action=proposal.rule.action,
            tag=proposal.tag,
            rule=proposal.rule,
            objects=tuple(numbers),
            freed_at=tuple(freed[number].call for number in numbers),
            tokens=sums.tokens,
            token_calls=sums.token_calls,
            gross_tokens=sums.gross,
            rebill_tokens=sums.rebill,
            regret_tokens=sum(tokens for tokens, _ in risks.values()),
            gross_usd=sums.gross_usd if is_priced else None,
            rebill_usd=sums.rebill_usd if is_priced else None,
            regret_usd=sum(usd for _, usd in risks.values()) if is_priced else None,
            break_even_calls=_break_even(sums),
            confidence=self._confidence(proposal),
            evidence=proposal.evidence,
            used_later=proposal.used_later,
            lost_tokens=sum(risks[number][0] for number in numbers if number in late),
            lost_usd=sum(risks[number][1] for number in numbers if number in late) if is_priced else None,
        )

    def _risk(self, proposal: Proposal, freed: Freed, *, is_certain: bool) -> tuple[float, float]:
        """Return P·F of a freed object in token equivalents and USD; nothing fetches the surely dead."""
        if proposal.is_sure and not is_certain:
            return 0.0, 0.0
        factors = self.course.factors[freed.call - 1]
        likely = self.reuse.probability(proposal.tag, idle=proposal.idle, horizon=freed.calls)
        tokens = (1.0 if is_certain else likely) * refetch_tokens(self.study, freed, factors)
        return tokens, factors.usd(tokens) or 0.0

    def _confidence(self, proposal: Proposal) -> Confidence:
        if proposal.is_sure:
            return "high"
        watched = self.reuse.watched(proposal.tag, idle=proposal.idle)
        return "medium" if watched >= MEDIUM_WATCHED else "low"


def _break_even(sums: Freed) -> float:
    """Return the calls that earn the re-billing back, at the mean saving of a call without an object."""
    if not sums.rebill:
        return 0.0
    return sums.rebill * sums.token_calls / (sums.gross * sums.tokens) if sums.gross else math.inf


def _accepted(found: Suggestion) -> Suggestion:
    return replace(found, accepted=True, reason=f"net of re-billing and regret it saves {_share(found)}")


def _share(found: Suggestion) -> str:
    usd = found.net_usd
    return f"{found.net_tokens:,.0f} token equivalents" if usd is None else f"${usd:,.4f}"


def _dropped(found: Suggestion) -> Suggestion:
    if not found.objects:
        return replace(found, reason="the cache never made it worth while here")
    if found.gross_tokens > found.rebill_tokens:
        return replace(found, reason="net ≤ 0: fetching some of it again is too likely for what it saves")
    return replace(found, reason="net ≤ 0: what the cache stores again costs more than it saves")


def _with_repeats(found: Suggestion, repeats: Sequence[RepeatedState]) -> Suggestion:
    """Add to the evidence how much of the tag repeats what another object holds."""
    kinds: dict[str, int] = {}
    for each in repeats:
        if each.tag == found.tag:
            kinds[each.kind] = kinds.get(each.kind, 0) + each.token_calls
    if not kinds or found.action != "dedupe":
        return found
    said = ", ".join(f"{kind} {tokens:,} token-calls" for kind, tokens in sorted(kinds.items()))
    return replace(found, evidence=f"{found.evidence}; {said}")
