"""Check the reader of VCR cassettes on a small real file, on the corpus and on the cases these lack."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from ctxheap.heap.model import Usage
from ctxheap.providers.json_fields import Fields, fields, objects, string, tokens
from ctxheap_collector.transcripts.detect import read_all
from transcripts.written import DATA, calls_of, grows, read_file, tags, texts, write_json

Json = dict[str, object]
CHAT = "https://api.openai.com/v1/chat/completions"


def exchange(uri: str, asked: object, answered: object, *, status: int = 200, kind: str = "json") -> Json:
    text = answered if isinstance(answered, str) else json.dumps(answered)
    response = {"status": {"code": status}, "body": {"string": text}}
    headers = {"Content-Type": [f"application/{kind}"]}
    request = {"method": "POST", "uri": uri, "body": json.dumps(asked)}
    return {"request": request, "response": {**response, "headers": headers}}


def write_cassette(path: Path, *interactions: Json) -> Path:
    listed = "".join(f"- {json.dumps(item)}\n" for item in interactions)
    path.write_text(f"version: 1\ninteractions:\n{listed}", encoding="utf-8")
    return path


def said(text: str) -> Json:
    return {"role": "user", "content": text}


def answer(text: str, **more: object) -> Json:
    return {"choices": [{"message": {"role": "assistant", "content": text}}], "model": "gpt-4o", **more}


def test_calls_are_read_and_counts_of_tokens_are_named() -> None:
    name, calls, skipped = read_file(DATA / "vcr-cassette" / "counted_and_called.yaml")

    assert name == "vcr-cassette"
    assert skipped == [
        "1 request to api.anthropic.com/v1/messages/count_tokens, which counts only: no call of a model"
    ]
    assert [(call.usage, call.model, call.provider) for call in calls] == [
        (Usage(uncached=19, output=77, service_tier="standard"), "claude-sonnet-4-5-20250929", "anthropic")
    ]
    assert tags(calls[0].prompt) == ["user_turn"]


def test_successive_calls_share_their_parts_and_ids_stay_apart(tmp_path: Path) -> None:
    first = exchange(CHAT, {"model": "m", "messages": [said("a")]}, answer("b", id="x"))
    history = [said("a"), {"role": "assistant", "content": "b"}, said("c")]
    second = exchange(CHAT, {"model": "m", "messages": history}, answer("d", id="x"))

    calls = calls_of(write_cassette(tmp_path / "c.yaml", first, second))

    assert [call.call_id for call in calls] == ["x", "x@2"]
    assert grows(calls)
    assert calls[1].prompt[1] is calls[0].output[0]


def test_a_stored_chain_is_one_session(tmp_path: Path) -> None:
    uri = "https://api.openai.com/v1/responses"
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b"}]}]
    first = exchange(uri, {"model": "m", "input": "a"}, {"id": "r1", "output": output})
    asked = {"model": "m", "input": "c", "previous_response_id": "r1"}
    second = exchange(uri, asked, {"id": "r2", "output": output})

    calls = calls_of(write_cassette(tmp_path / "c.yaml", first, second))

    assert [call.session for call in calls] == ["r1", "r1"]
    assert texts(calls[1].prompt) == ["a", "b", "c"]


def test_streams_failures_and_other_requests(tmp_path: Path) -> None:
    asked = {"model": "m", "messages": [said("a")], "stream": True}
    pieces: list[Json] = [
        {"choices": [{"delta": {"content": "b"}}]},
        {"choices": [], "usage": {"prompt_tokens": 7}},
    ]
    stream = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces)

    name, calls, skipped = read_file(
        write_cassette(
            tmp_path / "c.yaml",
            exchange(CHAT, asked, stream, kind="event-stream"),
            exchange(CHAT, asked, {"error": {}}, status=429),
            exchange("https://api.openai.com/v1/files", {}, {}),
            {"kind": "ws", "direction": "send", "data": ""},
            {"odd": 1},
        )
    )

    assert name == "vcr-cassette"
    assert [(texts(call.output), call.usage) for call in calls] == [(["b"], Usage(uncached=7))]
    assert skipped == [
        "the request failed with status 429",
        "1 request to api.openai.com/v1/files: no call of a model",
        "frames of a WebSocket (1): no call of a model",
        "no request and response (1): no call of a model",
    ]


def test_formats_of_their_own_are_read_as_conversations(tmp_path: Path) -> None:
    counts = {"tokens": {"input_tokens": 5, "output_tokens": 2}}
    cohere = {"message": {"content": [{"type": "text", "text": "b"}]}, "usage": counts}
    old = {"text": "b", "generation_id": "g", "meta": counts}
    turns = [{"role": "CHATBOT", "message": "hello"}]
    xai: Json = {
        "request_sample": {"json": {"messages": [{"role": "ROLE_USER", "content": [{"text": "a"}]}]}},
        "response_sample": {"json": {"outputs": [{"message": {"content": "b"}}], "id": "x"}},
    }

    calls = calls_of(
        write_cassette(
            tmp_path / "c.yaml",
            exchange("http://h/v1/completions", {"prompt": "a"}, {"choices": [{"text": "b"}]}),
            exchange("http://h/api/generate", {"prompt": "a", "system": "s"}, '{"response": "b"}'),
            exchange("https://api.cohere.com/v2/chat", {"messages": [said("a")]}, cohere),
            exchange("https://api.cohere.com/v1/chat", {"message": "a", "chat_history": turns}, old),
            xai,
        )
    )

    assert [tags(call.prompt) for call in calls] == [
        ["user_turn"],
        ["system_prompt", "user_turn"],
        ["user_turn"],
        ["agent_output", "user_turn"],
        ["user_turn"],
    ]
    assert [texts(call.output) for call in calls] == [["b"]] * 5
    assert [call.usage for call in calls[2:4]] == [Usage(uncached=5, output=2)] * 2


def test_cassettes_are_found_in_folders_and_may_be_json_or_broken(tmp_path: Path) -> None:
    one = exchange(CHAT, {"model": "m", "messages": [said("a")]}, answer("b"))
    write_cassette(tmp_path / "a.yaml", one)
    write_json(tmp_path / "b.json", {"interactions": [one]})
    (tmp_path / "c.yaml").write_text("interactions:\n- request: {\n", encoding="utf-8")
    (tmp_path / "d.yaml").write_text("services:\n  web: {}\n", encoding="utf-8")

    readings = list(read_all([str(tmp_path)]))
    calls = [len(list(reading.exchanges)) for reading in readings]

    assert [Path(reading.source.name).name for reading in readings] == ["a.yaml", "b.json", "c.yaml"]
    assert [reading.format for reading in readings] == ["vcr-cassette"] * 3
    assert calls == [1, 1, 0]
    assert "not one YAML value: while parsing" in readings[2].source.skipped[0].reason


def cassettes(shared: Path) -> Iterator[Path]:
    with (shared / "data" / "MANIFEST.tsv").open(encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table, delimiter="\t"):
            if row["format"].startswith("VCR cassette") and row["path"].endswith(".yaml"):
                yield shared / "data" / row["path"]


@pytest.mark.shared
def test_what_a_provider_counted_before_a_call_is_what_it_billed(shared: Path) -> None:
    agreed: list[tuple[str, int, int]] = []
    for path in cassettes(shared):
        text = path.read_text("utf-8")
        if (
            "count_tokens" in text
            or "count-tokens" in text
            or "countTokens" in text
            or "/input_tokens" in text
        ):
            counts = list(_counts(yaml.load(text, Loader=yaml.CSafeLoader)))
            billed = [call.usage.input for call in calls_of(path) if call.usage]
            agreed += [(path.stem, *pair) for pair in zip(counts, billed, strict=False)]

    assert len(agreed) == 7
    assert [pair for pair in agreed if pair[1] != pair[2]] == []


def _counts(document: object) -> Iterator[int]:
    for item in objects(fields(document).get("interactions")):
        response = fields(item.get("response"))
        uri = string(fields(item.get("request")).get("uri")).partition("?")[0]
        if uri.endswith(("count_tokens", "count-tokens", "countTokens", "input_tokens")):
            yield _first(_body(response), ("input_tokens", "inputTokens", "totalTokens"))


def _body(response: Fields) -> Fields:
    text = string(fields(response.get("body")).get("string"))
    return fields(response.get("parsed_body")) or fields(json.loads(text or "{}"))


def _first(body: Fields, keys: tuple[str, ...]) -> int:
    return next((tokens(body[key]) for key in keys if key in body), 0)


@pytest.mark.shared
def test_every_cassette_of_the_corpus_is_read_and_nothing_is_silent(shared: Path) -> None:
    calls = silent = 0
    readings = list(read_all(str(path) for path in cassettes(shared)))
    for reading in readings:
        found = len(calls_of(reading.source.files[0]))
        calls += found
        silent += not found
        assert reading.format == "vcr-cassette"

    assert (len(readings), calls, silent) == (783, 1256, 58)
