"""Check that labelled sessions are loaded as each output saw them, and the benchmark's contract."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = (ROOT / ".." / "shared").resolve()
sys.path.insert(0, str(ROOT / "benchmarks"))

import evidence  # noqa: E402
import fit_evidence  # noqa: E402
from ctxheap.heap.evidence import EvidenceTracker  # noqa: E402
from label_sessions import LOADERS, Track, Turn  # noqa: E402
from label_sessions.judged import Judged, judge  # noqa: E402
from label_sessions.yaml_subset import read_yaml  # noqa: E402


def line(uuid: str, parent: str | None, role: str, *blocks: object, **more: object) -> str:
    message: dict[str, object] = {"role": role, "content": list(blocks)}
    if role == "assistant":
        message["id"] = more.pop("message_id", uuid)
    return json.dumps({"uuid": uuid, "parentUuid": parent, "type": role, "message": message, **more})


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def asked(call_id: str) -> dict[str, object]:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": {"path": call_id}}


def answered(call_id: str) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": f"text of {call_id}"}


def claude(*lines: str) -> list[Track]:
    return LOADERS["claude_code_jsonl"]("\n".join(lines), 0)


def keys(turn: Turn) -> list[str]:
    return [placed.key for placed in turn.seen]


def test_a_response_over_several_lines_is_one_output_and_does_not_see_results_logged_inside_it() -> None:
    tracks = claude(
        line("a", None, "user", text("go")),
        line("b", "a", "assistant", text("reading"), message_id="m1"),
        line("c", "b", "assistant", asked("x"), message_id="m1"),
        line("d", "c", "user", answered("x")),
        line("e", "d", "assistant", asked("y"), message_id="m1"),
        line("f", "e", "user", answered("y")),
        line("g", "f", "assistant", text("done"), message_id="m2"),
    )

    assert [[turn.key for turn in track] for track in tracks] == [["2:0", "7:0"]]
    assert [keys(turn) for turn in tracks[0]] == [["1:0"], ["2:0", "3:0", "5:0", "4:0", "6:0"]]
    assert [part.kind for part in tracks[0][0].output] == ["text", "tool_call", "tool_call"]


def test_parallel_results_are_seen_though_they_are_no_ancestors() -> None:
    tracks = claude(
        line("a", None, "user", text("go")),
        line("b", "a", "assistant", asked("x"), message_id="m1"),
        line("c", "b", "assistant", asked("y"), message_id="m1"),
        line("d", "b", "user", answered("x")),
        line("e", "c", "user", answered("y")),
        line("f", "e", "assistant", text("done"), message_id="m2"),
    )

    assert keys(tracks[0][1]) == ["2:0", "3:0", "4:0", "5:0"]


def test_a_fork_is_a_track_of_its_own_that_shares_the_past() -> None:
    tracks = claude(
        line("a", None, "user", text("go")),
        line("b", "a", "assistant", text("one")),
        line("c", "b", "user", text("left")),
        line("d", "c", "assistant", text("left done")),
        line("e", "b", "user", text("right")),
        line("f", "e", "assistant", text("right done")),
    )

    assert [[turn.key for turn in track] for track in tracks] == [["2:0", "4:0"], ["2:0", "6:0"]]
    assert keys(tracks[1][1]) == ["2:0", "5:0"]


def test_a_compaction_drops_what_came_before() -> None:
    boundary = {
        "uuid": "c",
        "parentUuid": None,
        "logicalParentUuid": "b",
        "type": "system",
        "subtype": "compact_boundary",
    }

    tracks = claude(
        line("a", None, "user", text("go")),
        line("b", "a", "assistant", text("one")),
        json.dumps(boundary),
        line("d", "c", "user", text("summary"), isCompactSummary=True),
        line("e", "d", "assistant", text("two")),
    )

    turn = tracks[0][1]
    assert (keys(turn), turn.dropped, turn.seen[0].part.tag) == (["4:0"], ("1:0",), "summary")


def test_what_the_harness_wrote_is_no_user_turn() -> None:
    tracks = claude(
        line("a", None, "user", text("<command-name>/clear</command-name>")),
        line("b", "a", "user", text("go"), isMeta=True),
        line("c", "b", "user", text("go")),
        line("d", "c", "assistant", text("ok")),
    )

    tags = [placed.part.tag for placed in tracks[0][0].seen]
    assert tags == ["harness:claude_code", "harness:claude_code", "user_turn"]


def test_codex_outputs_are_runs_of_items_between_inputs() -> None:
    items: list[dict[str, object]] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "name": "shell", "call_id": "1", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "fine"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
    ]
    lines = [json.dumps({"type": "response_item", "payload": item}) for item in items]

    (track,) = LOADERS["codex_jsonl"]("\n".join(lines), 0)

    assert [turn.key for turn in track] == ["2", "5"]
    assert [placed.part.tag for placed in track[1].seen] == [
        "agent_reasoning",
        "tool_call:shell",
        "tool_result:shell",
    ]


def test_user_messages_of_agents_without_function_calling_are_results() -> None:
    history = [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "demo", "is_demo": True},
        {"role": "user", "content": "issue"},
        {"role": "assistant", "content": "x", "thought": "look", "action": "ls"},
        {"role": "user", "content": "a.py"},
    ]

    (track,) = LOADERS["sweagent_traj"](json.dumps({"history": [*history, history[3]]}), 0)

    tags = [placed.part.tag for turn in track for placed in turn.seen]
    assert tags == [
        "system_prompt",
        "example",
        "user_turn",
        "agent_output",
        "tool_call:action",
        "tool_result:action",
    ]


def test_the_users_own_tools_are_outside_the_agents_context() -> None:
    call: dict[str, object] = {"id": "1", "name": "toggle", "arguments": {}, "requestor": "user"}
    messages: list[dict[str, object]] = [
        {"role": "user", "content": "help"},
        {"role": "user", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "on", "id": "1", "requestor": "user"},
        {"role": "assistant", "content": "better?"},
    ]
    whole: dict[str, object] = {
        "info": {"environment_info": {"policy": "be kind"}},
        "simulations": [{"messages": messages}],
    }

    (track,) = LOADERS["tau2"](json.dumps(whole), 0)

    assert [(placed.key, placed.part.text) for placed in track[0].seen] == [
        ("policy", "be kind"),
        ("0", "help"),
    ]


def test_streamed_answers_of_a_cassette_are_joined() -> None:
    chunks = ['{"choices": [{"delta": {"content": "Hel"}}]}', '{"choices": [{"delta": {"content": "lo"}}]}']
    stream = "".join(f"        data: {chunk}\n\n" for chunk in chunks)
    source = (
        "interactions:\n- request:\n    parsed_body:\n      messages:\n"
        "      - content: Hi\n        role: user\n"
        f"  response:\n    body:\n      string: |+\n{stream}"
    )

    (track,) = LOADERS["vcr-chat"](source, 0)

    assert [(turn.key, [part.text for part in turn.output]) for turn in track] == [("1", ["Hello"])]


def test_the_yaml_of_cassettes_is_read_as_it_was_meant() -> None:
    source = (
        "a: it's\nb: 'it''s'\nc: \"tab\\there\\\n  joined\"\nd: long\n  plain text\n"
        "e:\n- 1\n- - x\n  - null\n- k: |-\n    two\n    lines\n  m: {}\nf: 1.5e+3\ng: '7'\n"
    )

    assert read_yaml(source) == {
        "a": "it's",
        "b": "it's",
        "c": "tab\therejoined",
        "d": "long plain text",
        "e": [1, ["x", None], {"k": "two\nlines", "m": {}}],
        "f": 1500.0,
        "g": "7",
    }


def labelled(path: Path, **more: object) -> dict[str, object]:
    messages = [
        {"role": "user", "content": "Where is order W4412907?"},
        {"role": "assistant", "content": "It is in Lisbon."},
        {"role": "user", "content": "Thanks"},
        {"role": "assistant", "content": "Welcome."},
    ]
    (path / "t.json").write_text(json.dumps([{"traj": messages}]))
    base: dict[str, object] = {"path": "t.json", "session": 0, "indexing": "tau", "source": "s"}
    pair = base | {"label": "used", "kind": "answer", "sample": "random"}
    return {
        "pairs": [
            pair | {"object_index": 0, "output_index": 1},
            pair | {"object_index": 2, "output_index": 3},
        ],
        "last_use": [base | {"object_index": 0, "last_use": 1}, base | {"object_index": 2, "last_use": None}],
        **more,
    }


def test_the_report_has_the_keys_of_the_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "labels.json").write_text(json.dumps(labelled(tmp_path)))

    status = evidence.main(["--labels", str(tmp_path / "labels.json"), "--data", str(tmp_path), "--json"])

    report = json.loads(capsys.readouterr().out)
    contract = {"precision", "recall", "random", "by_kind", "by_rule", "last_use", "dead_ratio"}
    assert (status, contract - report.keys()) == (0, set())
    assert {"exact", "within_1", "mae_calls"} - report["last_use"].keys() == set()
    assert (report["precision"], report["recall"], report["random"]["n"]) == (1.0, 1.0, 2)
    assert (report["last_use"]["exact"], report["last_use"]["within_1"]) == (0.5, 1.0)


def test_an_unknown_indexing_and_a_missing_file_are_reported_and_not_fatal(tmp_path: Path) -> None:
    row = {"session": 0, "label": "used", "object_index": 0, "output_index": 1}
    extra = [row | {"path": "x", "indexing": "martian"}, row | {"path": "y", "indexing": "tau"}]

    report = evidence.measure(labelled(tmp_path, pairs_extra=extra), tmp_path)

    assert report["skipped"] == {"x": "no loader for indexing martian", "y": "no such file"}
    assert report["n"] == 2


def test_the_fit_finds_the_weights_that_made_the_labels() -> None:
    rows = [[1.0, float(k % 7), float(k % 3)] for k in range(210)]
    used = [row[1] - 2 * row[2] + (k % 5) / 5 > 1 for k, row in enumerate(rows)]

    intercept, first, second = fit_evidence.fitted(rows, used)

    assert first > 1 > -1 > second
    assert intercept < 0


@pytest.mark.shared
@pytest.mark.parametrize("name", ["use_coding.json", "use_service.json"])
def test_every_label_of_the_shared_files_finds_its_object_and_output(name: str) -> None:
    labels = SHARED / "labels" / name
    if not labels.is_file():
        pytest.skip(f"{labels} is not there")

    report = evidence.measure(json.loads(labels.read_text()), SHARED / "data")

    assert (report["missing"], report["skipped"]) == (0, {})
    assert isinstance(report["precision"], float)
    assert report["precision"] > 0.85


@pytest.mark.shared
def test_planted_values_live_to_the_end_and_planted_waste_dies_at_once(tmp_path: Path) -> None:
    generator, out = SHARED / "eval" / "gen_transcript.py", tmp_path / "planted.jsonl"
    if not generator.is_file():
        pytest.skip(f"{generator} is not there")
    subprocess.run([sys.executable, generator, "--steps", "60", "-o", out], check=True)

    (track,) = claude(*out.read_text().splitlines())
    judged = judge(track, EvidenceTracker())

    results = [
        (call - 1, placed)
        for call, turn in enumerate(track, start=1)
        for placed in turn.seen
        if placed.part.kind == "tool_result"
    ]
    used = {
        step: [call for call in range(1, 61) if _is_used(judged, placed.key, call)]
        for step, placed in results
    }
    wasted = [step for step, placed in results if "orders" in placed.part.tool and step % 3 == 0]
    assert used[2][-1] == 60
    assert [step for step in wasted if max(used[step], default=0) > step + 1] == []
    assert len(wasted) == 4


def _is_used(judged: Judged, key: str, call: int) -> bool:
    span = judged.span(key)
    use = judged.use(span, call) if span else None
    return use is not None and use.grade == "used"
