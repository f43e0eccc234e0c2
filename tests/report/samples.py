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
