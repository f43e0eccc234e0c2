"""Price the calls of a heap, and remember what had no price."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ctxheap.heap.model import Usage
from ctxheap.heap.records import Call
from ctxheap.prices import OverrideError, Rates, cost_usd, load_book
from ctxheap_collector.report.contract import PriceSource, ProfileError, UnpricedRow


class Pricing:
    """Answer for prices during one run; raises ProfileError when the user's file cannot be used."""

    def __init__(self, path: str | None) -> None:
        try:
            self._book = load_book(Path(path) if path else None, keeps=True)
        except OverrideError as error:
            raise ProfileError(str(error)) from error
        self._sources: dict[str, str] = {}

    def rates(self, call: Call) -> Rates | None:
        """Return USD per token for a call, None when nobody knows them or nothing was billed."""
        if call.usage is None:
            return None
        found = self._book.rates(call.model, call.provider, call.usage, call.started_ns)
        if found:
            self._sources[found.source] = found.date
        return found

    def cost(self, call: Call) -> float | None:
        """Return what a call cost in USD, input and output, None when any of it is unknown."""
        found = self.rates(call)
        return cost_usd(found, call.usage).total if found and call.usage else None

    def window(self, call: Call, tokens: int) -> int | None:
        """Return the context window of a call's model, None when unknown or smaller than `tokens`."""
        found = self._book.window(call.model, call.provider)
        return found if found and found >= tokens else None

    def bill(self, calls: Sequence[Call]) -> tuple[float, tuple[UnpricedRow, ...]]:
        """Return what the calls with a price cost in USD, and the usage of the others by model."""
        paid = 0.0
        rest: dict[str, list[Usage]] = {}
        for call in calls:
            cost = self.cost(call)
            if cost is not None:
                paid += cost
            elif call.usage is not None:
                rest.setdefault(call.model, []).append(call.usage)
        return paid, tuple(_unpriced(model, usages) for model, usages in rest.items())

    def source(self) -> PriceSource | None:
        """Return where the prices of this run are from and their newest date."""
        if not self._sources:
            return None
        names = dict.fromkeys(source.partition(":")[0] for source in self._sources)
        return PriceSource(", ".join(names), max(self._sources.values()))


def _unpriced(model: str, usages: Sequence[Usage]) -> UnpricedRow:
    return UnpricedRow(
        model=model,
        calls=len(usages),
        input=sum(usage.input for usage in usages),
        output=sum(usage.output for usage in usages),
    )
