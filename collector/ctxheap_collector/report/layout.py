"""Lay text out in lines of a given width: paragraphs, bars and tables that never wrap.

A line is a tuple of pieces, a piece is text in one style. Widths are terminal cells: wide letters
take two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

from rich.cells import cell_len, chop_cells, set_cell_size

INDENT: Final = "  "
# From here on columns stand two cells apart.
WIDE: Final = 110
NO_BREAK: Final = "\N{NO-BREAK SPACE}"


class Piece(NamedTuple):
    """Hold text and the name of its style in rich's terms, "" for none."""

    text: str
    style: str = ""


Line: TypeAlias = tuple[Piece, ...]


class Stretch(NamedTuple):
    """Hold a cell that is drawn once the width of its column is known; it would like `want`."""

    want: int
    draw: Callable[[int], Line]


Cell: TypeAlias = Piece | Stretch


@dataclass(frozen=True, slots=True)
class Column:
    """Describe a column of a table.

    Attributes:
        title: Its head.
        is_left: Whether cells stand left, as words do.
        least: Smallest width of a stretching column; 0 for one as wide as its cells.
        drop: Columns with the highest rank go first where room is short; 0 stays.
    """

    title: str
    is_left: bool = False
    least: int = 0
    drop: int = 0


def text(words: str, style: str = "") -> Line:
    """Return a line of one piece."""
    return (Piece(words, style),)


def cells_of(words: str) -> int:
    """Return how many terminal cells a text takes."""
    return len(words) if words.isascii() else cell_len(words)


def printable(words: str) -> str:
    """Return text on one line without control characters, which could steer a terminal."""
    if words.isprintable():
        return words
    return " ".join("".join(c if c.isprintable() else " " for c in words).split())


def shorten(words: str, width: int) -> str:
    """Return text cut nearer its start: a name's tool, file and call survive rather than folders."""
    if cells_of(words) <= width:
        return words
    if width < 2:
        return "…"[:width]
    tail = (width - 1) * 2 // 3
    head = set_cell_size(words, width - 1 - tail)
    return set_cell_size(f"{head.rstrip()}…{_end(words, tail)}", width).rstrip()


def _end(words: str, width: int) -> str:
    """Return as much of the end of a text as fits."""
    words = words[-width:] if width else ""
    while cells_of(words) > width:
        words = words[1:]
    return words


def named(words: str, style: str = "") -> Stretch:
    """Return a cell of text that is shortened where it has to be."""
    shown = printable(words)

    def draw(width: int) -> Line:
        return text(shorten(shown, width), style)

    return Stretch(cells_of(shown), draw)


def paragraph(words: str, width: int, *, indent: str = INDENT, style: str = "") -> list[Line]:
    """Return text as lines; no-break spaces hold numbers and units together."""
    lines = _wrapped(words, max(20, width - len(indent)))
    return [text(indent + line.replace(NO_BREAK, " "), style) for line in lines]


def _wrapped(words: str, width: int) -> Iterator[str]:
    """Yield lines of whole words; only a word that is wider than a line is broken."""
    line = ""
    for word in words.split(" "):
        longer = f"{line} {word}" if line else word
        if cells_of(longer) <= width:
            line = longer
            continue
        if line:
            yield line
        *full, line = chop_cells(word, width) or [""]
        yield from full
    yield line


def flow(pieces: Sequence[Piece], width: int) -> list[Line]:
    """Return pieces side by side, on as many lines as they need."""
    rows: list[list[Piece]] = []
    for piece in pieces:
        taken = _cells(rows[-1]) if rows else width
        if taken + cells_of(piece.text.rstrip()) > width - len(INDENT):
            rows.append([])
        rows[-1].append(piece)
    ends = (Piece(row[-1].text.rstrip(), row[-1].style) for row in rows)
    return [joined((Piece(INDENT), *row[:-1], end)) for row, end in zip(rows, ends, strict=True)]


def safe(line: Line, width: int) -> Line:
    """Return a line that fits a width and cannot steer a terminal: itself, nearly always."""
    if all(piece.text.isprintable() for piece in line) and _cells(line) <= width:
        return line
    kept: list[Piece] = []
    for piece in line:
        words, room = printable(piece.text), width - _cells(kept)
        kept.append(Piece(words if cells_of(words) <= room else set_cell_size(words, room), piece.style))
    return joined(kept)


