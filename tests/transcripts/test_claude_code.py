from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from ctxheap.heap.model import Compaction, Exchange, Usage
from ctxheap_collector.transcripts.claude_code import read
from ctxheap_collector.transcripts.claude_code_session import keeps_reasoning
from ctxheap_collector.transcripts.source import Skipped, Source
from transcripts.claude_lines import (
    Line,
    answer,
    boundary,
    chain,
    line,
    result,
    text,
    thinking,
    tool_use,
    usage,
    user,
)
from transcripts.written import tags, texts, write_lines


def calls(folder: Path, lines: Iterable[Line]) -> list[Exchange]:
    return list(read(Source.of(write_lines(folder / "t.jsonl", lines))))


def skipped(folder: Path, lines: Iterable[Line]) -> list[Skipped]:
    source = Source.of(write_lines(folder / "t.jsonl", lines))
    list(read(source))
    return source.skipped


def test_lines_of_one_response_are_one_call_with_one_usage(tmp_path: Path) -> None:
    billed = usage(4, 90, read=1000, write=200)
    lines = chain(
        user("u1", None, "Why is it slow?"),
        answer("a1", None, "m1", thinking("Look first."), usage=billed),
        answer("a2", None, "m1", text("I will look."), usage=billed),
        answer("a3", None, "m1", tool_use("t1", "Read", file_path="a.py"), usage=billed),
    )

    (call,) = calls(tmp_path, lines)

    assert call.call_id == "m1:req_m1"
    assert call.usage == Usage(uncached=4, cache_read=1000, cache_write_5m=200, output=90)
    assert tags(call.output) == ["agent_reasoning", "agent_output", "tool_call:Read"]
    assert texts(call.prompt) == ["", "Why is it slow?"]


def test_the_last_count_of_a_streamed_response_is_its_usage(tmp_path: Path) -> None:
    lines = chain(
        user("u1", None, "Hello"),
        answer("a1", None, "m1", text("Hel"), usage=usage(10, 1)),
        answer("a2", None, "m1", text("lo"), usage=usage(10, 57)),
    )

    (call,) = calls(tmp_path, lines)

    assert call.usage == Usage(uncached=10, output=57)


def test_hidden_prompt_stands_first_and_what_stays_is_the_same_object(tmp_path: Path) -> None:
    lines = chain(
        user("u1", None, "Hello"),
        answer("a1", None, "m1", text("Hi")),
        user("u2", None, "Bye"),
        answer("a2", None, "m2", text("Bye")),
    )

    first, second = calls(tmp_path, lines)

    assert first.prompt[0].kind == "hidden"
    assert first.prompt[0].tag == "system_prompt"
    assert all(old is new for old, new in zip(first.prompt, second.prompt, strict=False))
    assert second.prompt[2] is first.output[0]


def test_results_logged_between_the_lines_of_a_response_were_not_seen_by_it(tmp_path: Path) -> None:
    lines = [
        user("u1", None, "Read both"),
        answer("a1", "u1", "m1", tool_use("t1", "Read", file_path="a")),
        result("r1", "a1", "t1", "text of a"),
        answer("a2", "a1", "m1", tool_use("t2", "Read", file_path="b")),
        result("r2", "a2", "t2", "text of b"),
        answer("a3", "r2", "m2", text("Done")),
    ]

    first, second = calls(tmp_path, lines)

    assert len(first.prompt) == 2
    assert texts(second.prompt)[2:] == ['{"file_path": "a"}', '{"file_path": "b"}', "text of a", "text of b"]


def test_results_of_parallel_calls_all_stay_in_the_prompt(tmp_path: Path) -> None:
    lines = [
        user("u1", None, "Read both"),
        answer("a1", "u1", "m1", tool_use("t1", "Read", file_path="a")),
        answer("a2", "a1", "m1", tool_use("t2", "Grep", pattern="b")),
        result("r2", "a2", "t2", "text of b"),
        result("r1", "a1", "t1", "text of a"),
        answer("a3", "r1", "m2", text("Done")),
    ]

    _, second = calls(tmp_path, lines)

    assert tags(second.prompt)[-2:] == ["tool_result:Grep", "tool_result:Read"]
    assert second.parent is None


def test_tool_use_result_is_not_context(tmp_path: Path) -> None:
    lines = chain(
        user("u1", None, "Go"),
        answer("a1", None, "m1", tool_use("t1", "Bash", command="ls")),
        result("r1", "", "t1", "a.py"),
        answer("a2", None, "m2", text("One file")),
    )

    _, second = calls(tmp_path, lines)

    assert second.prompt[-1].text == "a.py"
    assert second.prompt[-1].tool == "Bash"


