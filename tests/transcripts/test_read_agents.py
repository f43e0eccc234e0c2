"""Check the readers of single agents' trajectories on small real files and on the cases these lack."""

from __future__ import annotations

import json
from pathlib import Path

from ctxheap.heap.model import Usage
from transcripts.written import DATA, calls_of, grows, read_file, tags, texts, write_json, write_lines

Json = dict[str, object]
NOTHING: list[object] = []


def test_mini_swe_agents_calls_are_the_recorded_responses() -> None:
    name, calls, skipped = read_file(DATA / "mini-swe-agent" / "tool_calls.traj.json")

    assert (name, skipped) == ("mini-swe-agent", [])
    assert {(call.session, call.model, call.provider, call.implied) for call in calls} == {
        ("astropy__astropy-12907", "deepseek-v4-flash", "deepseek", False)
    }
    assert [call.usage for call in calls] == [
        Usage(uncached=25, cache_read=1664, output=76),
        Usage(uncached=6, cache_read=1792, output=54),
    ]
    assert tags(calls[1].prompt) == [
        "tool_definition:bash",
        "system_prompt",
        "user_turn",
        "agent_output",
        "tool_call:bash",
        "tool_result:bash",
    ]
    assert grows(calls)


def test_mini_swe_agents_commands_in_text_are_calls_and_their_output_results() -> None:
    name, calls, skipped = read_file(DATA / "mini-swe-agent" / "text.traj.json")

    assert (name, len(calls), skipped) == ("mini-swe-agent", 10, [])
    parts = calls[1].prompt
    assert [(part.role, part.tag, part.call_id) for part in parts] == [
        ("system", "system_prompt", ""),
        ("user", "user_turn", ""),
        ("assistant", "agent_output", ""),
        ("assistant", "tool_call:bash", "bash:2"),
        ("user", "tool_result:bash", "bash:2"),
    ]
    assert parts[3].text == '{"command":"cat /testbed/swe-agent-test-repo/tests/./missing_colon.py"}'
    assert parts[4].error
    assert grows(calls)


def test_mini_swe_agents_complaint_about_the_format_is_no_result(tmp_path: Path) -> None:
    messages: list[Json] = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": "I will not say how."},
        {"role": "user", "content": "Please always provide EXACTLY ONE action."},
        {"role": "assistant", "content": "```bash\nls\n```"},
        {"role": "user", "content": "<returncode>0</returncode>"},
        {"role": "assistant", "content": "Done."},
        {"role": "exit", "content": "diff"},
    ]
    body = {"messages": messages, "trajectory_format": "mini-swe-agent-1"}

    calls = calls_of(write_json(tmp_path / "t.traj.json", body))

    assert tags(calls[2].prompt)[3:] == ["harness:format_error", "tool_call:bash", "tool_result:bash"]
    assert calls[0].session == "t"


def test_tau_bench_episodes_are_sessions() -> None:
    name, calls, skipped = read_file(DATA / "tau-bench" / "two_episodes.json")

    assert (name, skipped) == ("tau-bench", [])
    assert {call.session: call.incomplete for call in calls} == {
        "two_episodes#1": True,
        "two_episodes#2": True,
    }
    first = [call for call in calls if call.session == "two_episodes#1"]
    assert grows(first)
    assert tags(first[0].prompt) == ["system_prompt", "user_turn"]
    assert all(part.tool for call in calls for part in call.prompt if part.kind == "tool_result")


def test_an_episode_that_failed_to_start_is_named(tmp_path: Path) -> None:
    body: list[Json] = [{"task_id": 3, "reward": 0.0, "info": {"error": "x"}, "traj": []}]

    name, calls, skipped = read_file(write_json(tmp_path / "r.json", body))

    assert (name, calls, skipped) == ("tau-bench", [], ["r#1: no answer of a model, so no call"])


def test_tau2_holds_only_what_the_agent_saw() -> None:
    name, calls, skipped = read_file(DATA / "tau2-bench" / "telecom.json")

    assert (name, skipped) == ("tau2-bench", [])
    assert [call.usage.input if call.usage else None for call in calls] == [
        6275,
        6322,
        6556,
        6704,
        6892,
        6959,
        7050,
    ]
    assert tags(calls[-1].prompt) == [
        "system_prompt",
        "system_prompt",
        "harness:greeting",
        "user_turn",
        "agent_output",
        "user_turn",
        "tool_call:get_customer_by_phone",
        "tool_result:get_customer_by_phone",
        "tool_call:get_details_by_id",
        "tool_result:get_details_by_id",
        "agent_output",
        "user_turn",
        "agent_output",
        "user_turn",
        "agent_output",
        "user_turn",
    ]
    assert calls[-1].prompt[0].kind == "hidden"
    assert grows(calls)


def test_tau2_takes_model_and_cache_classes_from_the_providers_own_usage() -> None:
    _, calls, _ = read_file(DATA / "tau2-bench" / "airline.json")

    assert {(call.model, call.provider, call.agent) for call in calls} == {
        ("claude-sonnet-4-5-20250929", "anthropic", "tau2-bench")
    }
    assert all(call.usage is not None and call.started_ns is not None for call in calls)


def test_swe_agents_commands_and_observations_are_linked() -> None:
    name, calls, skipped = read_file(DATA / "swe-agent" / "text.traj")

    assert (name, len(calls), skipped) == ("swe-agent", 4, [])
    assert [(part.role, part.tag, part.call_id) for part in calls[1].prompt] == [
        ("system", "system_prompt", ""),
        ("user", "user_turn", ""),
        ("assistant", "agent_output", ""),
        ("assistant", "tool_call:tshark", "tshark:2"),
        ("user", "tool_result:tshark", "tshark:2"),
    ]
    assert grows(calls)


