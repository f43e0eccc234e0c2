"""Say of every tag of a session whether it leaks, carries ballast, only grows or is stable (SPEC 6).

    dead tokens grow, at three places at least, and matter     leak      minor, major, critical
    dead tokens matter and do not grow                         ballast   minor, major, critical
    live tokens grow                                           growing, "growing so far" while it runs
    nothing of it                                              stable, immaterial, insufficient

Shares leave out what was billed and is not in the capture: nobody can say what of it is dead.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import quantiles
from typing import Literal

from ctxheap.analysis.floor import ALPHA, MIN_CALLS, WARM_SHARE, Floor, floor_lite, last_floor
from ctxheap.analysis.series import Series, ThetaOf, dead_series, live_series, segments
from ctxheap.analysis.statistics import benjamini_hochberg
from ctxheap.analysis.study import Study, contexts
from ctxheap.analysis.weighing import MIN_ADDITIONS, MIN_DEAD_TOKENS, Weights, is_priced, matters
from ctxheap.heap.account import Totals
from ctxheap.prices import cost_usd

MAJORITY = 0.5
BALLAST_SHARE = 0.10
SEVERITIES = ((0.25, "critical"), (0.10, "major"))
MIN_HISTORY = 10
PRICED_CALLS = 10

Verdict = Literal["leak", "ballast", "growing", "growing so far", "stable", "immaterial", "insufficient"]
Severity = Literal["minor", "major", "critical"]


@dataclass(frozen=True, slots=True)
class Leak:
    """Hold the verdict on one tag of a session.

    Attributes:
        severity: By `share`; None unless the verdict is `leak` or `ballast`, or would be `leak` if the
            session had ended.
        is_unusual: Whether `share` is above the 90th percentile of the agent's own history.
        slope: Growth of the floors of the tested series, in tokens per call; 0 for ballast, which is
            taken as it is.
        level: Last floor of the tested series, in tokens; of ballast the last of the session, 0 where
            all of it has left.
        p: One-sided score of the trend, not a calibrated level; `q` is it over the session's tags.
        share: Dead share by which severity goes: of the rent of what the capture shows (hidden parts left
            out; token-calls where a price is unknown), with the model's own words at 0.65 where only
            silence says that they are dead.
        dead_low_token_calls: Token-calls surely dead; `dead_token_calls` without later evidence.
        dead_low_usd: The rent paid for them, whole, in USD; likewise `dead_usd`. None where a price is
            unknown.
        score_usd: What the tag would cost if the session went on as long as expected, gross, in
            USD; None where a price is unknown. `score_tokens` is the same in tokens.
        tested: Whether the verdict is on the dead or on the live tokens.
        calls: First and last call of the segment with the strongest trend.
        additions: At how many calls dead tokens were added.
        is_echo: Whether its objects contain the one before whole (a plan repeated ever longer): each
            is larger than the last, so that the bill grows with the cube of the calls.
        objects: Numbers of the dead objects, the most token-calls first.
    """

    tag: str
    verdict: Verdict
    severity: Severity | None = None
    is_unusual: bool = False
    slope: float = 0.0
    level: float = 0.0
    p: float = 1.0
    q: float = 1.0
    share: float = 0.0
    dead_low_token_calls: int = 0
    dead_token_calls: int = 0
    dead_low_usd: float | None = None
    dead_usd: float | None = None
    score_usd: float | None = None
    score_tokens: float = 0.0
    tested: Literal["dead", "live"] = "dead"
    calls: tuple[int, int] = (0, 0)
    additions: int = 0
    is_echo: bool = False
    objects: tuple[int, ...] = ()


def verdicts(
    study: Study,
    *,
    theta: ThetaOf | None = None,
    remaining: float | None = None,
    history: Mapping[str, Sequence[float]] | None = None,
) -> list[Leak]:
    """Return the verdict on every tag: leaks, echoes before others, ballast, the rest, each by its score.

    Args:
        study: The session.
        theta: θ of a tag in calls, from the fleet's reuse gaps; None while too few are known.
        remaining: R, the calls to be expected from here on; the length of the session without it.
        history: `share` of each tag in the agent's earlier sessions.
    """
    dead = dead_series(study, theta)
    tested = {tag: _strongest(study, series) for tag, series in dead.items()}
    scored = [tag for tag, (floor, _) in tested.items() if floor.calls >= MIN_CALLS]
    qs = dict(zip(scored, benjamini_hochberg([tested[tag][0].p for tag in scored]), strict=True))
    weights = Weights.of(study)
    echoing = echoes(study)
    growing = live_verdicts(study)
    found: list[Leak] = []
    for tag, (_, totals) in study.account.by_tag(study.heap.objects).items():
        leak = growing[tag]
        if tag in dead:
            floor, stretch = tested[tag]
            judged = _judge(
                dead[tag],
                totals,
                floor=floor,
                q=qs.get(tag, 1.0),
                stretch=stretch,
                weights=weights,
                is_echo=tag in echoing,
            )
            if judged.verdict != "leak" and _is_ballast(dead[tag], totals, weights=weights):
                judged = _as_ballast(judged, dead[tag])
            leak = judged if judged.verdict in ("leak", "ballast") or leak.verdict == "stable" else leak
        leak = _sized(leak, dead.get(tag), totals, weights=weights)
        if study.is_running and leak.verdict == "leak":
            leak = replace(leak, verdict="growing so far")
        found.append(_priced(_unusual(leak, history or {}), study, remaining=remaining))
    return sorted(found, key=_rank)


def _rank(leak: Leak) -> tuple[int, bool, float]:
    order = 2 if leak.severity is None else leak.verdict == "ballast"
    return order, not leak.is_echo, -leak.score_tokens


def echoes(study: Study) -> frozenset[str]:
    """Return the tags of which most objects contain an earlier one of the same tag whole."""
    objects = study.heap.objects
    births = Counter(item.tag for item in objects)
    repeats = Counter(
        objects[repeat.number].tag
        for repeat in study.heap.facts.repeats
        if repeat.kind == "contains" and objects[repeat.number].tag == objects[repeat.of].tag
    )
    return frozenset(
        tag for tag, count in repeats.items() if count >= MIN_ADDITIONS and count >= MAJORITY * births[tag]
    )


def live_verdicts(study: Study) -> dict[str, Leak]:
    """Return the weaker word for every tag, from its live tokens alone."""
    inputs = list(contexts(study))
    last = len(inputs)
    found: dict[str, Leak] = {}
    for tag, series in live_series(study).items():
        floor = floor_lite(series, inputs)
        word: Verdict = floor.word
        if word == "leak":
            word = "growing so far" if study.is_running else "growing"
        found[tag] = Leak(
            tag,
            word,
            slope=floor.slope,
            level=floor.level,
            p=floor.p,
            q=floor.p,
            tested="live",
            calls=(1, last),
        )
    return found


def _strongest(study: Study, series: Series) -> tuple[Floor, range]:
    """Return the strongest trend of the whole series and of its segments, with its stretch."""
    inputs = list(contexts(study))
    stretches = [range(len(inputs))]
    parts = segments(study)
    stretches.extend(parts if len(parts) > 1 else [])
    found = [(_floor(series, inputs, stretch), stretch) for stretch in stretches]
    return min(found, key=lambda item: (item[0].calls < MIN_CALLS, item[0].p, -item[0].slope))


def _floor(series: Series, inputs: Sequence[int], stretch: range) -> Floor:
    cut = slice(stretch.start, stretch.stop)
    warm = stretch.start + math.floor(WARM_SHARE * len(stretch))
    usage = sum(series.freed[warm : stretch.stop]), sum(series.allocated[warm : stretch.stop])
    return floor_lite(series.tokens[cut], inputs[cut], usage=usage)


def _judge(
    series: Series,
    totals: Totals,
    *,
    floor: Floor,
    q: float,
    stretch: range,
    weights: Weights,
    is_echo: bool,
) -> Leak:
    found = Leak(
        series.tag,
        "stable",
        slope=floor.slope,
        level=floor.level,
        p=floor.p,
        q=q,
        calls=(stretch.start + 1, stretch.stop),
        additions=series.additions,
        is_echo=is_echo,
    )
    if floor.calls < MIN_CALLS:
        return replace(found, verdict="insufficient")
    if q > ALPHA:
        return found
    return replace(
        found, verdict="leak" if matters(series, totals, weights=weights, is_echo=is_echo) else "immaterial"
    )


def _is_ballast(series: Series, totals: Totals, *, weights: Weights) -> bool:
    """Return whether what is dead under a tag matters, whether or not it grows."""
    return weights.share(series.tag, totals) >= BALLAST_SHARE and max(series.tokens) >= MIN_DEAD_TOKENS


def _as_ballast(judged: Leak, series: Series) -> Leak:
    """Return the verdict `ballast`: dead tokens as they stand at the end, with no growth to reckon with."""
    return replace(judged, verdict="ballast", slope=0.0, level=last_floor(series.tokens))


def _sized(leak: Leak, series: Series | None, totals: Totals, *, weights: Weights) -> Leak:
    """Return a verdict with its share, its severity and the objects that make it up."""
    share = weights.share(leak.tag, totals)
    deaths = series.deaths if series else []
    by_rent = sorted(deaths, key=lambda death: -death.token_calls)
    return replace(
        leak,
        severity=severity_of(leak.verdict, share),
        share=share,
        dead_low_token_calls=totals.dead_low,
        dead_token_calls=totals.dead,
        dead_low_usd=None if weights.usd is None else totals.dead_low_usd,
        dead_usd=None if weights.usd is None else totals.dead_usd,
        objects=tuple(death.number for death in by_rent),
    )


def severity_of(verdict: Verdict, share: float) -> Severity | None:
    """Return the severity of a leak or of ballast by its share of the rent, None for other verdicts."""
    if verdict not in ("leak", "ballast"):
        return None
    if share > SEVERITIES[0][0]:
        return "critical"
    return "major" if share >= SEVERITIES[1][0] else "minor"


def _unusual(leak: Leak, history: Mapping[str, Sequence[float]]) -> Leak:
    earlier = history.get(leak.tag, ())
    if len(earlier) < MIN_HISTORY:
        return leak
    bound = quantiles(earlier, n=10, method="inclusive")[-1]
    return replace(leak, is_unusual=leak.share > bound)


def _priced(leak: Leak, study: Study, *, remaining: float | None) -> Leak:
    """Return a verdict with its rank: P_tok·[level·R + b·R(R+1)/2] (SPEC 6, step 9)."""
    calls = len(study.heap.calls)
    if not calls:
        return leak
    ahead = float(calls) if remaining is None else remaining
    tokens = projected_tokens(leak.level, slope=max(0.0, leak.slope), remaining=ahead)
    price = _input_price(study)
    return replace(leak, score_tokens=tokens, score_usd=None if price is None else tokens * price)


def projected_tokens(level: float, *, slope: float, remaining: float) -> float:
    """Return the token-calls a tag would cost over the remaining calls: level·R + b·R(R+1)/2."""
    return level * remaining + slope * remaining * (remaining + 1) / 2


def _input_price(study: Study) -> float | None:
    """Return USD per input token over the last ten calls; None where a price is unknown."""
    if not is_priced(study):
        return None
    paid = tokens = 0.0
    for call, rates in list(zip(study.heap.calls, study.rates, strict=True))[-PRICED_CALLS:]:
        usage = call.usage
        if usage is None or rates is None:
            return None
        paid += cost_usd(rates, usage).input
        tokens += usage.input
    return paid / tokens if tokens else None