def test_compaction_restarts_the_prompt_with_the_summary(tmp_path: Path) -> None:
    lines = [
        user("u1", None, "Go"),
        answer("a1", "u1", "m1", text("Went")),
        boundary("c1", None, 160_000),
        user("s1", "c1", "This session is being continued. Went.", isCompactSummary=True),
        answer("a2", "s1", "m2", text("Going on")),
        user("u2", "a2", "More"),
        answer("a3", "u2", "m3", text("More")),
    ]

    _, second, third = calls(tmp_path, lines)

    assert tags(second.prompt) == ["system_prompt", "summary"]
    assert second.compaction == Compaction(before=160_000, trigger="auto")
    assert second.session == third.session == "session-1"
    assert third.compaction is None


def test_summary_without_a_boundary_is_a_compaction_too(tmp_path: Path) -> None:
    lines = chain(
        user("u1", None, "Go"),
        answer("a1", None, "m1", text("Went")),
        user("s1", None, "Went.", isCompactSummary=True),
        answer("a2", None, "m2", text("Going on")),
    )

    _, second = calls(tmp_path, lines)

    assert tags(second.prompt) == ["system_prompt", "summary"]
    assert second.compaction == Compaction()


def test_messages_that_a_compaction_preserves_stand_behind_the_summary(tmp_path: Path) -> None:
    lines = [
        user("u1", None, "Old"),
        answer("a1", "u1", "m1", text("Old answer")),
        user("u2", "a1", "New"),
        answer("a2", "u2", "m2", text("New answer")),
        boundary("c1", None, 9000, preservedSegment={"headUuid": "u2", "anchorUuid": "s1", "tailUuid": "a2"}),
        user("s1", "c1", "Old things.", isCompactSummary=True),
        user("u3", "a2", "Newest"),
        answer("a3", "u3", "m3", text("Newest answer")),
    ]

    third = calls(tmp_path, lines)[2]

    assert texts(third.prompt) == ["", "Old things.", "New", "New answer", "Newest"]
    assert third.parent is None


def test_cleared_results_become_receipts_where_the_client_says_so(tmp_path: Path) -> None:
    metadata = {"trigger": "auto", "preTokens": 100, "compactedToolIds": ["t1"]}
    lines = chain(
        user("u1", None, "Go"),
        answer("a1", None, "m1", tool_use("t1", "Bash", command="ls")),
        result("r1", "", "t1", "a.py"),
        line("system", "c1", None, subtype="microcompact_boundary", microcompactMetadata=metadata),
        answer("a2", None, "m2", text("Done")),
    )

    _, second = calls(tmp_path, lines)

    assert second.prompt[-1].tag == "receipt"
    assert second.prompt[-1].call_id == "t1"
    assert second.compaction is None


def test_old_results_are_taken_as_cleared_when_the_billed_input_falls(tmp_path: Path) -> None:
    billed = (10_000, 20_000, 30_000, 40_000, 50_000, 30_000)
    reads = [
        (
            answer(f"a{i}", None, f"m{i}", tool_use(f"t{i}", "Read", file_path="a"), usage=usage(tokens, 9)),
            result(f"r{i}", "", f"t{i}", "x" * 30_000),
        )
        for i, tokens in enumerate(billed)
    ]
    source = Source.of(write_lines(tmp_path / "t.jsonl", chain(user("u", None, "Read"), *sum(reads, ()))))

    *_, last = read(source)

    assert tags(last.prompt).count("receipt") == 2
    assert [skip.reason for skip in source.skipped] == [
        "billed input fell: 2 old tool results are taken as cleared"
    ]


def test_going_back_forks_a_child_session_that_shares_the_past(tmp_path: Path) -> None:
    lines = [
        user("u1", None, "Start"),
        answer("a1", "u1", "m1", text("Started")),
        user("u2", "a1", "Left"),
        answer("a2", "u2", "m2", text("Went left")),
        user("u3", "a1", "Right"),
        answer("a3", "u3", "m3", text("Went right")),
    ]

    first, _, fork = calls(tmp_path, lines)

    assert (fork.session, fork.parent) == ("session-1/fork-u3", "session-1")
    assert texts(fork.prompt) == ["", "Start", "Started", "Right"]
    assert fork.prompt[1] is first.prompt[1]


def test_session_resumed_under_a_new_id_is_a_child_that_shares_the_past(tmp_path: Path) -> None:
    lines = [
        user("u1", None, "Start"),
        answer("a1", "u1", "m1", text("Started")),
        user("u2", "a1", "Go on", sessionId="session-2"),
        answer("a2", "u2", "m2", text("Going on"), sessionId="session-2"),
    ]

    _, second = calls(tmp_path, lines)

    assert (second.session, second.parent) == ("session-2", "session-1")
    assert texts(second.prompt) == ["", "Start", "Started", "Go on"]


