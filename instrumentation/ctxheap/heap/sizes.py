"""Size objects by what the provider billed for them, where an estimate would only guess (SPEC 3.2).

A prompt that extends the one before it was billed for exactly what is new: T_k − T_{k−1}. With a
tokenizer that is only estimated this difference is the better count, so the raw counts of the new
objects are replaced by their shares of it. A growth that the estimate cannot explain (a ratio
outside `PLAUSIBLE_FACTORS`) is left alone: something that the capture did not see came or went.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ctxheap.heap.attribution import PLAUSIBLE_FACTORS, apportion


@dataclass(frozen=True, slots=True)
class Growth:
    """Hold what one call added to the prompt before it, in tokens.

    Attributes:
        billed: T_k − T_{k−1}.
        own: Numbers of the new objects that are the previous call's output.
        other: Numbers of the other new objects.
        output: Output tokens billed for the previous call; 0 when unknown.
    """

    billed: int
    own: tuple[int, ...]
    other: tuple[int, ...]
    output: int


def measure(growths: Sequence[Growth], raw: list[int]) -> float:
    """Replace raw counts by measured ones, in place, and return the model's median scale.

    The previous call's output has a bill of its own (its output tokens), so it is sized apart
    from the tool results that arrived with it, as long as both shares stay within
    `PLAUSIBLE_FACTORS`.
    The scale is billed growth over raw counts, 1.0 when no growth could be trusted.
    """
    scales = [scale for growth in growths if (scale := _measure_one(growth, raw)) is not None]
    return median(scales) if scales else 1.0


def _measure_one(growth: Growth, raw: list[int]) -> float | None:
    new = growth.own + growth.other
    counted = sum(raw[i] for i in new)
    if not _is_trusted(growth.billed, counted):
        return None
    own = sum(raw[i] for i in growth.own)
    rest = growth.billed - growth.output
    groups = [(growth.billed, new)]
    if _is_trusted(growth.output, own) and (
        _is_trusted(rest, counted - own) or (not growth.other and not rest)
    ):
        groups = [(growth.output, growth.own), (rest, growth.other)]
    for total, numbers in groups:
        if numbers:
            for i, size in zip(numbers, apportion(total, [raw[i] for i in numbers]), strict=True):
                raw[i] = size
    return growth.billed / counted


def _is_trusted(billed: int, counted: int) -> bool:
    low, high = PLAUSIBLE_FACTORS
    return counted > 0 and low * counted <= billed <= high * counted
