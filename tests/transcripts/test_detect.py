from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ctxheap.heap.model import Exchange
from ctxheap.providers.json_fields import fields
from ctxheap_collector.transcripts import detect
from ctxheap_collector.transcripts.detect import read_all
from ctxheap_collector.transcripts.source import Head, Source, Unreadable
from transcripts.claude_lines import Line, answer, chain, text, usage, user
from transcripts.written import write_json, write_lines


@dataclass
class Boxes:
    """A format of whole files {"box": n}, one call each; {"box": -1} makes its reader fail."""

    FORMAT: str = "boxes"
    GROUPED_BY_FOLDER: bool = True
    parsed: list[str] = field(default_factory=list[str])

    def looks_like(self, head: Head) -> bool:
        return "box" in fields(head.document)

    def read(self, source: Source) -> Iterator[Exchange]:
        for path, document in source.documents():
            self.parsed.append(path.name)
            if fields(document)["box"] == -1:
                raise KeyError("lid")
            yield Exchange(f"{path.name}", (), ())


def session(name: str, *ids: str) -> list[Line]:
    lines = [user(f"u-{name}", None, "Go", sessionId=name)]
    lines += [
        answer(f"{name}-{key}", None, key, text(key), usage=usage(10, 1), sessionId=name) for key in ids
    ]
    return list(chain(*lines))


def test_unknown_format_says_what_was_looked_for_and_found(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json", {"colour": 1, "size": 2})

    with pytest.raises(Unreadable, match=r"a\.json.*keys colour, size.*looked for claude-stream"):
        detect.detect(Source.of(path))


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("", "Found an empty file"),
        ("hello", "no JSON .it starts with 'hello'"),
        ("[]", "a list of 0"),
        ('[{"x": 1}]', "a list of 1, first an object with the keys x"),
        ("3", "one JSON value: int"),
        (json.dumps({f"k{i}": i for i in range(20)}), "k11, …"),
    ],
)
def test_what_was_found_is_named(tmp_path: Path, content: str, found: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)

    with pytest.raises(Unreadable, match=found):
        detect.detect(Source.of(path))


def test_one_bad_file_never_stops_the_others(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", session("s", "m1"))
    (tmp_path / "b.jsonl").write_text("[[[")
    write_lines(tmp_path / "c.jsonl", session("t", "m2"))
    names = [str(tmp_path / name) for name in ("a.jsonl", "b.jsonl", "missing", "c.jsonl")]

    found = [(r.format, bool(r.problem), r.is_named, len(list(r.exchanges))) for r in read_all(names)]

    assert found == [
        ("claude-code", False, True, 1),
        ("", True, True, 0),
        ("", True, True, 0),
        ("claude-code", False, True, 1),
    ]


def test_files_that_a_walk_meets_are_not_named(tmp_path: Path) -> None:
    write_json(tmp_path / "package.json", {"name": "x"})

    (reading,) = read_all([str(tmp_path)])

    assert (reading.format, reading.is_named) == ("", False)


def test_standard_input_is_recognised_by_content() -> None:
    data = "".join(json.dumps(line) + "\n" for line in session("s", "m1"))

    (reading,) = read_all(["-"], stdin=io.BytesIO(data.encode()))

    assert (reading.source.name, reading.format) == ("standard input", "claude-code")


def test_reader_that_fails_gives_what_it_read_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detect, "FORMATS", (Boxes(),))
    write_json(tmp_path / "1.json", {"box": 1})
    write_json(tmp_path / "2.json", {"box": -1})

    first, rest = [
        (reading.source.name, [call.call_id for call in reading.exchanges], reading.problem)
        for reading in read_all([str(tmp_path)])
    ]

    assert first == (str(tmp_path), ["1.json"], "")
    assert rest == (str(tmp_path), [], f"{tmp_path}: the reader stopped: KeyError: 'lid'")


def test_files_of_a_folder_that_open_alike_are_one_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detect, "FORMATS", (boxes := Boxes(),))
    for name in ("a/1.json", "a/2.json", "b/1.json"):
        write_json(tmp_path / name, {"box": 1})
    write_json(tmp_path / "a" / "meta.json", {"other": 1})

    found = [(Path(r.source.name).name, r.format, len(list(r.exchanges))) for r in read_all([str(tmp_path)])]

    assert found == [("a", "boxes", 2), ("meta.json", "", 0), ("1.json", "boxes", 1)]
    assert boxes.parsed == ["1.json", "2.json", "1.json"]


def test_call_that_an_earlier_file_held_is_billed_once(tmp_path: Path) -> None:
    write_lines(tmp_path / "1.jsonl", session("old", "m1", "m2"))
    write_lines(tmp_path / "2.jsonl", session("new", "m1", "m2", "m3"))

    readings = [(list(r.exchanges), r.source.skipped) for r in read_all([str(tmp_path)])]

    (first, _), (second, skipped) = readings
    assert [call.call_id for call in first] == ["m1:req_m1", "m2:req_m2"]
    assert [(call.call_id, call.session, call.parent) for call in second] == [("m3:req_m3", "new", "old")]
    assert len(second[0].prompt) == 4
    assert [skip.reason for skip in skipped] == ["2 calls are copies of calls in files read before"]


def test_all_formats_satisfy_the_protocol_and_have_names_of_their_own() -> None:
    names = [module.FORMAT for module in detect.FORMATS]

    assert len(set(names)) == len(names)
    assert not any(module.looks_like(Head()) for module in detect.FORMATS)


def test_calls_have_a_place_where_a_source_was_written_in_order(tmp_path: Path) -> None:
    exchange = {
        "request": {"model": "m", "messages": [{"role": "user", "content": "Hi."}]},
        "response": {"id": "r1", "choices": [{"message": {"content": "Hello."}}]},
    }
    write_lines(tmp_path / "a.jsonl", session("s", "m1", "m2"))
    write_lines(tmp_path / "b.jsonl", [exchange])

    found = [(r.format, [each.place for each in r.exchanges]) for r in read_all([str(tmp_path)])]

    assert found == [("claude-code", [0, 1]), ("request-log", [None])]