def test_swe_agents_function_calls_name_their_results() -> None:
    calls = calls_of(DATA / "swe-agent" / "function_calling.traj")

    assert tags(calls[-1].prompt)[2:] == [
        "agent_output",
        "tool_call:find_file",
        "tool_result:find_file",
        "agent_output",
        "tool_call:open",
        "tool_result:open",
        "agent_output",
        "tool_call:edit",
        "tool_result:edit",
        "agent_output",
        "tool_call:bash",
        "tool_result:bash",
    ]


def history(*pairs: tuple[str, str]) -> list[Json]:
    return [{"role": role, "content": text, "agent": "primary"} for role, text in pairs]


def test_swe_agents_demonstrations_are_examples_and_no_calls(tmp_path: Path) -> None:
    messages = history(("system", "s"), ("user", "demo"), ("assistant", "demo answer"), ("user", "task"))
    messages[1]["is_demo"] = messages[2]["is_demo"] = True
    body: Json = {"trajectory": [], "history": [*messages, *history(("assistant", "Done."))], "info": {}}

    calls = calls_of(write_json(tmp_path / "t.traj", body))

    assert [tags(call.prompt) for call in calls] == [["system_prompt", "example", "example", "user_turn"]]


def test_swe_agents_own_record_of_the_prompt_is_believed(tmp_path: Path) -> None:
    opening = history(("system", "s"), ("user", "task"))
    acted: Json = {"role": "assistant", "content": "Look.\n```\nls\n```", "action": "ls", "agent": "primary"}
    steps: list[Json] = [
        {"query": opening, "response": acted["content"], "action": "ls"},
        {"query": [*opening, acted, *history(("user", "a.py"))], "response": "Next.", "action": ""},
        {"query": [*opening, acted, *history(("user", "Old output omitted"))], "response": "Done."},
    ]

    config = json.dumps({"agent": {"model": {"name": "openrouter/gpt-4.1"}}})
    body: Json = {"trajectory": steps, "history": NOTHING, "info": {}, "replay_config": config}
    calls = calls_of(write_json(tmp_path / "t.traj", body))

    assert [texts(call.prompt)[2:] for call in calls] == [
        [],
        ["Look.\n", '{"command":"ls"}', "a.py"],
        ["Look.\n", '{"command":"ls"}', "Old output omitted"],
    ]
    assert tags(calls[2].prompt)[3:] == ["tool_call:ls", "tool_result:ls"]
    assert calls[1].prompt[2:4] == calls[0].output
    assert {(call.implied, call.model, call.provider) for call in calls} == {
        (False, "openrouter/gpt-4.1", "openai")
    }


def test_openhands_events_with_a_recorded_response_are_calls() -> None:
    name, calls, skipped = read_file(DATA / "openhands-events" / "basic_interactions.json")

    assert (name, skipped) == ("openhands-events", [])
    assert [(call.model, call.usage, call.implied, call.incomplete) for call in calls] == [
        ("gpt-4o-2024-08-06", None, True, True),
        ("gpt-4o-2024-08-06", None, True, True),
        ("gpt-4o-2024-08-06", Usage(uncached=169, cache_read=2304, output=10), False, True),
    ]
    assert tags(calls[2].prompt) == ["user_turn", "agent_output", "user_turn", "agent_output", "user_turn"]
    assert tags(calls[2].output) == ["tool_call:finish"]


def test_openhands_results_with_a_history_are_sessions(tmp_path: Path) -> None:
    events: list[Json] = [
        {"action": "message", "source": "user", "args": {"content": "Fix it."}},
        {
            "observation": "recall",
            "content": "",
            "extras": {"microagent_knowledge": [{"name": "git", "content": "Use git."}]},
        },
        {
            "action": "run",
            "source": "agent",
            "args": {"command": "ls", "thought": "Look.", "blocking": False},
        },
        {"observation": "run", "content": "a.py", "extras": {"metadata": {"exit_code": 1}}},
        {"action": "finish", "source": "agent", "args": {"outputs": {}, "thought": "Done."}},
        {"observation": "agent_state_changed", "content": ""},
    ]
    path = write_lines(
        tmp_path / "output.jsonl",
        [
            {"instance_id": "repo-1", "metadata": {"llm_config": {"model": "gpt-4o"}}, "history": events},
            {"instance_id": "repo-2", "history": []},
        ],
    )

    name, calls, skipped = read_file(path)

    assert (name, skipped) == ("openhands-events", ["no history of events"])
    assert [(call.session, call.model) for call in calls] == [("repo-1", "gpt-4o"), ("repo-1", "gpt-4o")]
    assert [(part.tag, part.text, part.error) for part in calls[1].prompt] == [
        ("user_turn", "Fix it.", False),
        ("memory:git", "Use git.", False),
        ("agent_output", "Look.", False),
        ("tool_call:run", '{"command":"ls"}', False),
        ("tool_result:run", "a.py", True),
    ]


def test_costs_that_a_source_records_stay_with_their_calls() -> None:
    recorded = {
        name: [call.recorded_usd for call in read_file(DATA / name)[1]]
        for name in ("mini-swe-agent/tool_calls.traj.json", "tau-bench/two_episodes.json")
    }
    _, telecom, _ = read_file(DATA / "tau2-bench" / "telecom.json")

    assert recorded["mini-swe-agent/tool_calls.traj.json"] == [8.551199999999999e-05, 7.453599999999999e-05]
    assert set(recorded["tau-bench/two_episodes.json"]) == {None}
    assert all(call.recorded_usd for call in telecom if call.usage)
