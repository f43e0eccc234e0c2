"""Define what a profile says about a session's faults: leaks, suggestions, cache breaks and regret.

    LeakRow        one tag that leaks, carries ballast or grows; with the trace of its dearest object
    SuggestionRow  one rule that would free something, or why it would not pay
    GcPointRow     one call at which freeing costs nothing
    CacheBreakRow  one call whose cached prefix shrank
    RegretRow      what was fetched again, missed, repeated in circles or left undone

Money is gross where a key does not say `net`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ctxheap_collector.report.row import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceNodeRow(Row):
    """Hold one step of the way from a root to a dead object.

    Attributes:
        hold: How the step before holds it: `root`, `history` or the kind of the retain edge.
        verdict: `Expected`, `Stuck` or `Unknown`.
        suspect: Whether the edge to it is a suspect one.
        forced: Whether the provider's API asks for that edge.
        tokens: Its size at the last call that holds the traced object.
        drag_calls: Calls since its last use.
    """

    name: str
    tag: str
    hold: str
    verdict: str
    suspect: bool
    forced: bool
    tokens: int
    drag_calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakRow(Row):
    """Hold the verdict on one tag of a session.

    Attributes:
        verdict: `leak`, `ballast`, `growing` or, while the session runs, `growing so far`.
        severity: `minor`, `major` or `critical`; None unless the verdict is `leak` or `ballast`.
        slope: Growth of the tested series' floors, in tokens per call; 0 for ballast.
        level: Last of these floors in tokens: of ballast what is still there at the end.
        p: One-sided score of the trend, not a calibrated level; `q` is it over the session's tags.
        share: Dead share by which `severity` goes, 0 to 1. It is no share of the input bill: of the rent
            of what the capture shows (hidden parts left out; token-calls where a price is unknown), with
            the model's own words at 0.65 where only silence says that they are dead.
        dead_low_usd: Rent paid for what is surely dead under the tag; `dead_usd` for what had no later
            use, whole. None where a price is unknown.
        score_usd: Money it would go on to cost, gross; None where a price is unknown.
        signature: SHA-1 by which the same leak is found in other sessions.
        unusual: Whether `share` is above the 90th percentile of the agent's other sessions.
        objects: How many objects are dead under the tag.
        additions: At how many calls dead tokens were added.
        first_call: First call of the stretch that was tested; `last_call` the last.
        score_tokens: The same as `score_usd` in tokens.
        echo: Whether its objects contain the ones before them whole: a plan echoed ever longer.
        trace: From the root to the dead object that costs most; empty without one.
    """

    tag: str
    verdict: str
    severity: str | None
    slope: float
    p: float
    q: float
    share: float
    dead_low_token_calls: int
    dead_token_calls: int
    score_usd: float | None
    signature: str
    unusual: bool = False
    objects: int = 0
    additions: int = 0
    first_call: int = 0
    last_call: int = 0
    score_tokens: float = 0.0
    level: float = 0.0
    dead_low_usd: float | None = None
    dead_usd: float | None = None
    echo: bool = False
    trace: tuple[TraceNodeRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionRow(Row):
    """Hold one reclaim rule, tried on this session.

    Attributes:
        action: `dedupe`, `truncate`, `evict`, `pin`, `compact` or `upstream`.
        objects: How many objects of this session it would have freed.
        tokens: Their tokens.
        gross_usd: Rent that would not have been paid.
        rebill_usd: What the cache would have been written anew for.
        regret_usd: Expected cost of fetching again what turns out to be needed.
        net_usd: `gross_usd` − `rebill_usd` − `regret_usd`; None where a price is unknown.
        break_even_calls: Calls after which it pays; None if it never does.
        accepted: Whether the net is above 0 and nothing speaks against it.
        reason: Why it is accepted or rejected.
        gross_tokens: `gross_usd` in token equivalents: one is the price of an uncached input token;
            likewise `rebill_tokens`, `regret_tokens` and `net_tokens`, for models without a price.
        confidence: `high` for what is surely dead, `medium` or `low` for what was only idle.
        evidence: What speaks for it.
        verify: How to see that it is right.
    """

    action: str
    tag: str
    objects: int
    tokens: int
    gross_usd: float | None
    rebill_usd: float | None
    regret_usd: float | None
    net_usd: float | None
    break_even_calls: float | None
    accepted: bool
    reason: str
    gross_tokens: float = 0.0
    rebill_tokens: float = 0.0
    regret_tokens: float = 0.0
    net_tokens: float = 0.0
    confidence: str = ""
    evidence: str = ""
    verify: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GcPointRow(Row):
    """Hold a call before which the cache was cold anyway, so that freeing costs nothing.

    Attributes:
        cause: Why it was cold (see `CacheBreakRow`).
        dead_low: Tokens that were surely dead there; `dead` those that nothing used later.
        gross_low_usd: What freeing `dead_low` there would have saved, which is its net as well; None
            where a price is unknown. `gross_usd` is it for `dead`, known with hindsight only.
    """

    call: int
    cause: str
    dead_low: int
    dead: int
    gross_low_usd: float | None
    gross_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheBreakRow(Row):
    """Hold one call that read less from the cache than the call before could have served.

    Attributes:
        cause: `ttl`, `model`, `tools`, `system`, `volatile` (dates or ids in them), `compaction`,
            `eviction`, `rewrite`, `insertion` or `provider` (nothing that the prompts show).
        tag: Tag of the object at the first difference, "" when the prompts agree.
        object: Its name.
        tokens: Tokens of old content that were billed anew.
        gross_usd: What that cost above reading them; None where a price is unknown.
    """

    call: int
    cause: str
    tag: str
    object: str
    tokens: int
    gross_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRow(Row):
    """Say that an answer asked for what an earlier one, by then gone, had shown.

    `distance` is the calls from its leaving to the answer; `tokens` the size of the new answer.
    """

    call: int
    tag: str
    object: str
    distance: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpiralRow(Row):
    """Hold a stretch of a session that goes in circles, from answer to answer.

    `tokens` is the input billed after the first round.
    """

    kind: str
    first_call: int
    last_call: int
    times: int
    tools: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RegretRow(Row):
    """Hold what a session regrets (SPEC 9).

    Attributes:
        departed_tokens: Tokens of tool results that left the prompt.
        fetches: Those of them that were fetched again, unchanged.
        necessary_fetches: Fetches of what had changed; `duplicate_fetches` of what was still there.
        thrash: Worst share of the tokens gone in 20 calls that came back within them.
        edit_misses: Failed edits right after their file had left.
        receipt_misreads: Receipts taken for data, or pointing at a text that is gone.
        lost_sight: Calls whose output says that something read is gone.
        spirals: Stretches that go in circles.
        zero_write: Whether a change was asked for and the session ended without one.
        completion_per_reasoning: Output without reasoning by reasoning; None where none is reported.
        reasoning_per_prompt: Reasoning by billed input; None likewise.
    """

    departed_tokens: int
    fetches: tuple[FetchRow, ...]
    necessary_fetches: int
    duplicate_fetches: int
    thrash: float
    edit_misses: int
    receipt_misreads: int
    lost_sight: tuple[int, ...]
    spirals: tuple[SpiralRow, ...]
    zero_write: bool
    completion_per_reasoning: float | None
    reasoning_per_prompt: float | None
