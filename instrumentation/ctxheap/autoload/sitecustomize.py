"""Start the capture when Python starts: `ctxheap run` puts this folder first on PYTHONPATH.

It stands in the way of a `sitecustomize` of the host's own, so it runs that one too, as if it were not here.
"""

from __future__ import annotations

import os
import sys


def _run_other() -> None:
    """Import the `sitecustomize` that would have been found without this one."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 -- no import that is not there yet
    others = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]  # noqa: PTH100
    ours = sys.modules.pop("sitecustomize", None)
    kept, sys.path[:] = sys.path[:], others
    try:
        import sitecustomize  # noqa: F401, PLC0415 # pyright: ignore[reportUnusedImport] -- for its effects
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        if ours is not None:
            sys.modules["sitecustomize"] = ours
    finally:
        # What it put on the path stays; our folder is needed by nobody any more in this process.
        sys.path[:] = [*(entry for entry in sys.path if entry not in kept), *others]


def _start() -> None:
    """Start the capture; whatever goes wrong, Python starts as it would have."""
    try:
        import ctxheap  # noqa: PLC0415 -- may be missing in an interpreter of another environment

        ctxheap.instrument()
    except Exception:  # noqa: BLE001, S110 -- nobody here to tell
        pass


_start()
_run_other()
