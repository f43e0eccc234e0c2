"""Check that imports go one way and that the distribution holds what it should."""

from __future__ import annotations

import ast
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = {
    "instrumentation/ctxheap": {"ctxheap"},
    "collector/ctxheap_collector": {"ctxheap", "ctxheap_collector"},
}
OURS = {"ctxheap", "ctxheap_collector", "ctxheap_dashboard", "ctxheap_sql"}


def imported(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    from_ = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in plain | from_}


@pytest.mark.checkout
@pytest.mark.parametrize("package", ALLOWED)
def test_imports_go_one_way(package: str) -> None:
    foreign = {
        str(path): names
        for path in (ROOT / package).rglob("*.py")
        if (names := imported(path) & OURS - ALLOWED[package])
    }

    assert foreign == {}


@pytest.mark.checkout
def test_distribution_holds_packages_data_and_licences_but_no_tests(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(tmp_path), str(ROOT)], check=True, capture_output=True
    )
    wheel = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        sdist = archive.getnames()

    assert {name.split("/")[0] for name in wheel if ".dist-info" not in name} == {
        "ctxheap",
        "ctxheap_collector",
    }
    assert {"ctxheap/py.typed", "ctxheap_collector/py.typed"} <= set(wheel)
    assert any(name.startswith("ctxheap/tokens/ranks/o200k_base") for name in wheel)
    assert "ctxheap_collector/demo/session.jsonl.gz" in wheel
    assert any(name.endswith("licenses/LICENSE") for name in wheel)
    assert not any("/tests/" in name for name in wheel + sdist)
