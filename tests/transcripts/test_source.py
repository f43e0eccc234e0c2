from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.providers.json_fields import fields, items
from ctxheap_collector.transcripts import source, source_bytes, source_values
from ctxheap_collector.transcripts.source import STDIN, Skipped, Source, Unreadable

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def source_of(path: Path, data: bytes) -> Source:
    path.write_bytes(data)
    return Source.of(path)


def test_records_come_with_their_line_numbers_and_blank_lines_count(tmp_path: Path) -> None:
    source = source_of(tmp_path / "a", b'{"a": 1}\n\n  \n{"b": 2}\r\n')

    assert list(source.records()) == [(1, {"a": 1}), (4, {"b": 2})]
    assert source.skipped == []


def test_bad_lines_are_listed_and_never_end_the_reading(tmp_path: Path) -> None:
    source = source_of(tmp_path / "a", b'{"a": 1}\nhello\n{"b": 2}\n')

    assert [value for _, value in source.records()] == [{"a": 1}, {"b": 2}]
    assert [skip.line for skip in source.skipped] == [2]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (rb'{"a": "\ud83d"}', {"a": "\ud83d"}),
        (b'{"a": "tab\there"}', {"a": "tab\there"}),
        (b'{"a": "\xff"}', {"a": "\ufffd"}),
        (b'\0\0\0{"a": 1}', {"a": 1}),
        (b'{"a": 123456789012345678901234567890}', {"a": 1.2345678901234568e29}),
    ],
    ids=["lone surrogate", "control character", "no UTF-8", "NUL bytes", "big integer"],
)
def test_lines_that_the_strict_parser_refuses_get_the_tolerant_one(
    tmp_path: Path, line: bytes, value: object
) -> None:
    source = source_of(tmp_path / "a", line + b"\n")

    assert list(source.records()) == [(1, value)]


@pytest.mark.parametrize("depth", [source_values.MAX_DEPTH + 1, 980, 1_100, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a]":', b"}")], ids=["lists", "objects"])
@pytest.mark.parametrize("odd", [b"", b'"\xff", ', b"NaN, "], ids=["strict", "bytes", "NaN"])
def test_what_is_nested_too_deeply_is_cut_off_and_named(
    tmp_path: Path, depth: int, opening: bytes, closing: bytes, odd: bytes
) -> None:
    deep = b'{"usage": [%s"]}", 5], "deep": %s1%s, "after": 6}\n' % (odd, opening * depth, closing * depth)
    lines = source_of(tmp_path / "a", b'{"a": 1}\n' + deep + b'{"b": 2}\n')
    document = source_of(tmp_path / "b", deep)

    (_, first), (_, cut), (_, last) = lines.records()
    ((_, whole),) = document.documents()

    assert (first, last) == ({"a": 1}, {"b": 2})
    assert (fields(cut)["after"], items(fields(cut)["usage"])[-1]) == (6, 5)
    assert json.dumps(whole) == json.dumps(cut)
    assert lines.skipped == [Skipped(2, "nested deeper than 200: cut off there")]
    assert document.skipped == [Skipped(0, "nested deeper than 200: cut off there")]


def test_what_is_nested_as_deeply_as_is_read_stays_whole(tmp_path: Path) -> None:
    data = b"[" * 200 + b'"[[[["' + b"]" * 200
    source = source_of(tmp_path / "a", data)

    assert [value for _, value in source.records()] == [json.loads(data)]
    assert source.skipped == []


def test_two_values_that_ran_together_on_one_line_are_both_read(tmp_path: Path) -> None:
    source = source_of(tmp_path / "a", b'{"a": 1}{"b": 2}\n')

    assert list(source.records()) == [(1, {"a": 1}), (1, {"b": 2})]


def test_last_line_that_is_still_being_written_is_truncated(tmp_path: Path) -> None:
    source = source_of(tmp_path / "a", b'{"a": 1}\n{"b": ')

    assert list(source.records()) == [(1, {"a": 1})]
    assert source.skipped == [Skipped(2, "truncated")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_byte_order_marks_and_utf_16_are_read(tmp_path: Path, encoding: str) -> None:
    source = source_of(tmp_path / "a", '{"a": "é"}\n{"b": 2}\n'.encode(encoding))

    assert list(source.records()) == [(1, {"a": "é"}), (2, {"b": 2})]


def test_gzip_is_recognised_by_content(tmp_path: Path) -> None:
    source = source_of(tmp_path / "a.jsonl", gzip.compress(b'{"a": 1}\n{"b": 2}\n'))

    assert source.head().records == [{"a": 1}, {"b": 2}]
    assert list(source.records()) == [(1, {"a": 1}), (2, {"b": 2})]


def test_gzip_that_breaks_off_gives_what_is_there(tmp_path: Path) -> None:
    lines = b"".join(b'{"a": "%s"}\n' % os.urandom(500).hex().encode() for _ in range(200))
    source = source_of(tmp_path / "a.gz", gzip.compress(lines)[:20_000])

    found = list(source.records())

    assert 0 < len(found) < 200
    assert source.skipped[-1].reason.startswith("cannot be read further")


def test_line_past_the_limit_is_skipped_and_the_next_one_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_bytes, "MAX_LINE_BYTES", 100)
    source = source_of(tmp_path / "a", b'"' + b"x" * 300 + b'"\n{"b": 2}\n')

    assert list(source.records()) == [(2, {"b": 2})]
    assert [skip.line for skip in source.skipped] == [1]


