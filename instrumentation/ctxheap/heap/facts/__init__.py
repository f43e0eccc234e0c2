"""Note of content, while it is there, what analyses need after it is gone."""

from __future__ import annotations

from .records import Echo, Facts, Remark, Repeat, Section, Step, digest
from .tracker import FactsTracker

__all__ = ["Echo", "Facts", "FactsTracker", "Remark", "Repeat", "Section", "Step", "digest"]