def test_sidechain_in_the_file_is_a_child_session_with_its_own_context(tmp_path: Path) -> None:
    lines = [
        user("u1", None, "Find it"),
        answer("a1", "u1", "m1", tool_use("t1", "Task", prompt="Search for it", subagent_type="Explore")),
        user("s1", None, "Search for it", isSidechain=True),
        answer("s2", "s1", "m2", text("Found"), isSidechain=True),
        result("r1", "a1", "t1", "Found"),
        answer("a2", "r1", "m3", text("It is there")),
    ]

    by_id = {call.call_id: call for call in calls(tmp_path, lines)}

    child, last = by_id["m2:req_m2"], by_id["m3:req_m3"]
    assert (child.session, child.parent, child.agent) == ("session-1/sidechain-s1", "session-1", "Explore")
    assert texts(child.prompt) == ["", "Search for it"]
    assert texts(last.prompt)[-1] == "Found"


def test_two_sidechains_at_the_same_time_stay_apart(tmp_path: Path) -> None:
    lines = [
        user("s1", None, "One", isSidechain=True),
        user("s2", None, "Two", isSidechain=True),
        answer("b1", "s1", "m1", text("1"), isSidechain=True),
        answer("b2", "s2", "m2", text("2"), isSidechain=True),
    ]

    found = {call.session: texts(call.prompt)[1:] for call in calls(tmp_path, lines)}

    assert found == {"session-1/sidechain-s1": ["One"], "session-1/sidechain-s2": ["Two"]}


def test_file_of_a_sub_agent_is_a_child_of_its_session(tmp_path: Path) -> None:
    lines = chain(
        user("s1", None, "Search", isSidechain=True, agentId="af01"),
        answer("s2", None, "m1", text("Found"), isSidechain=True, agentId="af01"),
    )
    path = write_lines(tmp_path / "agent-af01.jsonl", lines)
    (tmp_path / "agent-af01.meta.json").write_text('{"agentType": "Explore"}')

    (call,) = read(Source.of(path))

    assert (call.session, call.parent, call.agent) == ("session-1/af01", "session-1", "Explore")


def test_what_the_client_says_to_the_person_is_no_call_and_no_context(tmp_path: Path) -> None:
    lines = chain(
        user("u1", None, "Go"),
        answer("e1", None, "x1", text("API Error: 529"), model="<synthetic>", isApiErrorMessage=True),
        line("system", "i1", None, subtype="informational", content="Model changed"),
        line("progress", "p1", None, data={"type": "hook_progress"}),
        answer("a1", None, "m1", text("Going")),
    )

    (call,) = calls(tmp_path, lines)

    assert texts(call.prompt) == ["", "Go"]


def test_attachments_and_hidden_messages_are_the_harness(tmp_path: Path) -> None:
    hook = {"type": "hook_additional_context", "content": ["branch: main"]}
    memory = {"type": "nested_memory", "path": "src/CLAUDE.md", "content": {"content": "Use tabs."}}
    queued = {"type": "queued_command", "prompt": "And the tests"}
    unsent = {"type": "hook_non_blocking_error", "stderr": "failed"}
    lines = chain(
        user("u1", None, "Go"),
        user("u2", None, "Expanded words of a command", isMeta=True),
        line("attachment", "x1", None, attachment=hook),
        line("attachment", "x2", None, attachment=memory),
        line("attachment", "x3", None, attachment=queued),
        line("attachment", "x4", None, attachment=unsent),
        answer("a1", None, "m1", text("Going")),
    )

    (call,) = calls(tmp_path, lines)

    assert list(zip(tags(call.prompt), texts(call.prompt), strict=True))[1:] == [
        ("user_turn", "Go"),
        ("harness:meta", "Expanded words of a command"),
        ("harness:hook", "branch: main"),
        ("memory:CLAUDE.md", "Use tabs."),
        ("user_turn", "And the tests"),
    ]


def test_text_that_a_command_stands_for_is_the_command(tmp_path: Path) -> None:
    lines = chain(
        user("u1", None, "<command-name>/init</command-name>"),
        user("u2", None, [text("Analyse the code.")], isMeta=True),
        answer("a1", None, "m1", text("Analysing")),
    )

    (call,) = calls(tmp_path, lines)

    assert tags(call.prompt) == ["system_prompt", "harness:command", "harness:command"]


