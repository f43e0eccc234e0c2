"""Judge which objects of the context an output used, from what they share (SPEC 5.1)."""

from __future__ import annotations

from .tracker import EvidenceTracker, Use

__all__ = ["EvidenceTracker", "Use"]
