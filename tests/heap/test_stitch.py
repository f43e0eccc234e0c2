"""Check which session a call is given to (SPEC 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.model import Exchange, Part, Usage
from ctxheap.heap.stitch import Assignment, Chain, Stitcher, canonical_order, session_id

SYSTEM = Part("system", "text", "system_prompt", "You are an agent.")
TASK = Part("user", "text", "user_turn", "Find the bug.")


def user(text: str) -> Part:
    return Part("user", "text", "user_turn", text)


def said(text: str) -> Part:
    return Part("assistant", "text", "agent_output", text)


def asked(call_id: str, arguments: str = "{}") -> Part:
    return Part("assistant", "tool_call", "tool_call:run", arguments, "run", call_id)


def result(call_id: str, text: str = "done") -> Part:
    return Part("tool", "tool_result", "tool_result:run", text, "run", call_id)


def summary(text: str) -> Part:
    return Part("user", "text", "summary", text)


def call(
    call_id: str, prompt: Sequence[Part], *output: Part, session: str = "", time: int | None = None
) -> Exchange:
    return Exchange(call_id, prompt, output, session=session, started_ns=time)


def new(call_id: str, parent: str | None = None) -> Assignment:
    return Assignment(session_id(call_id), parent)


def stitched(*calls: Exchange) -> list[Assignment]:
    stitcher = Stitcher()
    return named([stitcher.assign(each) for each in calls], *calls)


def named(assigned: Sequence[Assignment], *calls: Exchange) -> list[Assignment]:
    """Return assignments with the ids that sessions would have without the content of their first call."""
    plain = {session_id(each.call_id, each): session_id(each.call_id) for each in calls}
    return [
        Assignment(plain.get(each.session, each.session), plain.get(each.parent or "", each.parent))
        for each in assigned
    ]


START = [SYSTEM, TASK]
FIRST = call("1", START, asked("a"))
SECOND = call("2", [*START, asked("a"), result("a")], said("Half of it is done, one file is left."))
GROWN = [*SECOND.prompt, *SECOND.output]


def test_a_call_joins_the_session_whose_output_it_holds() -> None:
    assert stitched(FIRST, SECOND, call("3", [*GROWN, user("Go on.")])) == [new("1")] * 3


def test_sessions_of_calls_with_one_id_are_told_apart_by_content_alone() -> None:
    calls = [call("chatcmpl-1", [SYSTEM, user(text)], said(text)) for text in ("Left", "Right", "Left")]

    left, right, again = [Stitcher().assign(each) for each in calls]

    assert left == again != right


def test_the_same_opening_without_an_output_is_another_session() -> None:
    assert stitched(FIRST, call("2", START, asked("b"))) == [new("1"), new("2")]


def test_interleaved_sessions_are_told_apart_by_call_ids() -> None:
    one, two = call("1", START, asked("a")), call("2", START, asked("b"))

    assigned = stitched(
        one,
        two,
        call("3", [*START, asked("b"), result("b")], said("B")),
        call("4", [*START, asked("a"), result("a")], said("A")),
    )

    assert assigned == [new("1"), new("2"), new("2"), new("1")]


def test_equal_outputs_are_told_apart_by_the_common_prefix() -> None:
    left, right = [SYSTEM, user("Left?")], [SYSTEM, user("Right?")]

    assigned = stitched(
        call("1", left, said("OK")),
        call("2", right, said("OK")),
        call("3", [*left, said("OK"), user("And?")], said("L")),
        call("4", [*right, said("OK"), user("And?")], said("R")),
    )

    assert assigned == [new("1"), new("2"), new("1"), new("2")]


def test_the_common_prefix_counts_before_which_output_is_the_newest() -> None:
    left, right = [SYSTEM, user("Left?")], [SYSTEM, user("Right?")]
    gone_on = [*left, said("OK"), user("And?")]

    assigned = stitched(
        call("1", left, said("OK")),
        call("2", right, said("OK")),
        call("3", gone_on, said("L")),
        call("4", [*left, said("OK"), user("Or?")], said("M")),
    )

    assert assigned[3] == new("4", session_id("1"))


def test_arguments_written_anew_are_found_by_their_call_id() -> None:
    again = [*START, asked("a", '{ "x": 1 }'), result("a")]

    assert stitched(call("1", START, asked("a", '{"x":1}')), call("2", again)) == [new("1")] * 2


def test_a_result_without_its_call_still_names_the_session() -> None:
    assert stitched(FIRST, call("2", [SYSTEM, result("a")])) == [new("1")] * 2


def test_white_space_around_an_answer_makes_no_other_session() -> None:
    assert (
        stitched(call("1", START, said("Yes.\n")), call("2", [*START, said("Yes."), TASK])) == [new("1")] * 2
    )


def test_going_on_from_an_older_output_is_a_fork_with_a_parent() -> None:
    other = [*SECOND.prompt, user("No, do it differently.")]
    child = new("3", session_id("1"))

    assigned = stitched(
        FIRST,
        SECOND,
        call("3", other, said("Differently, then.")),
        call("4", [*other, said("Differently, then."), user("Fine.")]),
        call("5", [*GROWN, user("Go on.")]),
    )

    assert assigned == [new("1"), new("1"), child, child, new("1")]


def test_a_retry_of_a_later_call_is_a_fork() -> None:
    assert stitched(FIRST, SECOND, call("3", SECOND.prompt, said("Again."))) == [
        *(new("1"), new("1")),
        new("3", session_id("1")),
    ]


def test_a_call_without_an_answer_makes_no_fork_of_the_next() -> None:
    lost = call("3", [*GROWN, user("Go on.")])

    assert stitched(FIRST, SECOND, lost, call("4", [*GROWN, user("Go on!")], said("Yes"))) == [new("1")] * 4


def test_an_answer_that_was_rewritten_makes_no_fork() -> None:
    rewritten = [*SECOND.prompt, said("Half is done."), user("Go on.")]

    assert stitched(FIRST, SECOND, call("3", rewritten)) == [new("1")] * 3


def test_a_prompt_that_dropped_its_middle_still_joins() -> None:
    assert stitched(FIRST, SECOND, call("3", [SYSTEM, *SECOND.output, user("Go on.")])) == [new("1")] * 3


def test_a_summary_that_the_model_wrote_joins() -> None:
    text = "The bug is in the parser; two files were read."
    compacting = call("3", [*GROWN, user("Summarise.")], said(text))

    assert (
        stitched(FIRST, SECOND, compacting, call("4", [SYSTEM, summary(text)], asked("z"))) == [new("1")] * 4
    )


def test_a_summary_that_repeats_what_was_said_joins() -> None:
    text = "So far:\n- Half of it is done, one file is left.\nGo on from here."

    assert stitched(FIRST, SECOND, call("3", [SYSTEM, summary(text)], asked("z"))) == [new("1")] * 3


def test_a_summary_behind_the_same_task_joins() -> None:
    assert stitched(FIRST, SECOND, call("3", [*START, summary("In short: x.")])) == [new("1")] * 3


def test_a_summary_behind_a_system_prompt_that_many_share_starts_a_session() -> None:
    other = call("0", [SYSTEM, user("Something else.")], said("Done."))

    assert stitched(other, FIRST, call("3", [SYSTEM, summary("In short: x.")]))[2] == new("3")


def test_an_explicit_session_comes_first() -> None:
    explicit = Exchange("3", GROWN, (), session="mine", parent="boss")

    assert stitched(FIRST, SECOND, explicit) == [new("1"), new("1"), Assignment("mine", "boss")]


def test_a_stateful_chain_needs_no_content() -> None:
    stitcher = Stitcher()
    first, other = call("1", START), call("3", [user("Other.")])

    assigned = [
        stitcher.assign(first, Chain(response="r1")),
        stitcher.assign(call("2", [user("More.")]), Chain(response="r2", previous="r1")),
        stitcher.assign(other, Chain(response="r3")),
        stitcher.assign(call("4", [user("More!")]), Chain(response="r4", previous="r2")),
    ]

    assert named(assigned, first, other) == [new("1"), new("1"), new("3"), new("1")]


def test_a_conversation_is_one_session_even_if_its_start_was_missed() -> None:
    stitcher = Stitcher()

    assigned = [stitcher.assign(call(name, [user(name)]), Chain(conversation="conv")) for name in "12"]

    assert assigned == [new("conv")] * 2


def test_a_sub_agent_keeps_its_parent() -> None:
    child = Exchange("9", START, (), parent="boss")

    assert stitched(child) == [new("9", "boss")]


def test_calls_of_one_second_come_as_their_context_grows() -> None:
    calls = [call(f"m{number}", [user("x")] * number, time=7) for number in range(1, 12)]

    assert canonical_order(calls[::-1]) == calls


def test_a_call_reported_twice_is_assigned_once() -> None:
    assert stitched(FIRST, SECOND, FIRST, SECOND) == [new("1")] * 4


def test_memory_is_bounded_by_forgetting_the_oldest_session() -> None:
    stitcher = Stitcher(max_sessions=2)
    calls = [call(name, START, said(f"answer {name}")) for name in ("1", "2", "3")]
    calls += [call("4", [*START, said("answer 1"), TASK]), call("5", [*START, said("answer 3"), TASK])]

    assigned = [stitcher.assign(each) for each in calls]

    assert named(assigned, *calls)[3:] == [new("4"), new("3")]


def test_of_two_reports_the_fullest_is_kept_whatever_the_order() -> None:
    poor = call("1", START, time=5)
    rich = Exchange("1", START, (said("x"),), started_ns=5, usage=Usage(uncached=9))

    assert canonical_order([poor, rich]) == canonical_order([rich, poor]) == [rich]


def test_calls_without_a_time_keep_their_order() -> None:
    calls = [call("b", START), call("a", START), call("c", START, time=1)]

    assert [each.call_id for each in canonical_order(calls)] == ["c", "b", "a"]


def grow(script: list[tuple[int, bool]]) -> list[Exchange]:
    """Return the calls of a few sessions that interleave; True opens a fork one output back."""
    prompts: dict[int, list[Part]] = {}
    calls: list[Exchange] = []
    for time, (agent, forks) in enumerate(script):
        known = prompts.setdefault(agent, [SYSTEM, user(f"task {agent}")])
        prompt = known[:-2] if forks and len(known) > 4 else list(known)
        answer = said(f"answer {time}")
        calls.append(call(f"c{time}", [*prompt, user(f"note {time}")], answer, time=time))
        prompts[agent] = [*prompt, user(f"note {time}"), answer]
    return calls


@given(
    script=st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=25),
    seed=st.randoms(use_true_random=False),
)
def test_order_and_repetition_of_the_input_change_nothing(
    script: list[tuple[int, bool]], seed: Random
) -> None:
    calls = grow(script)
    shuffled = calls + calls[::2]
    seed.shuffle(shuffled)

    assert canonical_order(shuffled) == calls
    assert stitched(*canonical_order(shuffled)) == stitched(*calls)


@given(agents=st.lists(st.integers(0, 3), max_size=30))
def test_sessions_that_only_grow_stay_whole(agents: list[int]) -> None:
    calls = grow([(agent, False) for agent in agents])
    first = {agent: agents.index(agent) for agent in set(agents)}

    assert stitched(*calls) == [new(f"c{first[agent]}") for agent in agents]


@given(
    agents=st.lists(st.integers(0, 3), max_size=25),
    calls_a_second=st.integers(1, 30),
    seed=st.randoms(use_true_random=False),
)
def test_sessions_of_a_log_that_knows_seconds_only_stay_whole_in_any_order(
    agents: list[int], calls_a_second: int, seed: Random
) -> None:
    calls = [
        replace(each, started_ns=time // calls_a_second)
        for time, each in enumerate(grow([(agent, False) for agent in agents]))
    ]
    shuffled = calls + calls[::2]
    seed.shuffle(shuffled)
    ordered = canonical_order(shuffled)
    sessions = dict(zip((each.call_id for each in ordered), stitched(*ordered), strict=True))

    assert ordered == canonical_order(calls)
    assert [sum(each.parent is not None for each in sessions.values()), len(set(sessions.values()))] == [
        0,
        len(set(agents)),
    ]


Clock = st.one_of(st.none(), st.integers(0, 5))


@given(
    script=st.lists(st.tuples(st.sampled_from("ab"), Clock, st.integers(0, 3)), max_size=20),
    seed=st.randoms(use_true_random=False),
)
def test_no_clock_moves_the_calls_of_a_session_that_was_written_in_order(
    script: list[tuple[str, int | None, int]], seed: Random
) -> None:
    ids = seed.sample(range(100), len(script))
    calls = [
        Exchange(str(ids[place]), [TASK] * length, (), session=name, started_ns=time, place=place)
        for place, (name, time, length) in enumerate(script)
    ]
    shuffled = calls + calls[::2]
    seed.shuffle(shuffled)
    ordered = canonical_order(shuffled)

    assert {name: [each for each in ordered if each.session == name] for name in "ab"} == {
        name: [each for each in calls if each.session == name] for name in "ab"
    }


def placed(call_id: str, session: str, place: int, time: int | None) -> Exchange:
    return Exchange(call_id, START, (), session=session, started_ns=time, place=place)


def test_calls_without_a_time_stand_with_their_neighbours_between_other_sessions() -> None:
    calls = [
        placed("early", "other", 9, 1),
        placed("implied", "main", 0, None),
        placed("first", "main", 1, 2),
        placed("between", "other", 8, 3),
        placed("second", "main", 2, 4),
        placed("fallen back", "main", 3, 1),
        placed("late", "last", 4, 5),
        placed("timeless", "never", 5, None),
    ]
    calls[0], calls[3] = replace(calls[0], place=6), replace(calls[3], place=7)

    assert canonical_order(calls[::-1]) == calls


def test_of_equal_reports_the_first_place_counts_whatever_the_order() -> None:
    early, late = placed("1", "s", 0, 5), placed("1", "s", 3, 5)

    assert canonical_order([early, late]) == canonical_order([late, early]) == [early]
