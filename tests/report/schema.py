"""Judge documents by the schema in the docs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from jsonschema import Draft202012Validator

PATH = Path(__file__).parents[2] / "docs" / "profile.schema.json"
SCHEMA = cast("dict[str, object]", json.loads(PATH.read_text("utf-8")))
_VALIDATOR = Draft202012Validator(SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER)


def faults(document: object) -> list[str]:
    """Return where and how a document breaks the contract, an empty list if it keeps it."""
    found = _VALIDATOR.iter_errors(document)  # pyright: ignore[reportUnknownMemberType, reportArgumentType] -- stubs name Unknown
    return [f"{error.json_path}: {error.message}" for error in found]


def check_schema() -> None:
    """Raise where the schema itself is not valid."""
    Draft202012Validator.check_schema(SCHEMA)
