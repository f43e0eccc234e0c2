"""Write numbers the way people read them: short, with their unit, unknown where unknown."""

from __future__ import annotations

from typing import Final

UNKNOWN: Final = "?"
_STEPS: Final = ((1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))


def short(amount: int, *, gap: str = "") -> str:
    """Return an amount in at most six characters ("850", "61.2k", "133.9M").

    In prose `gap` stands before the unit and no idle zeros after the point ("3.6 M").
    """
    size = abs(amount)
    sign = "−" if amount < 0 else ""
    for step, unit in _STEPS:
        # 999,950 would round to 1000.0k.
        if size >= step * 0.99995:
            digits = 2 if size < step * 9.995 else 1
            figure = f"{size / step:.{digits}f}"
            return f"{sign}{_trimmed(figure) if gap else figure}{gap}{unit}"
    return f"{sign}{size}"


def whole(amount: int) -> str:
    """Return an amount with thousands apart ("140,460")."""
    return f"{amount:,}".replace("-", "−")


def money(dollars: float | None) -> str:
    """Return dollars with the digits that matter, "?" when unknown."""
    if dollars is None:
        return UNKNOWN
    size = abs(dollars)
    sign = "−" if dollars < 0 else ""
    if size == 0:
        return "$0"
    if size < 0.00005:
        return f"{sign}<$.0001"
    digits = 0 if size >= 1_000 else 2 if size >= 1 else 3 if size >= 0.01 else 4
    return f"{sign}${size:,.{digits}f}"


def money_range(low: float, high: float) -> str:
    """Return two sums of dollars as one interval ("$35.10–39.60")."""
    first, second = money(low), money(high)
    return first if first == second else f"{first}–{second.removeprefix('$')}"


def percent(part: float, total: float) -> str:
    """Return a share in whole percent ("44 %"), "<1 %" for less, "–" of nothing."""
    if not total:
        return "–"
    share = 100 * part / total
    return "<1 %" if 0 < share < 0.5 else f"{_round(share)} %"


def percent_range(low: float, high: float, total: float) -> str:
    """Return two shares of one total as an interval ("12–41 %"), one number where they agree."""
    if not total:
        return "–"
    first, second = _round(100 * low / total), _round(100 * high / total)
    return percent(high, total) if first == second else f"{first}–{second} %"


def plural(amount: int, noun: str) -> str:
    """Return an amount with its noun ("1 call", "1,652 calls")."""
    return f"{whole(amount)} {noun}" if amount == 1 else f"{whole(amount)} {noun}s"


def _trimmed(figure: str) -> str:
    return figure.rstrip("0").rstrip(".")


def _round(share: float) -> str:
    return f"{share:.0f}".replace("-0", "0").replace("-", "−")