def test_head_tells_a_document_from_lines(tmp_path: Path) -> None:
    pretty = source_of(tmp_path / "pretty", b'[\n  {"a": 1},\n  {"b": 2}\n]\n')
    lines = source_of(tmp_path / "lines", b'{"a": 1}\n{"b": 2}\n')
    single = source_of(tmp_path / "single", b'{"a": 1}')

    assert (pretty.head().document, pretty.head().records) == ([{"a": 1}, {"b": 2}], [])
    assert (lines.head().document, lines.head().records) == (None, [{"a": 1}, {"b": 2}])
    assert (single.head().document, single.head().records) == ({"a": 1}, [{"a": 1}])


def test_head_of_lines_is_bounded(tmp_path: Path) -> None:
    source = source_of(tmp_path / "a", b'{"a": 1}\n' * 50_000)

    assert len(source.head().records) == 20
    assert len(source.head().text) == 64 << 10


def test_document_that_detection_parsed_is_not_parsed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = source_of(tmp_path / "a", b'{\n"a": 1}\n')
    document = source.head().document

    monkeypatch.setattr(source_values, "parse", None)

    assert [value for _, value in source.documents()] == [document]


def test_files_that_belong_together_are_read_one_after_the_other(tmp_path: Path) -> None:
    paths = tuple(tmp_path / name for name in ("1", "2", "3"))
    for path, data in zip(paths, ('{"n": 1}', "broken", '{"n": 3}'), strict=True):
        path.write_text(data)
    first = Source.of(paths[0])
    first.head()

    whole = first.joined(paths, "folder")

    assert [(path.name, value) for path, value in whole.documents()] == [("1", {"n": 1}), ("3", {"n": 3})]
    assert [skip.reason[:2] for skip in whole.skipped] == ["2:"]


def test_standard_input_is_read_twice_although_it_comes_once() -> None:
    source = Source("standard input", (STDIN,), stdin=io.BytesIO(b'{"a": 1}\n{"b": 2}\n'))

    assert source.head().records == [{"a": 1}, {"b": 2}]
    assert list(source.records()) == [(1, {"a": 1}), (2, {"b": 2})]
    source.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b'{"a": 1}\n{"b": 2}\n',))
    writer.start()
    source = Source.of(pipe)

    source.head()

    assert list(source.records()) == [(1, {"a": 1}), (2, {"b": 2})]
    writer.join()
    source.close()


def test_missing_file_and_folder_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="No such file"):
        Source.of(tmp_path / "missing").head()
    with pytest.raises(Unreadable, match="irectory"):
        Source.of(tmp_path).head()


def test_progress_adds_up_to_the_size_of_the_file(tmp_path: Path) -> None:
    data = b'{"a": "%s"}\n' % (b"x" * 1000) * 2000
    path = tmp_path / "a"
    path.write_bytes(data)
    reported: list[int] = []

    list(Source.of(path, on_bytes=reported.append).records())

    assert sum(reported) == len(data)
    assert len(reported) > 3


@given(st.lists(VALUES, max_size=6))
def test_what_was_written_as_lines_is_read_back(values: list[object]) -> None:
    data = "".join(json.dumps(value) + "\n" for value in values).encode()
    source = Source("lines", (STDIN,), stdin=io.BytesIO(data))

    found = [value for _, value in source.records()]

    source.close()
    assert json.dumps(found) == json.dumps(json.loads(json.dumps(values), parse_int=_as_the_strict_parser))


def _as_the_strict_parser(digits: str) -> int | float:
    number = int(digits)
    return number if -(2**63) <= number < 2**64 else float(digits)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_an_error(data: bytes) -> None:
    source = Source("noise", (STDIN,), stdin=io.BytesIO(data))

    # What is packed and broken before its first value is the only thing that cannot be looked into.
    with contextlib.suppress(Unreadable):
        source.head()
    list(source.records())
    list(source.documents())

    source.close()


@given(st.lists(st.sampled_from([b"", b" ", b"\r", b"\0", b"1", b"[2,\t3]"]), max_size=12), st.integers(1, 7))
def test_lines_are_the_same_however_the_bytes_arrive(rows: list[bytes], chunk_bytes: int) -> None:
    class Slow(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            return super().read1(chunk_bytes)

    data = b"\n".join(rows)

    found = [
        (line.number, (line.data or b"").strip(source_bytes.SPACE), line.is_terminated)
        for line in source_bytes.lines(Slow(data))
    ]

    assert found == [
        (number, row.strip(source_bytes.SPACE), number < len(rows))
        for number, row in enumerate(rows, 1)
        if row.strip(source_bytes.SPACE)
    ]


@pytest.mark.parametrize(
    "blank", [b"\n", b" ", b"\0", b"\r\n", b"x"], ids=["lines", "spaces", "NUL", "CRLF", "x"]
)
def test_a_file_whose_first_megabytes_open_no_value_is_given_up_on(
    tmp_path: Path, blank: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "HEAD_BYTES", 1 << 17)
    given_up = source_of(tmp_path / "a.gz", gzip.compress(blank * (1 << 20)))

    assert (given_up.head().records, given_up.head().document) == ([], None)
    assert given_up.head().text == (blank * (1 << 16))[: 1 << 16].decode()


def test_a_million_blank_lines_hide_nothing_behind_them(tmp_path: Path) -> None:
    path = source_of(tmp_path / "a", b"1\n" + b"\n" * 3_000_000 + b" " * 3_000_000 + b'{"b": 2}\n')

    assert list(path.records()) == [(1, 1), (3_000_002, {"b": 2})]


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/null"])
def test_devices_are_refused(device: str) -> None:
    with pytest.raises(Unreadable, match=f"{device}: a device, which may never end"):
        Source.of(device).head()
