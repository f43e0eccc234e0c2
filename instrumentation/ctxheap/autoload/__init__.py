"""Find the folder that starts the capture in every Python below a command."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which every Python starts with the capture on."""
    paths = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if str(FOLDER) not in paths:
        paths.insert(0, str(FOLDER))
    return {**environ, "PYTHONPATH": os.pathsep.join(paths)}
