"""Read amounts from the command line: numbers, shares in percent and token counts."""

from __future__ import annotations

import argparse
import math
from typing import Final

# Ends of token counts as the reports write them.
UNITS: Final = {"k": 1_000, "M": 1_000_000}


def number(words: str) -> float:
    """Return a finite number from 0; raise what argparse explains for anything else."""
    try:
        found = float(words)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise argparse.ArgumentTypeError(f"a number from 0 is wanted, not {words!r}")
    return found


def percent(words: str) -> float:
    """Return "15%" or "15" as 0.15."""
    return number(words.removesuffix("%")) / 100


def share(words: str) -> float:
    """Return a percentage up to 100 as a share."""
    found = percent(words)
    if found > 1:
        raise argparse.ArgumentTypeError(f"at most 100 % is wanted, not {words!r}")
    return found


def tokens_or_share(words: str) -> int | float:
    """Return tokens ("150000", "150k") as an int, a share of something ("80%") as a float."""
    if words.endswith("%"):
        return percent(words)
    unit = UNITS.get(words[-1:], 1)
    return round(number(words[:-1] if unit > 1 else words) * unit)
