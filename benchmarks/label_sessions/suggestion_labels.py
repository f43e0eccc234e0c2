"""Count labelled objects in accepted suggestions: those that were still needed, and those that were dead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from ctxheap.analysis.study import Study
from ctxheap.analysis.suggestions import suggest
from ctxheap.analysis.verdicts import verdicts

from .heaps import Labelled

Row = Mapping[str, object]


def suggestion_scores(cases: Iterable[tuple[Labelled, Study]]) -> dict[str, object]:
    """Return how suggestions do on labelled sessions.

    `keep_freed` counts labelled keeps that any accepted suggestion frees, whenever; it must be 0. The
    `_refused` counts are of refused rules that would have paid and freed nothing before a use seen here.
    Shares are of all input tokens of the sessions, in token equivalents, net.
    """
    counts: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    net = billed = 0.0
    for session, study in cases:
        found = suggest(study, verdicts(study))
        freed = {number for each in found if each.accepted for number in each.objects}
        would = [each for each in found if not each.accepted and each.net_tokens > 0 and not each.used_later]
        left = {number for each in would for number in each.objects}
        rows = {name: cast("Sequence[Row]", session.label[name]) for name in ("keep", "dead")}
        counts["keep"] += len(rows["keep"])
        counts["keep_freed"] += sum(bool(freed & session.numbers(_index(row))) for row in rows["keep"])
        counts["keep_refused"] += sum(bool(left & session.numbers(_index(row))) for row in rows["keep"])
        counts["dead"] += len(rows["dead"])
        counts["dead_freed"] += sum(
            bool(freed & session.numbers(_index(row), str(row["tag"]))) for row in rows["dead"]
        )
        counts["dead_refused"] += sum(
            bool(left & session.numbers(_index(row), str(row["tag"]))) for row in rows["dead"]
        )
        counts["sessions_with_a_rule"] += any(each.accepted and each.objects for each in found)
        refused.update(each.action for each in would)
        net += sum(each.net_tokens for each in found if each.accepted and each.objects)
        billed += sum(sum(call.tokens) for call in study.heap.calls)
    return {**counts, "net_share": round(net / billed, 4) if billed else None, "refused": dict(refused)}


def _index(row: Row) -> int:
    return int(str(row["index"]))
