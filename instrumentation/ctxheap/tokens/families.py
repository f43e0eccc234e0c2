"""Look up how to count for a model: which encoding, whether it is exact, and the family's factors.

The table is dated data in `families.json`; SPEC 3.2 says what it means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NotRequired, TypedDict

from ctxheap.tokens.content import ContentClass
from ctxheap.tokens.names import normal_name
from ctxheap.tokens.vocabulary import EncodingName


class _FamilyData(TypedDict):
    exact: bool
    known: bool
    source: str
    date: str
    factors: NotRequired[dict[ContentClass, float]]


class _RuleData(TypedDict):
    match: str
    encoding: EncodingName
    family: str


class _Data(TypedDict):
    families: dict[str, _FamilyData]
    rules: list[_RuleData]


@dataclass(frozen=True, slots=True)
class Family:
    """Say how the models of one family count.

    Attributes:
        name: The family, "unknown" when no rule fits.
        encoding: The encoding to count with.
        exact: Whether that encoding is the model's own.
        known: Whether the factors were measured; without, they are 1.0.
        factors: Tokens of the model per token of the encoding, by content class.
        source: Where the factors come from.
        date: ISO date of the factors.
    """

    name: str
    encoding: EncodingName
    exact: bool
    known: bool
    factors: Mapping[ContentClass, float] = field(hash=False)
    source: str
    date: str

    def factor(self, kind: ContentClass) -> float:
        """Return the tokens of the model per token of the encoding for a class of content."""
        return self.factors.get(kind, 1.0)


@cache
def family_of(model: str) -> Family:
    """Return the family of a model, however its name is spelt; unknown models are estimated."""
    name = normal_name(model)
    for pattern, family in _rules():
        if pattern.search(name):
            return family
    raise AssertionError("the last rule matches every name")


@cache
def _rules() -> tuple[tuple[re.Pattern[str], Family], ...]:
    data: _Data = json.loads((Path(__file__).parent / "families.json").read_text("utf-8"))
    return tuple((re.compile(rule["match"]), _family(rule, data["families"])) for rule in data["rules"])


def _family(rule: _RuleData, families: Mapping[str, _FamilyData]) -> Family:
    entry = families[rule["family"]]
    return Family(
        name=rule["family"],
        encoding=rule["encoding"],
        exact=entry["exact"],
        known=entry["known"],
        factors=entry.get("factors", {}),
        source=entry["source"],
        date=entry["date"],
    )
