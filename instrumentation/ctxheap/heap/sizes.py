"""Size objects by what the provider billed for them, where an estimate would only guess (SPEC 3.2).

    call k−1   T = 18,394   | system | user | ... |
    call k     T = 18,798   | system | user | ... | output of k−1 | tool result |      growth 404

A prompt that extends the one before it was billed for exactly what is new. With a tokenizer that is
only estimated this growth is the better count, so it replaces the raw counts of the new objects. Not
every growth can be believed: something the capture cannot see may have come or gone. So the scale of
each tag (billed over raw) is learnt first, as a median over the session, and a growth counts when it
agrees with it; the other objects are sized by the scale alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from ctxheap.heap.attribution import PLAUSIBLE_FACTORS, apportion

MIN_SAMPLES = 5
SCALE_BOUNDS = (0.5, 2.0)
SLACK_TOKENS = 100  # wrappers of a tool call and its result: what small growths have beyond their text


@dataclass(frozen=True, slots=True)
class Growth:
    """Hold what one call added to the prompt before it, in tokens.

    Attributes:
        billed: T_k − T_{k−1}.
        own: Numbers of the new objects that are the previous call's output.
        other: Numbers of the other new objects.
        output: Output tokens billed for the previous call; 0 when unknown.
        tag: Tag of the largest of the new objects.
    """

    billed: int
    own: tuple[int, ...]
    other: tuple[int, ...]
    output: int
    tag: str


@dataclass(slots=True)
class Sizes:
    """Hold what was learnt: the measured tokens of objects by number, and the scale of each tag."""

    measured: dict[int, int] = field(default_factory=dict[int, int])
    scales: dict[str, float] = field(default_factory=dict[str, float])
    overall: float = 1.0

    def of(self, number: int, tag: str, raw: int) -> int:
        """Return the tokens of an object with that raw count."""
        if number in self.measured:
            return self.measured[number]
        return round(raw * self.scales.get(tag, self.overall))


def measure(growths: Sequence[Growth], raw: Sequence[int]) -> Sizes:
    """Return the sizes that the growths of a session give to its objects, `raw` counted by number."""
    samples: dict[str, list[float]] = {}
    own_samples: list[float] = []
    for growth in growths:
        counted = _sum(raw, (*growth.own, *growth.other))
        own = _sum(raw, growth.own)
        if counted:
            samples.setdefault(growth.tag, []).append(growth.billed / counted)
        if own:
            own_samples.append(growth.output / own)
    sizes = Sizes(
        scales={tag: scale for tag, found in samples.items() if (scale := _scale(found))},
        overall=_scale([sample for found in samples.values() for sample in found]) or 1.0,
    )
    own_scale = _scale(own_samples)
    for growth in growths:
        _apply(growth, raw, sizes, own_scale)
    return sizes


def _scale(samples: Sequence[float]) -> float | None:
    """Return the median, None when it rests on too few samples or is no plausible scale."""
    if len(samples) < MIN_SAMPLES:
        return None
    middle = median(samples)
    return middle if SCALE_BOUNDS[0] <= middle <= SCALE_BOUNDS[1] else None


def _apply(growth: Growth, raw: Sequence[int], sizes: Sizes, own_scale: float | None) -> None:
    new = (*growth.own, *growth.other)
    own, counted = _sum(raw, growth.own), _sum(raw, new)
    if not counted or not _agrees(growth.billed, counted * sizes.scales.get(growth.tag, 1.0)):
        return
    rest = growth.billed - growth.output
    if own and own < counted and own_scale and rest > 0 and _agrees(growth.output, own * own_scale):
        # The output has a bill of its own, so it is sized apart from what arrived with it.
        sizes.measured.update(_shares(growth.output, growth.own, raw))
        sizes.measured.update(_shares(rest, growth.other, raw))
    else:
        sizes.measured.update(_shares(growth.billed, new, raw))


def _agrees(billed: int, expected: float) -> bool:
    low, high = PLAUSIBLE_FACTORS
    return low * expected <= billed <= max(high * expected, expected + SLACK_TOKENS)


def _shares(total: int, numbers: Sequence[int], raw: Sequence[int]) -> Iterable[tuple[int, int]]:
    return zip(numbers, apportion(total, [raw[number] for number in numbers]), strict=True)


def _sum(raw: Sequence[int], numbers: Iterable[int]) -> int:
    return sum(raw[number] for number in numbers)
