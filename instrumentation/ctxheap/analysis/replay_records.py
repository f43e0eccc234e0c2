"""Define what a replay of a session reports: bills, changes and regret."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from ctxheap.analysis.cache import Served
from ctxheap.heap.model import Part
from ctxheap.reclaim.policy import Action, Trigger


@dataclass(slots=True)
class Bill:
    """Hold the simulated input of a session by cache class in tokens, and its money.

    Attributes:
        equivalents: The same in uncached input tokens: uncached + r·read + w·written.
        usd: In USD; None where the price of a call is unknown.
        peak: Tokens of the largest prompt.
        yellow: Calls with a prompt above 50 % of the window less the output's room; `red` above 75 %.
    """

    read: int = 0
    written: int = 0
    uncached: int = 0
    equivalents: float = 0.0
    usd: float | None = 0.0
    peak: int = 0
    yellow: int = 0
    red: int = 0

    @property
    def input(self) -> int:
        """Return all input tokens."""
        return self.read + self.written + self.uncached


@dataclass(frozen=True, slots=True)
class Freed:
    """Say that an object was freed before a call; `removed` tokens went from each prompt after it."""

    number: int
    tag: str
    call: int
    action: Action
    rule: int | None
    removed: int
    reason: str


@dataclass(frozen=True, slots=True)
class Regret:
    """Say that an object was needed after it was freed.

    Attributes:
        number: The object.
        tag: Its tag.
        freed: The call before which it was freed; `used` the first call that needed it afterwards.
        tokens: Its size, in tokens.
        equivalents: F, the cost of fetching it again, in uncached input tokens (SPEC 7).
        usd: The same in USD, None where unknown.
        is_certain: False where the evidence of use is only probable, or the object was cut and may
            still hold what was used. Those are not charged.
    """

    number: int
    tag: str
    freed: int
    used: int
    tokens: int
    equivalents: float
    usd: float | None
    is_certain: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """Hold one replayed prompt and how it was served, for whoever watches."""

    call: int
    parts: tuple[Part, ...]
    identities: tuple[Hashable, ...]
    tokens: tuple[int, ...]
    served: Served
    usd: float | None


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """Hold what a policy would have done to one recorded session.

    Attributes:
        recorded: Input tokens that were billed, as recorded.
        baseline: The recorded prompts through the simulated cache.
        bill: The replayed prompts through the same cache.
        freed: Every object that was freed, in order.
        regrets: Objects that were needed afterwards, judged with the recorded future.
        compactions: Records made; `collection_usd` and `collection_equivalents` what making them cost.
        refusals: What a provider would have refused and did not refuse in the recording; always empty.
    """

    session: str
    trigger: Trigger
    calls: int
    recorded: int
    baseline: Bill
    bill: Bill
    freed: tuple[Freed, ...]
    regrets: tuple[Regret, ...]
    compactions: int
    collection_equivalents: float
    collection_usd: float | None
    refusals: tuple[str, ...]

    @property
    def regret_usd(self) -> float | None:
        """Return what fetching again would have cost in USD, None where unknown."""
        return _sum([regret.usd for regret in self.regrets if regret.is_certain])

    @property
    def regret_equivalents(self) -> float:
        """Return the same in uncached input tokens."""
        return sum(regret.equivalents for regret in self.regrets if regret.is_certain)

    @property
    def net_usd(self) -> float | None:
        """Return the money saved, re-billing, records and regret taken off; None where unknown."""
        rest = _sum([self.bill.usd, self.collection_usd, self.regret_usd])
        return None if rest is None or self.baseline.usd is None else self.baseline.usd - rest

    @property
    def net_equivalents(self) -> float:
        """Return the same in uncached input tokens."""
        spent = self.bill.equivalents + self.collection_equivalents + self.regret_equivalents
        return self.baseline.equivalents - spent


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
