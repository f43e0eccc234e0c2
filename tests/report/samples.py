"""Make profiles by hand: small ones that can be checked by eye, and one large one."""

from __future__ import annotations

from dataclasses import replace

from ctxheap_collector.report.contract import (
    Billed,
    CompactionRow,
    Conservation,
    Context,
    FileReport,
    ObjectRow,
    PriceSource,
    Profile,
    Quality,
    SessionProfile,
    SkippedRow,
    TagRow,
    TimelineRow,
    UnpricedRow,
    UseRow,
)
from ctxheap_collector.report.findings import (
    CacheBreakRow,
    FetchRow,
    GcPointRow,
    LeakRow,
    RegretRow,
    SpiralRow,
    SuggestionRow,
    TraceNodeRow,
)

PEAK_TAGS = (
    ("system_prompt", 9_400),
    ("tool_definition:bash", 3_800),
    ("tool_definition:read_file", 2_600),
    ("user_turn", 4_100),
    ("agent_output", 6_300),
    ("agent_reasoning", 5_500),
    ("tool_call:read_file", 2_900),
    ("tool_call:edit_file", 7_700),
    ("tool_result:read_file", 61_200),
    ("tool_result:bash", 24_800),
    ("tool_result:grep_with_a_very_long_server_name", 9_100),
    ("harness:reminder", 2_300),
    ("framing", 900),
    ("unattributed", -140),
)


