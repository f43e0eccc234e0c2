"""Draw the context over the calls of a session as stacked columns.

In colour a cell is split between two groups by eighths; without colour it holds the letter of the
group that fills most of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from ctxheap_collector.report.contract import CompactionRow, TimelineRow
from ctxheap_collector.report.figures import short
from ctxheap_collector.report.layout import INDENT, Line, Piece, joined
from ctxheap_collector.report.palette import ALARM, FAINT, GROUPS, group_of

ROWS = 10
EIGHTHS = " ▁▂▃▄▅▆▇█"
AXIS_CELLS = 8
WIDEST_CALL = 4
COMPACTED = "▼"


@dataclass(frozen=True, slots=True)
class Stack:
    """Hold one column: the border above each group of `GROUPS`, in eighths of a cell."""

    borders: tuple[int, ...]
    first: int
    last: int


def chart(
    rows: Sequence[TimelineRow], compactions: Sequence[CompactionRow], *, width: int, in_colour: bool
) -> list[Line]:
    """Return the chart with its axes; nothing without calls."""
    cells = width - len(INDENT) - AXIS_CELLS - 1
    largest = max((row.input for row in rows), default=0)
    if not largest or cells < 10:
        return []
    repeat = max(1, min(WIDEST_CALL, cells // len(rows)))
    stacks = [_stack(bucket, largest) for bucket in _buckets(rows, cells)]
    draw = _blend if in_colour else _letter
    body = [
        joined((_tick(level, largest), *(draw(stack, level, repeat) for stack in stacks)))
        for level in reversed(range(ROWS))
    ]
    compacted = {row.call for row in compactions}
    return [*_marks(stacks, compacted, repeat), *body, _axis(stacks, repeat)]


def _buckets(rows: Sequence[TimelineRow], cells: int) -> list[Sequence[TimelineRow]]:
    count = min(len(rows), cells)
    cuts = [i * len(rows) // count for i in range(count + 1)]
    return [rows[a:b] for a, b in pairwise(cuts)]


def _stack(bucket: Sequence[TimelineRow], largest: int) -> Stack:
    """Return the column of the largest call of a bucket, so that no peak is lost."""
    row = max(bucket, key=lambda row: row.input)
    sizes = dict.fromkeys((group.letter for group in GROUPS), 0)
    for tag, tokens in row.tags.items():
        sizes[group_of(tag).letter] += max(0, tokens)
    heights = accumulate(sizes.values())
    borders = tuple(min(ROWS * 8, round(height * ROWS * 8 / largest)) for height in heights)
    return Stack(borders, bucket[0].call, bucket[-1].call)


def _bands(stack: Stack, level: int) -> list[tuple[int, int]]:
    """Return what fills a cell as (eighths, index of the group), bottom first."""
    floor = level * 8
    inside = [min(8, max(0, border - floor)) for border in stack.borders]
    sizes = (b - a for a, b in pairwise((0, *inside)))
    return [(size, index) for index, size in enumerate(sizes) if size]


def _blend(stack: Stack, level: int, repeat: int) -> Piece:
    bands = _bands(stack, level)
    if not bands:
        return Piece(" " * repeat)
    filled = sum(size for size, _ in bands)
    if len(bands) == 1 or filled < 8:
        colour = GROUPS[max(bands)[1]].colour
        return Piece(EIGHTHS[filled] * repeat, colour)
    lower, upper = sorted(sorted(bands, reverse=True)[:2], key=lambda band: band[1])
    mark = EIGHTHS[max(1, round(8 * lower[0] / (lower[0] + upper[0])))]
    return Piece(mark * repeat, f"{GROUPS[lower[1]].colour} on {GROUPS[upper[1]].colour}")


def _letter(stack: Stack, level: int, repeat: int) -> Piece:
    bands = _bands(stack, level)
    if sum(size for size, _ in bands) < 4:
        return Piece(" " * repeat)
    return Piece(GROUPS[max(bands)[1]].letter * repeat)


def _tick(level: int, largest: int) -> Piece:
    is_labelled = level in (ROWS - 1, ROWS // 2 - 1)
    label = short(largest * (level + 1) // ROWS) if is_labelled else ""
    return Piece(f"{INDENT}{label:>{AXIS_CELLS - 2}} {'┤' if is_labelled else '│'}", FAINT)


def _marks(stacks: Sequence[Stack], compacted: set[int], repeat: int) -> list[Line]:
    if not compacted:
        return []
    marks = "".join(
        (COMPACTED if any(call in compacted for call in range(stack.first, stack.last + 1)) else " ").ljust(
            repeat
        )
        for stack in stacks
    )
    return [joined((Piece(" " * (len(INDENT) + AXIS_CELLS)), Piece(marks.rstrip(), ALARM)))]


def _axis(stacks: Sequence[Stack], repeat: int) -> Line:
    """Return the calls under the columns: the first, the middle, the last."""
    cells = len(stacks) * repeat
    first, middle, last = (
        str(call) for call in (stacks[0].first, stacks[len(stacks) // 2].first, stacks[-1].last)
    )
    line = f"call {first}".ljust(cells)
    at = len(stacks) // 2 * repeat
    if at > len(first) + 7 and at + len(middle) + 1 < cells - len(last):
        line = line[:at] + middle.ljust(cells - at)
    if cells > len(first) + len(last) + 6:
        line = line[: cells - len(last)] + last
    return (Piece(" " * (len(INDENT) + AXIS_CELLS) + line, FAINT),)
