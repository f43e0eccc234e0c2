"""Write a reclaim policy as the YAML file that `ctxheap replay` and the agent's collector read."""

from __future__ import annotations

import yaml

from ctxheap.reclaim.policy import Policy, mapping_of

_HEAD = """\
# Reclaim rules suggested by ctxheap; the format is described in docs/reclaim.md.
# Try them on sessions they were not made from: ctxheap replay --policy THIS_FILE PATH
"""


def policy_text(policy: Policy) -> str:
    """Return the file's text."""
    dumped = yaml.safe_dump(mapping_of(policy), sort_keys=False, allow_unicode=True)  # pyright: ignore[reportUnknownMemberType] -- stubs name Unknown
    return _HEAD + dumped
