"""Check what a user gets who installs the wheel without extras: a light package with clear words."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"numpy", "pandas", "pyarrow", "rich", "genai_prices", "streamlit", "chdb", "clickhouse_connect"}

pytestmark = pytest.mark.checkout


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the scripts folder of a fresh environment with the base install from the wheel."""
    folder = tmp_path_factory.mktemp("base")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    venv.create(folder / "venv", with_pip=True)
    scripts = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    wheel = next(folder.glob("*.whl"))
    install = [str(scripts / "python"), "-m", "pip", "install", "--quiet", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    return scripts


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_base_install_brings_nothing_heavy(base: Path) -> None:
    site = next(base.parent.glob("lib*/**/site-packages"))

    assert {path.name for path in site.iterdir()} & HEAVY == set()


def test_profile_without_its_extra_says_what_to_install(base: Path, tmp_path: Path) -> None:
    transcript = tmp_path / "messages.json"
    transcript.write_text('[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]')

    done = run([str(base / "ctxheap"), "profile", str(transcript)])

    assert (done.returncode, done.stdout) == (2, "")
    assert 'pip install "ctxheap[profile]"' in done.stderr


def test_base_install_counts_tokens_and_builds_heaps(base: Path) -> None:
    program = (
        "from ctxheap import tokens\n"
        "from ctxheap.heap.session import HeapBuilder\n"
        "HeapBuilder(session='s', counter_for=tokens.counter_for).finish()\n"
        "print(tokens.counter_for('gpt-4o').count(['hello world']))\n"
    )

    done = run([str(base / "python"), "-W", "error", "-c", program])

    assert (done.stdout, done.stderr) == ("[2]\n", "")