def tag_row(tag: str, at_peak: int, *, calls: int = 1_430, price: float | None = 4.164e-7) -> TagRow:
    """Return a row whose phases are fixed shares of its token-calls."""
    token_calls = at_peak * calls * 2 // 3
    is_dead = tag.startswith(("tool_result", "tool_call"))
    use = token_calls // 12 if is_dead else token_calls
    lag, void = (token_calls // 50, token_calls // 5) if is_dead else (0, 0)
    drag = token_calls - use - lag - void
    return TagRow(
        tag=tag,
        objects=max(1, abs(at_peak) // 900),
        allocated=at_peak + at_peak // 5,
        resident=at_peak * 3 // 4,
        peak=at_peak,
        token_calls=token_calls,
        rent_usd=None if price is None else token_calls * price,
        lag=lag,
        use=use,
        drag=drag,
        void=void,
        dead_low_token_calls=(drag + void) * 4 // 5,
        dead_token_calls=drag + void,
        at_peak=at_peak,
        dead_low_at_peak=at_peak // 4 if is_dead else 0,
        dead_at_peak=at_peak * 3 // 5 if is_dead else 0,
    )


def object_rows() -> tuple[ObjectRow, ...]:
    """Return objects of every phase, one superseded, one with a hostile name."""
    read = ObjectRow(
        id="a1b2c3d4e5f60718#0",
        tag="tool_result:read_file",
        name="read_file src/a.py#1-80 @call 14",
        birth=14,
        last=142,
        tokens=6_310,
        retained=6_420,
        token_calls=195_610,
        rent_usd=0.0587,
        phase="drag",
        lag=0,
        use=25_240,
        drag=170_370,
        void=0,
        uses=(UseRow(14, "quote"), UseRow(17, "handle")),
        superseded_by="ffeeddccbbaa9988#0",
    )
    grep = replace(
        read,
        id="0f0e0d0c0b0a0908#0",
        tag="tool_result:grep_with_a_very_long_server_name",
        name=(
            "grep_with_a_very_long_server_name pattern=def\n[red]main[/red]"
            " path=src/very/long/path/to/a/module.py @call 20"
        ),
        tokens=3_100,
        retained=3_100,
        token_calls=130_200,
        rent_usd=0.0391,
        phase="void",
        use=0,
        drag=0,
        void=130_200,
        uses=(),
        superseded_by=None,
    )
    prompt = replace(
        grep,
        id="1111111111111111#0",
        tag="system_prompt",
        name="system prompt",
        birth=1,
        tokens=9_400,
        retained=9_400,
        token_calls=1_334_800,
        rent_usd=0.4004,
        phase="use",
        use=1_334_800,
        void=0,
    )
    late = replace(
        read,
        id="2222222222222222#0",
        name="read_file src/b.py @call 140",
        birth=140,
        tokens=410,
        retained=820,
        token_calls=1_230,
        rent_usd=0.0004,
        phase="lag",
        lag=1_230,
        use=0,
        drag=0,
        uses=(),
        superseded_by=None,
    )
    return (prompt, read, grep, late)


def timeline(calls: int, *, compaction_every: int = 60) -> tuple[TimelineRow, ...]:
    """Return calls whose context grows and falls back after every compaction."""
    rows: list[TimelineRow] = []
    for call in range(1, calls + 1):
        age = (call - 1) % compaction_every
        tags = {
            "system_prompt": 9_400,
            "tool_definition:bash": 3_800,
            "user_turn": 400 + 60 * age,
            "agent_output": 100 * age,
            "tool_call:read_file": 60 * age,
            "tool_result:read_file": 1_100 * age,
            "tool_result:bash": 420 * age,
            "framing": 900,
        }
        total = sum(tags.values())
        rows.append(
            TimelineRow(
                call=call,
                started=None,
                model="claude-sonnet-4-5",
                input=total,
                cache_read=total * 9 // 10,
                cache_write=total // 20,
                output=300,
                reasoning=100,
                tags=tags,
                estimated=False,
                incomplete=False,
            )
        )
    return tuple(rows)


def leak_rows() -> tuple[LeakRow, ...]:
    """Return a critical leak with a trace, ballast, and a tag that only grows."""
    leak = LeakRow(
        tag="tool_result:read_file",
        verdict="leak",
        severity="critical",
        slope=611.4,
        p=0.0001,
        q=0.0003,
        share=0.41,
        dead_low_token_calls=20_400_000,
        dead_token_calls=31_000_000,
        score_usd=18.4,
        signature="8304c6dfd0" * 4,
        unusual=True,
        objects=61,
        additions=38,
        first_call=61,
        last_call=120,
        score_tokens=44_000_000.0,
        level=61_200.0,
        dead_low_usd=17.4,
        dead_usd=21.7,
        trace=(
            TraceNodeRow(
                name="read_file src/a.py#1-80",
                tag="tool_call:read_file",
                hold="history",
                verdict="Stuck",
                suspect=True,
                forced=False,
                tokens=41,
                drag_calls=97,
            ),
            TraceNodeRow(
                name="read_file src/a.py#1-80",
                tag="tool_result:read_file",
                hold="pair",
                verdict="Stuck",
                suspect=False,
                forced=True,
                tokens=6_310,
                drag_calls=97,
            ),
        ),
    )
    ballast = replace(
        leak,
        tag="tool_result:bash",
        verdict="ballast",
        severity="major",
        signature="217e87c571" * 4,
        unusual=False,
        level=12_600.0,
        dead_low_usd=7.1,
        dead_usd=8.8,
        score_usd=None,
        trace=(),
    )
    growing = replace(ballast, tag="system_prompt", verdict="growing", severity=None, signature="")
    return leak, ballast, growing


def suggestion_rows() -> tuple[SuggestionRow, ...]:
    """Return a rule that pays and one that does not."""
    paying = SuggestionRow(
        action="evict",
        tag="tool_result:read_file",
        objects=41,
        tokens=118_000,
        gross_usd=9.2,
        rebill_usd=1.3,
        regret_usd=0.2,
        net_usd=7.7,
        break_even_calls=6.2,
        accepted=True,
        reason="net of re-billing and regret it saves $7.70",
        net_tokens=2_566_000.0,
        confidence="medium",
        evidence="leak, 41% of the session dead under the tag",
        verify="ctxheap replay --policy reclaim.yaml",
    )
    harmful = replace(
        paying,
        action="compact",
        tag="",
        net_usd=-1.1,
        accepted=False,
        reason="would compact away 4 objects that were used later",
    )
    return paying, harmful


def break_rows() -> tuple[CacheBreakRow, ...]:
    """Return one cache break of each of two causes."""
    expired = CacheBreakRow(call=40, cause="ttl", tag="", object="", tokens=84_000, gross_usd=0.29)
    edited = replace(
        expired, call=61, cause="compaction", tag="summary", object="summary @call 61", tokens=9_000
    )
    return expired, edited


def regret_row() -> RegretRow:
    """Return a session that regrets everything there is to regret."""
    return RegretRow(
        departed_tokens=210_000,
        fetches=(
            FetchRow(
                call=70, tag="tool_result:read_file", object="read_file a @call 70", distance=9, tokens=4_100
            ),
        ),
        necessary_fetches=2,
        duplicate_fetches=1,
        thrash=0.42,
        edit_misses=1,
        receipt_misreads=1,
        lost_sight=(71, 88),
        spirals=(
            SpiralRow(kind="repeat", first_call=90, last_call=99, times=4, tools=("bash",), tokens=310_000),
        ),
        zero_write=True,
        completion_per_reasoning=3.3,
        reasoning_per_prompt=0.001,
    )


def session(**changes: object) -> SessionProfile:
    """Return the standing example: 142 calls, two compactions, prices known."""
    tags = tuple(tag_row(tag, size) for tag, size in PEAK_TAGS)
    dead_low = sum(row.dead_low_token_calls for row in tags)
    dead = sum(row.dead_token_calls for row in tags)
    total = sum(row.token_calls for row in tags)
    ranked = tuple(sorted(tags, key=lambda row: -(row.rent_usd or 0)))
    whole = SessionProfile(
        id="7f3a9c12-5f0e-4c11-9d3a-0a1b2c3d4e5f",
        parent=None,
        agent="",
        format="claude-code",
        model="claude-sonnet-4-5",
        calls=142,
        estimated=False,
        billed=Billed(
            input=133_900_000,
            uncached=1_240_000,
            cache_read=128_460_000,
            cache_write=4_200_000,
            output=412_000,
            reasoning=96_000,
        ),
        cost_usd=61.94,
        conservation=Conservation(calls=142, exact_calls=142, unattributed_tokens=-18_900),
        context=Context(first=16_900, last=98_300, peak=140_460, peak_call=96, window=200_000),
        rebill_factor=37.19,
        dead_low_token_calls=dead_low,
        dead_token_calls=dead,
        token_calls=total,
        tags=ranked,
        objects=object_rows(),
        compactions=(
            CompactionRow(call=61, before=112_400, after=14_500),
            CompactionRow(call=121, before=112_400, after=14_500),
        ),
        timeline=timeline(142),
        allocated=3_600_000,
        objects_total=418,
        input_usd=55.76,
        dead_low_rent_usd=dead_low * 4.164e-7,
        dead_rent_usd=dead * 4.164e-7,
        leaks=leak_rows(),
        suggestions=suggestion_rows(),
        gc_points=(
            GcPointRow(call=40, cause="ttl", dead_low=21_000, dead=37_000, gross_low_usd=0.4, gross_usd=0.7),
        ),
        cache_breaks=break_rows(),
        regret=regret_row(),
    )
    return replace(whole, **changes)  # type: ignore[arg-type]  # the fields are checked when built


def troubled_session() -> SessionProfile:
    """Return a sub-agent with everything wrong that data quality reports."""
    return session(
        id="agent-a17c",
        parent="7f3a9c12-5f0e-4c11-9d3a-0a1b2c3d4e5f",
        agent="explore",
        model="house-model-9",
        calls=12,
        estimated=True,
        billed=Billed(
            input=400_000, uncached=400_000, cache_read=0, cache_write=0, output=9_000, reasoning=0
        ),
        cost_usd=None,
        conservation=Conservation(calls=10, exact_calls=10, unattributed_tokens=31_000),
        context=Context(first=9_000, last=50_000, peak=50_000, peak_call=12, window=None),
        rebill_factor=6.1,
        dead_low_token_calls=201_000,
        dead_token_calls=231_000,
        token_calls=400_000,
        tags=tuple(tag_row(tag, size // 3, calls=13, price=None) for tag, size in PEAK_TAGS),
        objects=tuple(replace(row, rent_usd=None) for row in object_rows()),
        compactions=(),
        timeline=timeline(12),
        leaks=(),
        suggestions=(),
        gc_points=(),
        cache_breaks=(),
        regret=None,
        allocated=65_000,
        objects_total=4,
        input_usd=None,
        dead_low_rent_usd=None,
        dead_rent_usd=None,
        unpriced=(UnpricedRow(model="house-model-9", calls=12, input=400_000, output=9_000),),
        quality=Quality(
            estimated_calls=2,
            implied_calls=1,
            incomplete_calls=3,
            scale_low=0.41,
            scale_high=1.2,
            scale_outside_calls=4,
            warnings=("The capture holds the same message twice at call 7.",),
        ),
    )


def profile(*sessions: SessionProfile) -> Profile:
    """Return a profile of the sessions given, of the standing example without any."""
    return Profile(
        ctxheap="0.1.0",
        files=(
            FileReport(
                path="session.jsonl",
                format="claude-code",
                sessions=len(sessions) or 1,
                skipped=(SkippedRow(12, "not JSON: ends in the middle of a string"),),
            ),
        ),
        sessions=sessions or (session(),),
        prices=PriceSource("genai-prices 0.2.3", "2026-11-20"),
    )