def _cells(pieces: Iterable[Piece]) -> int:
    return sum(cells_of(piece.text) for piece in pieces)


def more(hidden: int, noun: str) -> list[Line]:
    """Return the line that stands for what a bounded list leaves out."""
    if hidden <= 0:
        return []
    return [text(f"{INDENT}… and {hidden:,} more {noun}{'' if hidden == 1 else 's'} (use --top 0)", "dim")]


def shares(amounts: Sequence[int], cells: int) -> list[int]:
    """Return cells for each amount by the largest remainder; negative amounts get none."""
    kept = [max(0, amount) for amount in amounts]
    total = sum(kept)
    if not total:
        return [0] * len(kept)
    parts = [amount * cells // total for amount in kept]
    by_rest = sorted(range(len(kept)), key=lambda i: -(kept[i] * cells % total))
    for i in by_rest[: cells - sum(parts)]:
        parts[i] += 1
    return parts


def table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int) -> list[Line]:
    """Return head and rows within a width, less important columns left out where they must."""
    gap = 2 if width >= WIDE else 1
    kept, widths = _fit(columns, rows, width - len(INDENT), gap)
    head = [Piece(columns[i].title, "dim") for i in kept]
    body = [[row[i] for i in kept] for row in rows]
    sides = [columns[i].is_left for i in kept]
    return [_row(head, widths, sides, gap), *(_row(cells, widths, sides, gap) for cells in body)]


def _fit(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int, gap: int
) -> tuple[list[int], list[int]]:
    """Return which columns are shown and how wide each is."""
    wants = [max(map(_want, cells)) for cells in zip(_heads(columns), *rows, strict=True)]
    kept = list(range(len(columns)))
    by_rank = iter(sorted((i for i in kept if columns[i].drop), key=lambda i: -columns[i].drop))
    needs = [min(want, column.least) or want for want, column in zip(wants, columns, strict=True)]
    while sum(needs[i] + gap for i in kept) - gap > width and (least := next(by_rank, None)) is not None:
        kept.remove(least)
    spare = width + gap - sum(needs[i] + gap for i in kept)
    for i in kept:
        more = max(spare, 1 - needs[i]) if spare < 0 and columns[i].least else max(0, spare)
        grown = min(wants[i] - needs[i], more)
        needs[i] += grown
        spare -= grown
    return kept, [needs[i] for i in kept]


def _heads(columns: Sequence[Column]) -> list[Cell]:
    return [Piece(column.title) for column in columns]


def _want(cell: Cell) -> int:
    return cell.want if isinstance(cell, Stretch) else cells_of(cell.text)


def _row(cells: Sequence[Cell], widths: Sequence[int], sides: Sequence[bool], gap: int) -> Line:
    pieces: list[Piece] = []
    # Unstyled text waits here for its neighbours: thousands of rows are thousands of pieces fewer.
    plain = INDENT
    for cell, width, is_left in zip(cells, widths, sides, strict=True):
        drawn = cell.draw(width) if isinstance(cell, Stretch) else (cell,)
        rest = " " * (width - _cells(drawn))
        if not is_left:
            plain += rest
        for piece in drawn:
            if not piece.style:
                plain += piece.text
            elif piece.text:
                pieces += (Piece(plain), piece)
                plain = ""
        plain += rest + " " * gap if is_left else " " * gap
    return tuple(piece for piece in (*pieces, Piece(plain.rstrip())) if piece.text)


def joined(pieces: Iterable[Piece]) -> Line:
    """Return pieces with neighbours of one style made one, and no blank at the end."""
    runs = [Piece("".join(p.text for p in run), style) for style, run in _runs(pieces)]
    while runs and not runs[-1].style and not runs[-1].text.strip():
        runs.pop()
    if runs and not runs[-1].style:
        runs[-1] = Piece(runs[-1].text.rstrip())
    return tuple(runs)


def _runs(pieces: Iterable[Piece]) -> Iterator[tuple[str, Iterator[Piece]]]:
    return groupby((piece for piece in pieces if piece.text), key=lambda piece: piece.style)
