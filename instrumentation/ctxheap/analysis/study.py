"""Hold what every analysis of one session starts from: its heap, its sums and its prices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ctxheap.heap.account import Account, charged, rents_of
from ctxheap.heap.records import Call, Heap
from ctxheap.prices import Rates


@dataclass(frozen=True, slots=True)
class Study:
    """Hold one session, read once and shared by all analyses.

    Attributes:
        rates: Prices of each call in USD per token, by its place; None where unknown.
        rents: What each object of each call cost in USD, by places; None where unknown.
        is_running: Whether more calls are expected, so that "no later use" is not final.
    """

    heap: Heap
    account: Account
    rates: tuple[Rates | None, ...]
    rents: tuple[Sequence[float] | None, ...]
    is_running: bool = False

    @property
    def is_priced(self) -> bool:
        """Return whether the price of every call is known."""
        return None not in self.rates


def study(heap: Heap, rates_of: Callable[[Call], Rates | None], *, is_running: bool = False) -> Study:
    """Return a finished heap with its sums and prices."""
    rates = {call.number: rates_of(call) for call in heap.calls}
    rents = tuple(rents_of(heap, lambda call: rates[call.number]))
    return Study(heap, charged(heap, rents), tuple(rates.values()), rents, is_running)


def contexts(found: Study) -> Iterator[int]:
    """Yield C_k, the input tokens of each call."""
    return (sum(series.values()) for series in found.account.series)
