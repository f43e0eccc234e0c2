"""Define what a suggestion says: what it would free, and what that saves net."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ctxheap.reclaim.policy import Rule

Confidence = Literal["high", "medium", "low"]
SuggestedAction = Literal["dedupe", "truncate", "evict", "pin", "compact", "upstream"]

VERIFY = (
    "ctxheap replay --policy reclaim.yaml on sessions it was not made from: net above 0, no regret fetches"
)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Hold one suggestion; amounts in token equivalents (uncached input tokens) and in USD.

    Attributes:
        action: What to do; `upstream` is advice to people, no rule.
        tag: What it is about.
        rule: The rule of a policy, None for advice.
        objects: Numbers of the objects that it would have freed here, in the order of leaving.
        freed_at: The call of each, the first whose prompt goes without it.
        tokens: Tokens that would have left the prompt, receipts taken off.
        token_calls: The same, summed over the calls to each object's end.
        gross_tokens: What is no longer billed.
        rebill_tokens: What the cache stores again because of it.
        regret_tokens: Expected cost of fetching some of it again.
        gross_usd: These in USD, None where the price of any call is unknown.
        break_even_calls: Calls after which re-billing is earned back.
        reason: Why it is accepted or not, in a few words.
        evidence: What speaks for it.
        verify: How to check it.
        used_later: Numbers of objects that it would have freed before a use.
        lost_tokens: What fetching those again would cost, a part of `regret_tokens`.
        keeps: Numbers of objects that a pin keeps.
        is_refused: Whether it was not even weighed, for the reason given.
    """

    action: SuggestedAction
    tag: str
    rule: Rule | None
    objects: tuple[int, ...] = ()
    freed_at: tuple[int, ...] = ()
    tokens: int = 0
    token_calls: int = 0
    gross_tokens: float = 0.0
    rebill_tokens: float = 0.0
    regret_tokens: float = 0.0
    gross_usd: float | None = None
    rebill_usd: float | None = None
    regret_usd: float | None = None
    break_even_calls: float = 0.0
    confidence: Confidence = "medium"
    accepted: bool = False
    reason: str = ""
    evidence: str = ""
    verify: str = VERIFY
    used_later: tuple[int, ...] = ()
    lost_tokens: float = 0.0
    lost_usd: float | None = None
    keeps: tuple[int, ...] = ()
    is_refused: bool = False

    @property
    def net_tokens(self) -> float:
        """Return the net saving in token equivalents: gross less re-billing less expected regret."""
        return self.gross_tokens - self.rebill_tokens - self.regret_tokens

    @property
    def net_usd(self) -> float | None:
        """Return the net saving in USD, None where a price is unknown."""
        if self.gross_usd is None or self.rebill_usd is None or self.regret_usd is None:
            return None
        return self.gross_usd - self.rebill_usd - self.regret_usd


def objects_of(count: int) -> str:
    """Return "1 object" or "n objects"."""
    return f"{count:,} object{'' if count == 1 else 's'}"
