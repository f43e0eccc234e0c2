from __future__ import annotations

from pathlib import Path

import pytest

from ctxheap_collector.transcripts.source import expand


def written(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")


def found(root: Path, *names: str) -> list[str]:
    return [found.path.relative_to(root).as_posix() for found in expand([str(root / name) for name in names])]


def test_folders_are_walked_in_order(tmp_path: Path) -> None:
    written(tmp_path, "b.jsonl", "a/2.json", "a/1.json")

    assert found(tmp_path, ".") == ["b.jsonl", "a/1.json", "a/2.json"]


def test_what_cannot_be_a_transcript_is_left_out_of_a_walk(tmp_path: Path) -> None:
    written(tmp_path, "a.json", ".git/x.json", "node_modules/x.json", ".cache/x.json")
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n")
    (tmp_path / "code.py").write_text("import os\n")
    (tmp_path / "empty.jsonl").write_text("")

    assert found(tmp_path, ".") == ["a.json"]


def test_hidden_folders_are_walked_and_foreign_ones_when_they_are_named(tmp_path: Path) -> None:
    written(tmp_path, ".claude/projects/.x/a.jsonl", ".cache/b.jsonl")

    assert found(tmp_path, ".") == [".claude/projects/.x/a.jsonl"]
    assert found(tmp_path, ".cache") == [".cache/b.jsonl"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [("*.json", ["a.json"]), ("**/*.json", ["a.json", "s/b.json"]), ("s*", ["s/b.json"])],
)
def test_globs_are_expanded_here_too(tmp_path: Path, pattern: str, names: list[str]) -> None:
    written(tmp_path, "a.json", "s/b.json")

    assert found(tmp_path, pattern) == names


def test_file_that_is_reached_twice_comes_once(tmp_path: Path) -> None:
    written(tmp_path, "a.json")

    assert found(tmp_path, "a.json", ".", "*.json") == ["a.json"]


def test_file_with_glob_characters_in_its_name_is_a_file(tmp_path: Path) -> None:
    written(tmp_path, "a[1].json")

    assert found(tmp_path, "a[1].json") == ["a[1].json"]


def test_missing_names_and_standard_input_are_handed_on() -> None:
    assert [(str(found.path), found.is_named) for found in expand(["missing.json", "-", "-"])] == [
        ("missing.json", True),
        ("-", True),
    ]
