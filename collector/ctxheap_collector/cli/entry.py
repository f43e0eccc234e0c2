"""Start the command line; kept apart so that Ctrl-C ends it quietly while it is still being imported."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> int:
    """Run the command line and return its exit code."""
    try:
        from ctxheap_collector.cli.main import main as run  # noqa: PLC0415 -- see above

        return run()
    except KeyboardInterrupt:
        print("ctxheap: interrupted", file=sys.stderr)
        return INTERRUPTED
