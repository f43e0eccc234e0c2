"""Measure what each install brings: packages and megabytes, beside the OpenTelemetry SDK and exporter alone.

benchmarks/install.py builds the wheel and installs it into fresh environments; it needs a package index.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHIPPED_WITH_VENV = {"pip", "setuptools", "pkg_resources", "_distutils_hack"}


def main() -> None:
    """Print one line an install."""
    with tempfile.TemporaryDirectory() as folder:
        build = [sys.executable, "-m", "build", "--wheel", "--outdir", folder, str(ROOT)]
        subprocess.run(build, check=True, capture_output=True)
        wheel = next(Path(folder).glob("*.whl"))
        print(f"{'wheel':34} {wheel.stat().st_size / 1e6:6.1f} MB")
        peer = ["opentelemetry-sdk", "opentelemetry-exporter-otlp"]
        for name, wanted in {
            "OpenTelemetry SDK and exporter": peer,
            "ctxheap": [str(wheel)],
            "ctxheap[profile]": [f"{wheel}[profile]"],
            "ctxheap[profile,fast]": [f"{wheel}[profile,fast]"],
        }.items():
            packages, size = measure(Path(folder) / name.replace(" ", "-"), wanted)
            print(f"{name:34} {size / 1e6:6.1f} MB {packages:3} packages")


def measure(folder: Path, wanted: list[str]) -> tuple[int, int]:
    """Return the packages and the bytes that an install brings into a fresh environment."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--no-compile", *wanted], check=True)
    site = next(folder.glob("[lL]ib*/**/site-packages"))
    files = [path for path in site.rglob("*") if path.is_file() and not _is_own(path.relative_to(site))]
    packages = sum(
        path.name.endswith(".dist-info") and not _is_own(Path(path.name)) for path in site.iterdir()
    )
    return packages, sum(path.stat().st_size for path in files if path.suffix != ".pyc")


def _is_own(path: Path) -> bool:
    return path.parts[0].partition("-")[0] in SHIPPED_WITH_VENV


if __name__ == "__main__":
    main()
