"""Turn what a fleet never used, and what a retriever returned in vain, into advice for people.

No rule can mend this: the next session is sent the same again. All of it is gross, since a prompt
that is shorter from the start breaks no cache; what leaving it out may cost is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ctxheap.analysis.factors import Factors
from ctxheap.analysis.freeing import Course
from ctxheap.analysis.study import Study
from ctxheap.analysis.suggestion_records import Suggestion
from ctxheap.analysis.upstream import MIN_SESSIONS, Offer, Paragraph
from ctxheap.heap.subject import base_of

MIN_ROUNDS = 3
"""Retrievals from which on a top-k is worth a word."""
_WORDS = {
    "tool": "no session called this tool: leave its definition out, or load it on demand",
    "server": "no session called a tool of this MCP server: switch it off for this agent",
    "skill": "no output took anything up from this skill: load it on demand",
}


def upstream_advice(items: Iterable[Offer | Paragraph], factors: Factors) -> list[Suggestion]:
    """Return advice on what a fleet was sent and never used; what was used is passed over.

    `factors` are those of the session it is shown with: what stands in front is read from the cache.
    """
    return [
        _paragraph(item, factors) if isinstance(item, Paragraph) else _offer(item, factors)
        for item in items
        if item.is_unused
    ]


def _offer(item: Offer, factors: Factors) -> Suggestion:
    tag = f"harness:{item.name}" if item.kind == "skill" else f"tool_definition:{item.name}"
    return _advice(
        tag,
        tokens=item.tokens,
        token_calls=item.token_calls,
        gross=factors.read * item.token_calls,
        usd=item.rent_usd,
        sessions=item.sessions,
        reason=_WORDS.get(item.kind, "never used"),
        evidence=f"{item.kind} sent in {item.sessions} sessions, used in none",
    )


def _paragraph(item: Paragraph, factors: Factors) -> Suggestion:
    return _advice(
        "system_prompt",
        tokens=item.tokens,
        token_calls=item.token_calls,
        gross=factors.read * item.token_calls,
        usd=item.rent_usd,
        sessions=item.sessions,
        reason="no output took this paragraph up: send it only where it is needed; a rule that is"
        " obeyed leaves no trace, so read it first",
        evidence=f"paragraph {item.title or item.digest!r}, {item.share:.0%} of the prompt,"
        f" sent in {item.sessions} sessions",
    )


def _advice(
    tag: str,
    *,
    tokens: float,
    token_calls: float,
    gross: float,
    usd: float | None,
    sessions: int,
    reason: str,
    evidence: str,
) -> Suggestion:
    is_enough = sessions >= MIN_SESSIONS and token_calls > 0
    few = f"seen in {sessions} sessions only, {MIN_SESSIONS} needed"
    return Suggestion(
        action="upstream",
        tag=tag,
        rule=None,
        tokens=round(tokens),
        token_calls=round(token_calls),
        gross_tokens=gross,
        gross_usd=usd,
        rebill_usd=None if usd is None else 0.0,
        regret_usd=None if usd is None else 0.0,
        confidence="medium" if is_enough else "low",
        accepted=is_enough,
        reason=reason if is_enough else few,
        evidence=evidence,
        verify="run the agent's evaluation without it",
    )


def top_k_advice(study: Study, course: Course) -> Iterator[Suggestion]:
    """Yield advice on retrievers of which most documents were never used."""
    rounds: dict[str, dict[int, list[int]]] = {}
    for item in study.heap.objects:
        if base_of(item.tag) == "retrieval" and not item.pinned:
            rounds.setdefault(item.tag, {}).setdefault(item.birth, []).append(item.number)
    for tag, by_call in rounds.items():
        several = [numbers for numbers in by_call.values() if len(numbers) > 1]
        if len(several) >= MIN_ROUNDS:
            yield _top_k(study, course, tag, several)


def _top_k(study: Study, course: Course, tag: str, rounds: list[list[int]]) -> Suggestion:
    """Return advice on one retriever: how many of its documents a retrieval were used."""
    lives, sums = study.account.lives, study.account.objects
    sent = sum(map(len, rounds)) / len(rounds)
    most = max(sum(lives[number].first_use is not None for number in numbers) for numbers in rounds)
    void = [number for numbers in rounds for number in numbers if lives[number].first_use is None]
    usd = sum(sums[number].rent_usd for number in void) if study.is_priced else None
    pays = most < sent and bool(void)
    return Suggestion(
        action="upstream",
        tag=tag,
        rule=None,
        tokens=sum(sums[number].first for number in void),
        token_calls=sum(sums[number].token_calls for number in void),
        gross_tokens=sum(_paid(study, course, number) for number in void),
        gross_usd=usd,
        rebill_usd=None if usd is None else 0.0,
        regret_usd=None if usd is None else 0.0,
        confidence="low",
        accepted=pays,
        reason=f"lower top-k: {sent:.1f} documents a retrieval, never more than {most} used"
        if pays
        else f"of {sent:.1f} documents a retrieval up to {most} were used",
        evidence=f"{len(rounds)} retrievals, {len(void)} documents without any use",
        verify="run the agent's evaluation with the lower top-k",
    )


def _paid(study: Study, course: Course, number: int) -> float:
    """Return what an object cost in token equivalents: stored once, then read."""
    sums, factors = study.account.objects[number], course.factors[study.heap.objects[number].birth - 1]
    return factors.write * sums.first + factors.read * (sums.token_calls - sums.first)
