"""Read every file of the corpus in these formats; check what is billed by a count without the readers."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxheap.heap.model import Exchange
from ctxheap.providers.json_fields import Fields, fields, objects, tokens
from ctxheap_collector.transcripts.detect import Reading, read_all
from transcripts.written import grows

pytestmark = pytest.mark.shared

SOURCES = ("mini-swe-agent", "openhands", "swe-agent", "tau-bench", "tau2-bench")
# Under these sources in the manifest, but without messages: a configuration and two lists of patches.
NO_TRANSCRIPTS = ("config.json", "patch.jsonl", "example_model_output.json")
APPEND_ONLY = (
    "mini-swe-agent",
    "openhands",
    "openhands-events",
    "openai-messages",
    "swe-agent",
    "tau-bench",
    "tau2-bench",
)


def rows(shared: Path) -> list[dict[str, str]]:
    with (shared / "data" / "MANIFEST.tsv").open(encoding="utf-8", newline="") as lines:
        return [row for row in csv.DictReader(lines, delimiter="\t") if row["source"] in SOURCES]


def paths(shared: Path) -> list[str]:
    """Return every file, completions by their folders."""
    files = [shared / "data" / row["path"] for row in rows(shared)]
    return sorted(
        {str(file.parent if file.parent.parent.name == "llm_completions" else file) for file in files}
    )


@pytest.fixture(scope="module")
def readings(shared_module: Path) -> list[tuple[Reading, list[Exchange]]]:
    return [(reading, list(reading.exchanges)) for reading in read_all(paths(shared_module))]


@pytest.fixture(scope="module")
def shared_module() -> Path:
    root = Path(__file__).resolve().parents[2] / ".." / "shared"
    if not root.is_dir():
        pytest.skip("the shared corpus is not beside the repository")
    return root.resolve()


def test_every_file_is_recognised_or_holds_no_transcript(
    readings: list[tuple[Reading, list[Exchange]]],
) -> None:
    unknown = sorted(Path(reading.source.name).name for reading, _ in readings if reading.problem)

    assert unknown == sorted(NO_TRANSCRIPTS)


def test_no_file_is_silently_empty(readings: list[tuple[Reading, list[Exchange]]]) -> None:
    silent = [
        reading.source.name
        for reading, calls in readings
        if not calls and not reading.problem and not reading.source.skipped
    ]

    assert silent == []


def test_no_reader_stopped(readings: list[tuple[Reading, list[Exchange]]]) -> None:
    stopped = [s.reason for reading, _ in readings for s in reading.source.skipped if "stopped" in s.reason]

    assert stopped == []


def test_prompts_of_append_only_formats_only_grow(readings: list[tuple[Reading, list[Exchange]]]) -> None:
    for reading, calls in readings:
        if reading.format in APPEND_ONLY:
            sessions = {call.session for call in calls}
            assert all(grows([call for call in calls if call.session == name]) for name in sessions)


def test_no_session_bills_an_id_twice(readings: list[tuple[Reading, list[Exchange]]]) -> None:
    for _, calls in readings:
        ids = [(call.session, call.call_id) for call in calls]
        assert len(ids) == len(set(ids))


def test_every_result_is_named_by_its_call(readings: list[tuple[Reading, list[Exchange]]]) -> None:
    unnamed = [
        (reading.source.name, part.where)
        for reading, calls in readings
        for part in (calls[-1].prompt if calls else ())
        if part.kind == "tool_result" and not part.tool
    ]

    assert unnamed == []


def test_what_is_billed_is_what_the_files_say(
    readings: list[tuple[Reading, list[Exchange]]], shared_module: Path
) -> None:
    said = [usage for path in paths(shared_module) for usage in said_in(Path(path))]

    billed = [call.usage for _, calls in readings for call in calls if call.usage is not None]

    assert len(billed) == len(said)
    assert sum(usage.input for usage in billed) == sum(tokens(usage.get("prompt_tokens")) for usage in said)
    assert sum(usage.output for usage in billed) == sum(
        tokens(usage.get("completion_tokens")) for usage in said
    )


def said_in(path: Path) -> Iterator[Fields]:
    """Yield the usage of each of the agent's calls, by where each format keeps it."""
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        for value in values(file):
            body = fields(value)
            yield from said_by_response(body)
            yield from said_by_messages(objects(body.get("messages")))
            yield from said_by_events(objects(body.get("history")) or objects(value))
            for simulation in objects(body.get("simulations")):
                spoken = objects(simulation.get("messages"))
                yield from (fields(m["usage"]) for m in spoken if m["role"] == "assistant" and m.get("usage"))


def values(file: Path) -> list[object]:
    text = file.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if file.suffix == ".jsonl" else [json.loads(text)]


def said_by_response(body: Fields) -> Iterator[Fields]:
    if usage := fields(fields(body.get("response")).get("usage")):
        yield usage
    elif "input_tokens" in body:
        yield {"prompt_tokens": body["input_tokens"], "completion_tokens": body["output_tokens"]}


def said_by_messages(messages: list[Fields]) -> Iterator[Fields]:
    for message in messages:
        if usage := fields(fields(fields(message.get("extra")).get("response")).get("usage")):
            yield usage


def said_by_events(events: list[Fields]) -> Iterator[Fields]:
    responses = [fields(fields(event.get("tool_call_metadata")).get("model_response")) for event in events]
    yield from {
        str(response["id"]): fields(response.get("usage")) for response in responses if response
    }.values()
