"""Let the SDKs warn as they like: their warnings are not ours to fail at."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module", autouse=True)
def what_is_left_is_collected_here() -> Iterator[None]:
    """Let clients that an SDK leaves open warn while warnings are not errors."""
    yield
    gc.collect()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("default"))
