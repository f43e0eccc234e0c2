"""Define what a profile says: the rows behind `ctxheap profile --json` and the terminal report.

    Profile
      FileReport      one input: its format, how many sessions it gave, what was skipped
      SessionProfile  one session of one agent
        Billed, Conservation, Context, Quality
        TagRow        where tokens came from
        ObjectRow     one object, with its uses
        CompactionRow, TimelineRow, UnpricedRow

A row's fields are the keys of the JSON, in this order. Fields marked `TERMINAL` are drawn in the
terminal only. `docs/profile.schema.json` describes the same document; a test holds them together.

Calls are counted from 1. Tokens and token-calls are integers; money is US dollars, None where the
price is unknown, never 0 for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal

from ctxheap_collector.report.findings import (
    CacheBreakRow,
    GcPointRow,
    LeakRow,
    RegretRow,
    SuggestionRow,
)
from ctxheap_collector.report.row import IF_SET, TERMINAL, Row

Phase = Literal["lag", "use", "drag", "void"]

DEFAULT_TOP: Final = 10


class ProfileError(Exception):
    """Say in one sentence which input or option cannot be used, and what to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Hold what was asked for on the command line.

    Attributes:
        top: How many objects a session lists, largest token-calls first; 0 lists all.
        session: Id of the one session wanted, or the beginning of it; None for all.
        timeline: Whether `SessionProfile.timeline` is to be filled.
        prices: Path of a file whose prices go before the shipped ones, None without one.
    """

    top: int = DEFAULT_TOP
    session: str | None = None
    timeline: bool = False
    prices: str | None = None


@dataclass(frozen=True, slots=True)
class SkippedRow(Row):
    """Name one part of an input that was left out; line 0 stands for the input as a whole."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport(Row):
    """Hold what one input gave.

    Attributes:
        path: As it was named by the user ("-" for standard input), or as found under a folder.
        format: Name of the format it was read as, "" when none was recognised.
        sessions: How many sessions it gave, sub-agents and forks included.
        skipped: What was left out, with the reason.
    """

    path: str
    format: str
    sessions: int
    skipped: tuple[SkippedRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Billed(Row):
    """Hold a session's usage in tokens, summed over its calls.

    `input` is the whole input: `uncached` + `cache_read` + `cache_write`. `reasoning` is a share
    of `output`.
    """

    input: int
    uncached: int
    cache_read: int
    cache_write: int
    output: int
    reasoning: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Conservation(Row):
    """Say how well the objects explain the bill (SPEC 3.3).

    Attributes:
        calls: Calls whose usage is known.
        exact_calls: Those of them where the objects add up to the billed input.
        unattributed_tokens: Billed tokens that no object explains, signed, summed over calls.
    """

    calls: int
    exact_calls: int
    unattributed_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Row):
    """Hold the size of the context at its first, last and largest call, in tokens.

    Attributes:
        window: The model's context window, None when unknown.
        reserved: Tokens of the window set aside for the output; tiers are shares of the rest.
    """

    first: int
    last: int
    peak: int
    peak_call: int
    window: int | None
    reserved: int = field(default=0, metadata=TERMINAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRow(Row):
    """Hold the sums of one tag over a session.

    Attributes:
        allocated: Σσ, tokens at birth of all its objects.
        resident: Tokens in the prompt of the last call.
        peak: The tag's own largest size at any call.
        token_calls: Στ; `lag` + `use` + `drag` + `void` add up to it.
        dead_low_token_calls: Token-calls surely dead.
        dead_token_calls: Token-calls without later evidence of use.
        at_peak: Tokens at the session's high-water mark; over all tags they add up to its size.
        dead_low_at_peak: Those of them that were surely dead by then.
        dead_at_peak: Those of them that had no later use.
    """

    tag: str
    objects: int
    allocated: int
    resident: int
    peak: int
    token_calls: int
    rent_usd: float | None
    lag: int
    use: int
    drag: int
    void: int
    dead_low_token_calls: int
    dead_token_calls: int
    at_peak: int = 0
    dead_low_at_peak: int = field(default=0, metadata=TERMINAL)
    dead_at_peak: int = field(default=0, metadata=TERMINAL)


@dataclass(frozen=True, slots=True)
class UseRow(Row):
    """Say that the output of `call` used an object, and by which rule (SPEC 5.1, "quote")."""

    call: int
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRow(Row):
    """Hold one object of a session.

    Attributes:
        id: Identity and occurrence, unique within the session.
        name: What a person would call it ("read_file src/a.py#1-80 @call 14").
        birth: First call whose prompt holds it.
        last: Last call whose prompt holds it.
        tokens: σ at its last call.
        retained: Tokens that could be freed together with it, itself included.
        phase: Where it stood at its last call.
        lag: Token-calls before its first use; likewise `use`, `drag` and `void`.
        uses: Evidence of use, in call order.
        superseded_by: Id of the object that replaced it, else None.
    """

    id: str
    tag: str
    name: str
    birth: int
    last: int
    tokens: int
    retained: int
    token_calls: int
    rent_usd: float | None
    phase: Phase
    lag: int
    use: int
    drag: int
    void: int
    uses: tuple[UseRow, ...] = ()
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRow(Row):
    """Say that the history was replaced by a summary.

    Attributes:
        call: First call after it.
        before: Tokens in the prompt of the call before, None when there was none.
        after: Tokens in the prompt of `call`.
    """

    call: int
    before: int | None
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRow(Row):
    """Hold one call.

    Attributes:
        started: ISO 8601 in UTC (see `iso_time`), None when the source has no times.
        input: The whole input, cache included; the values of `tags` add up to it.
        estimated: Whether the source reports no usage, so that the counts are our own.
        incomplete: Whether parts of the prompt are known to be missing from the capture.
    """

    call: int
    started: str | None
    model: str
    input: int
    cache_read: int
    cache_write: int
    output: int
    reasoning: int
    tags: Mapping[str, int]
    estimated: bool
    incomplete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpricedRow(Row):
    """Hold the usage of one model that no price is known for, in calls and tokens."""

    model: str
    calls: int
    input: int
    output: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality(Row):
    """Say how far a session's figures can be trusted.

    Attributes:
        estimated_calls: Calls without reported usage.
        implied_calls: Calls that no record shows but that must have happened.
        incomplete_calls: Calls of whose prompt parts are missing.
        scale_low: Smallest factor from raw counts to billed tokens, None when never scaled.
        scale_high: Largest such factor.
        scale_outside_calls: Calls with a factor outside 0.7-1.5.
        warnings: Further remarks, one sentence each.
    """

    estimated_calls: int = 0
    implied_calls: int = 0
    incomplete_calls: int = 0
    scale_low: float | None = None
    scale_high: float | None = None
    scale_outside_calls: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionProfile(Row):
    """Hold the profile of one session.

    Attributes:
        estimated: Whether any call's tokens are our own counts for lack of reported usage.
        cost_usd: Input and output, None as soon as the price of any call is unknown.
        rebill_factor: Στ/Σσ, None when nothing was allocated.
        tags: Largest rent (token-calls where the price is unknown) first.
        objects: Largest token-calls first, as many as were asked for.
        timeline: One row a call; None when it was not asked for.
        allocated: Σσ over all objects, in tokens.
        objects_total: How many objects there are, listed or not.
        input_usd: The input bill: Σ rent over all objects.
        dead_low_rent_usd: Money paid for what was surely dead.
        dead_rent_usd: Money paid for what had no later use.
        unpriced: Usage left out of the money figures.
        leaks: Tags that leak or carry ballast, the most money to come first, then those that grow.
        suggestions: Accepted rules by net money, then rejected ones.
        gc_points: Calls before which freeing costs nothing.
        cache_breaks: Calls that were billed again for what the cache had held.
        regret: What was fetched again, missed or repeated in circles; None where nothing is known.
    """

    id: str
    parent: str | None
    agent: str
    format: str
    model: str
    calls: int
    estimated: bool
    billed: Billed
    cost_usd: float | None
    conservation: Conservation
    context: Context
    rebill_factor: float | None
    dead_low_token_calls: int
    dead_token_calls: int
    token_calls: int
    tags: tuple[TagRow, ...]
    objects: tuple[ObjectRow, ...]
    compactions: tuple[CompactionRow, ...] = ()
    timeline: tuple[TimelineRow, ...] | None = field(default=None, metadata=IF_SET)
    allocated: int = 0
    objects_total: int = 0
    input_usd: float | None = None
    dead_low_rent_usd: float | None = None
    dead_rent_usd: float | None = None
    unpriced: tuple[UnpricedRow, ...] = ()
    quality: Quality = Quality()
    leaks: tuple[LeakRow, ...] = ()
    suggestions: tuple[SuggestionRow, ...] = ()
    gc_points: tuple[GcPointRow, ...] = ()
    cache_breaks: tuple[CacheBreakRow, ...] = ()
    regret: RegretRow | None = None


@dataclass(frozen=True, slots=True)
class PriceSource(Row):
    """Say where the prices come from and of which date (ISO 8601) they are."""

    source: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile(Row):
    """Hold a whole run of `ctxheap profile`.

    Attributes:
        ctxheap: Version of the program.
        files: Inputs in the order read.
        sessions: All sessions, parents before their children.
        prices: Origin of the prices, None when none were used.
        warnings: Remarks that concern no single session.
    """

    ctxheap: str
    files: tuple[FileReport, ...]
    sessions: tuple[SessionProfile, ...]
    prices: PriceSource | None = None
    warnings: tuple[str, ...] = ()


def iso_time(epoch_ns: int | None) -> str | None:
    """Return nanoseconds since the epoch as ISO 8601 in UTC with milliseconds, None for None."""
    if epoch_ns is None:
        return None
    moment = datetime.fromtimestamp(epoch_ns // 1_000_000_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{epoch_ns // 1_000_000 % 1000:03d}Z"
