"""Share the billed input of one call out over its parts, so that every token has one owner (SPEC 3.3).

    T = 1,000 billed          e = [400, 500]          known overhead 9
    kept    tokens 400 500    framing 9               unattributed 91 -> beyond 2 %, so:
    scaled  tokens 440 550    framing 10              unattributed 0

All sums are whole tokens and the split uses integers only: a float would lose a token above 2^53.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal

Method = Literal["exact", "soft", "scaled", "estimated", "raw", "empty"]

SLACK_TOKENS = 16
SLACK_SHARE = 50  # one fiftieth: 2 % of the billed total
PLAUSIBLE_FACTORS = (0.7, 1.5)


@dataclass(frozen=True, slots=True)
class Attribution:
    """Hold the billed tokens of one call's parts; `tokens`, `framing`, `unattributed` add up to T.

    Attributes:
        tokens: Billed tokens of each part, in prompt order.
        framing: Tokens of role markers and of the provider's own overhead.
        unattributed: The signed rest in tokens, last in prompt order.
        method: `exact` counts kept, `soft` parts scaled, all `scaled` although the tokenizer is the
            model's own, scaled from `estimated` counts, `raw` counts without a bill, or `empty`:
            nothing was there to carry the bill.
        factor: What the scaled parts were multiplied by; 1.0 where nothing was scaled.
    """

    tokens: list[int]
    framing: int
    unattributed: int
    method: Method
    factor: float

    @property
    def is_estimated(self) -> bool:
        """Return whether single sizes rest on an estimate, whatever their exact sum."""
        return self.method in ("estimated", "raw")

    @property
    def is_plausible(self) -> bool:
        """Return whether the factor is one that a fitting tokenizer and a whole capture give."""
        low, high = PLAUSIBLE_FACTORS
        return low <= self.factor <= high


def attribute(
    total: int | None, raw: Sequence[int], *, exact: bool, soft: Sequence[bool] = (), overhead: int = 0
) -> Attribution:
    """Return the share of each part in the billed input of a call.

    Args:
        total: Billed input tokens T of the call, cache included; None when no usage was reported.
        raw: Counted tokens e_i of each part, in prompt order, none below 0.
        exact: Whether `raw` comes from the model's own tokenizer.
        soft: For each part, whether its count is uncertain even so (tool definitions, media,
            reasoning); empty when none is.
        overhead: Tokens the provider is known to add (OpenAI: 3 a message and 3 more).
    """
    counted = sum(raw)
    if total is None:
        return Attribution(list(raw), overhead, 0, "raw", 1.0)
    if counted == 0:
        return Attribution([0] * len(raw), 0, total, "empty", 1.0)
    if not exact:
        return _scale_all(total, raw, overhead=overhead, method="estimated")
    rest = total - counted
    framing = min(max(rest, 0), overhead)
    if abs(rest - framing) <= max(SLACK_TOKENS, total // SLACK_SHARE):
        return Attribution(list(raw), framing, rest - framing, "exact", 1.0)
    return _scale_soft(total, raw, soft=soft, overhead=overhead)


def _scale_soft(total: int, raw: Sequence[int], *, soft: Sequence[bool], overhead: int) -> Attribution:
    """Let the uncertain parts carry the difference, or all parts where those cannot."""
    uncertain = list(compress(raw, soft))
    weight = sum(uncertain)
    room = total - overhead - (sum(raw) - weight)
    if weight == 0 or room < 0:
        return _scale_all(total, raw, overhead=overhead, method="scaled")
    shares = iter(apportion(room, uncertain))
    tokens = [next(shares) if is_soft else count for count, is_soft in zip(raw, soft, strict=True)]
    return Attribution(tokens, overhead, 0, "soft", room / weight)


def _scale_all(total: int, raw: Sequence[int], *, overhead: int, method: Method) -> Attribution:
    """Scale every part alike; the known overhead is one more part, behind the others."""
    tokens = apportion(total, [*raw, overhead])
    return Attribution(tokens, tokens.pop(), 0, method, total / (sum(raw) + overhead))


def apportion(total: int, weights: Sequence[int]) -> list[int]:
    """Return whole numbers in proportion to `weights` that add up to `total`.

    Largest remainders get the tokens that rounding down left over; ties go by position. The sum of
    the weights must be above 0.
    """
    whole = sum(weights)
    if whole == total:
        return list(weights)
    products = [weight * total for weight in weights]
    shares = [product // whole for product in products]
    left = total - sum(shares)
    if left:
        remainders = [product % whole for product in products]
        # A reversed sort stays stable, which is what breaks ties in prompt order.
        for index in sorted(range(len(shares)), key=remainders.__getitem__, reverse=True)[:left]:
            shares[index] += 1
    return shares