@pytest.mark.parametrize(
    ("model", "kept"),
    [
        ("claude-sonnet-4-5-20250929", True),
        ("claude-opus-4-6", True),
        ("claude-opus-4-1-20250805", False),
        ("claude-sonnet-4-20250514", False),
        ("claude-3-5-sonnet-20241022", False),
        ("anthropic/claude-opus-4.5", True),
        ("glm-4.7", True),
    ],
)
def test_reasoning_of_earlier_turns_stays_since_claude_4_5(model: str, *, kept: bool) -> None:
    assert keeps_reasoning(model) is kept


def test_older_models_lose_the_reasoning_of_earlier_turns_only(tmp_path: Path) -> None:
    old = "claude-opus-4-1-20250805"
    lines = chain(
        user("u1", None, "One"),
        answer("a1", None, "m1", thinking("Hm"), tool_use("t1", "Bash", command="ls"), model=old),
        result("r1", "", "t1", "a.py"),
        answer("a2", None, "m2", thinking("Ah"), text("One file"), model=old),
        user("u2", None, "Two"),
        answer("a3", None, "m3", text("Two"), model=old),
    )

    _, second, third = calls(tmp_path, lines)

    assert "agent_reasoning" in tags(second.prompt)
    assert "agent_reasoning" not in tags(third.prompt)


def test_lines_that_are_no_lines_are_listed_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "t.jsonl", chain(user("u1", None, "Go"), answer("a1", None, "m1", text("Ok")))
    )
    path.write_text('[1]\n{"silly": 1}\n{"type": "user", "message": 3}\n' + path.read_text() + '{"type": "us')
    source = Source.of(path)

    found = list(read(source))

    assert len(found) == 1
    assert source.skipped == [
        Skipped(1, "no line of a transcript: no object"),
        Skipped(2, "no line of a transcript: no type"),
        Skipped(3, "user line without a message"),
        Skipped(6, "truncated"),
    ]


def test_repeated_lines_change_nothing(tmp_path: Path) -> None:
    lines = chain(user("u1", None, "Go"), answer("a1", None, "m1", text("Ok"), usage=usage(5, 2)))

    assert calls(tmp_path, lines) == calls(tmp_path, [*lines, *lines])
    assert skipped(tmp_path, [*lines, *lines]) == [Skipped(0, "2 lines stand in the file more than once")]
    assert skipped(tmp_path, [*lines, lines[1]]) == [Skipped(0, "1 line stands in the file more than once")]


@pytest.mark.parametrize(
    "other",
    [
        answer("a1", "u2", "m2", text("Ok"), usage=usage(700, 3)),
        answer("a1", "u2", "m2", text("Fine"), usage=usage(700, 3)),
    ],
    ids=["another response", "other words"],
)
def test_a_line_that_only_has_the_id_of_another_is_read_and_named(tmp_path: Path, other: Line) -> None:
    lines = [
        *chain(user("u1", None, "Go"), answer("a1", None, "m1", text("Ok"), usage=usage(5, 2))),
        user("u2", "a1", "And?"),
    ]

    read = calls(tmp_path, [*lines, other, *lines, other])

    assert [(call.call_id, call.usage and call.usage.input) for call in read] == [
        ("m1:req_m1", 5),
        ("m2:req_m2", 700),
    ]
    assert skipped(tmp_path, [*lines, other, *lines, other]) == [
        Skipped(4, "its uuid is that of an earlier line, which says something else: both are read"),
        Skipped(0, "4 lines stand in the file more than once"),
    ]


def test_file_without_calls_says_so(tmp_path: Path) -> None:
    assert skipped(tmp_path, [user("u1", None, "Go")]) == [Skipped(0, "no assistant message")]


def test_output_counts_that_cannot_be_true_are_named(tmp_path: Path) -> None:
    lines = chain(
        user("u1", None, "Go"),
        answer("a1", None, "m1", text("A long answer. " * 20), usage=usage(9, 1)),
        user("u2", None, "Go on"),
        answer("a2", None, "m2", text("A long answer. " * 20), usage=usage(9, 80)),
    )

    reasons = [skip.reason for skip in skipped(tmp_path, lines)]

    assert reasons == ["1 of 2 calls reports fewer output tokens than the text holds"]


def test_start_of_a_call_is_its_newest_input(tmp_path: Path) -> None:
    lines = chain(
        user("u1", None, "Go", timestamp="2026-11-29T10:00:01.500Z"),
        answer("a1", None, "m1", text("Ok"), timestamp="2026-11-29T10:00:09.000Z"),
    )

    (call,) = calls(tmp_path, lines)

    assert call.started_ns == 1_795_946_401_500_000_000


def test_prompt_that_begins_in_the_middle_is_marked_incomplete(tmp_path: Path) -> None:
    lines = [user("u9", "gone", "Go on"), answer("a9", "u9", "m9", text("Ok"))]

    (call,) = calls(tmp_path, lines)

    assert call.incomplete
