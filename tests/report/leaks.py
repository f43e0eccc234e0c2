"""Make rows of leaks by hand."""

from __future__ import annotations

from dataclasses import replace

from ctxheap_collector.report.findings import LeakRow


def leak_row(severity: str | None, **changes: object) -> LeakRow:
    """Return the verdict on a tag that grows."""
    whole = LeakRow(
        tag="tool_result:bash",
        verdict="leak",
        severity=severity,
        slope=1412.4,
        p=0.001,
        q=0.002,
        share=0.314,
        dead_low_token_calls=20_000,
        dead_token_calls=400_000,
        score_usd=1.5,
        signature="ab12",
        first_call=12,
        last_call=142,
    )
    return replace(whole, **changes)  # type: ignore[arg-type]  # the fields are checked when built
