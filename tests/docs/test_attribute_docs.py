"""Check that the docs name every attribute, metric and setting of the capture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ctxheap.heap.tags import KINDS

ROOT = Path(__file__).parents[2]
TELEMETRY = ROOT / "instrumentation" / "ctxheap" / "telemetry"
ATTRIBUTES = (ROOT / "docs" / "attributes.md").read_text("utf-8")
PRIVACY = (ROOT / "docs" / "privacy.md").read_text("utf-8")
NAME = re.compile(r'"((?:gen_ai|ctxheap|server|error)\.[a-z0-9_.]*[a-z0-9_])"')


def names() -> list[str]:
    texts = [path.read_text("utf-8") for path in TELEMETRY.glob("*.py")]
    return sorted({name for text in texts for name in NAME.findall(text)})


@pytest.mark.parametrize("name", names())
def test_every_attribute_and_metric_is_in_the_docs(name: str) -> None:
    assert f"`{name}`" in ATTRIBUTES


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_in_the_docs(kind: str) -> None:
    assert f"`.{kind}`" in ATTRIBUTES or f"`ctxheap.tokens.{kind}`" in ATTRIBUTES


@pytest.mark.parametrize(
    "setting",
    [
        "CTXHEAP_CAPTURE",
        "CTXHEAP_REDACT",
        "CTXHEAP_IDENTITY_KEY",
        "CTXHEAP_QUEUE_BYTES",
        "CTXHEAP_MEMORY_BYTES",
    ],
)
def test_every_setting_that_decides_what_leaves_is_on_the_privacy_page(setting: str) -> None:
    assert setting in PRIVACY
