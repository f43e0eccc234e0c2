"""Check what is noted of tool calls, of telling outputs and of how a session ends (SPEC 9)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxheap.heap.facts import Echo, Facts, FactsTracker, Remark, Step, digest
from ctxheap.heap.facts.endings import ending_of
from ctxheap.heap.facts.phrases import phrase_in, plain
from ctxheap.heap.facts.steps import changes_by_name, fault_of
from ctxheap.heap.model import Part

WORDS = "To go on I need your user ID and the reservation ID of the trip that you want to change."


class Session:
    """Feed a tracker: object 2k is a tool call, 2k + 1 its answer, both born at call k + 2."""

    def __init__(self) -> None:
        self.tracker = FactsTracker()
        self.steps = 0

    def do(self, tool: str, arguments: object, text: str = "fine", *, error: bool = False) -> None:
        number, call = self.steps * 2, self.steps + 2
        asked = request(tool, arguments, f"c{self.steps}")
        answer = Part("tool", "tool_result", f"tool_result:{tool}", text, tool, asked.call_id, error=error)
        self.steps += 1
        self.tracker.see(number, asked, call, request=None, asked=None)
        self.tracker.see(number + 1, answer, call, request=number, asked=asked)

    def user(self, text: str, call: int = 1) -> None:
        self.tracker.see(1000 + call, Part("user", "text", "user_turn", text), call, request=None, asked=None)

    def facts(self) -> Facts:
        return self.tracker.finish()


def request(tool: str, arguments: object, call_id: str = "") -> Part:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return Part("assistant", "tool_call", f"tool_call:{tool}", text, tool, call_id)


def says(text: str) -> Part:
    return Part("assistant", "text", "agent_output", text)


def test_a_step_holds_what_a_tool_call_touched_and_how_it_ended() -> None:
    session = Session()

    session.do("Edit", {"file_path": "/r/a.py", "old_string": "x", "new_string": "y"}, "ok", error=True)

    assert session.facts().steps == [
        Step(
            request=0,
            result=1,
            call=2,
            tool="Edit",
            key=digest('Edit\0{"file_path":"/r/a.py","new_string":"y","old_string":"x"}'),
            writes=(digest("/r/a.py"),),
            touched=(digest("/r/a.py"),),
            content=digest("ok"),
            is_error=True,
        )
    ]


def test_equal_calls_have_equal_keys_whatever_the_order_of_their_arguments() -> None:
    session = Session()

    session.do("find_flights", '{"to": "B", "from": "A"}')
    session.do("find_flights", '{"from":"A","to":"B"}')
    session.do("find_flights", '{"from":"B","to":"A"}')

    first, second, third = session.facts().steps
    assert first.key == second.key != third.key


def test_a_file_is_one_resource_under_its_relative_and_its_absolute_path() -> None:
    session = Session()

    session.do("Read", {"file_path": "/r/src/a.py"}, "x = 1")
    session.do("bash", {"command": "sed -i s/1/2/ src/a.py"}, "")

    read, write = session.facts().steps
    assert read.touched == write.writes


def test_ranges_tell_reads_of_one_file_apart() -> None:
    session = Session()

    session.do("Read", {"file_path": "/a.py", "offset": 1, "limit": 10})
    session.do("Read", {"file_path": "/a.py", "offset": 11, "limit": 10})

    first, second = session.facts().steps
    assert first.touched == second.touched
    assert first.reads != second.reads


def test_a_call_without_an_answer_is_a_step_without_a_result() -> None:
    session = Session()
    session.tracker.see(0, request("Read", {"file_path": "/a.py"}), 1, request=None, asked=None)

    (step,) = session.facts().steps

    assert (step.request, step.result, step.call, step.content) == (0, None, 1, "")


def test_only_the_first_answer_makes_the_step() -> None:
    session = Session()
    session.do("Read", {"file_path": "/a.py"}, "x = 1")
    stub = Part("tool", "tool_result", "receipt:Read", "[cleared]", "Read", "c0")
    session.tracker.see(9, stub, 5, request=0, asked=request("Read", {"file_path": "/a.py"}, "c0"))

    (step,) = session.facts().steps

    assert (step.result, step.content) == (1, digest("x = 1"))


@pytest.mark.parametrize(
    ("tool", "changes"),
    [
        ("cancel_reservation", True),
        ("mcp__github__create_issue", True),
        ("sendEmail", True),
        ("get_order_details", False),
        ("list_orders_to_cancel", False),
        ("think", False),
        ("submit", False),
        ("transfer_to_human_agents", False),
    ],
)
def test_the_first_verb_of_a_tools_name_tells_whether_it_changes_something(tool: str, changes: bool) -> None:
    assert changes_by_name(tool) is changes


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m x",
        "cd /r\ngit push",
        "gh pr create --fill",
        "python - <<'E'\nopen('a.txt', \"w\").write('x')\nE",
        "perl -pi -e s/a/b/ $FILES",
    ],
)
def test_commands_that_change_more_than_the_files_they_name_are_writes(command: str) -> None:
    session = Session()

    session.do("bash", {"command": command})

    assert session.facts().steps[0].writes


def test_a_plan_is_no_write() -> None:
    session = Session()

    session.do("TodoWrite", {"todos": []})

    assert session.facts().steps[0].writes == ()


def test_a_fault_is_the_line_that_names_the_failure_without_its_numbers() -> None:
    first = "Traceback:\n  File \"a\", line 2\nModuleNotFoundError: No module named 'erfa'\nexit code: 1"
    second = "ran 3 of 9\nModuleNotFoundError: No module named 'erfa'\n"

    assert fault_of(first) == fault_of(second) == digest("ModuleNotFoundError: No module named 'erfa'")
    assert fault_of("exit code: 1") == ""


def test_scrolling_and_waiting_are_polls() -> None:
    session = Session()

    session.do("BashOutput", {"bash_id": "1"})
    session.do("Read", {"file_path": "/a.py"})

    assert [step.is_poll for step in session.facts().steps] == [True, False]


@pytest.mark.parametrize(
    "text",
    [
        "The file content I read is no longer in my context, so I read it again.",
        "It seems the earlier output was evicted from my context.",
        "The tool result has been cleared to save context, let me re-run it.",
        "I've read this file twice already.",
        "The previous output is gone.",
        "Der Inhalt ist nicht mehr im Kontext.",
        "Le fichier n'est plus dans le contexte ; plus dans le contexte.",
        "Ya no veo el contenido del archivo.",
        "O arquivo não está mais no contexto.",
        "Я больше не вижу этот файл.",
        "文件内容已经不在上下文中，需要重新读取。",
        "内容はもうコンテキストにありません。",
    ],
)
def test_an_output_that_lost_sight_of_what_it_read_is_remarked(text: str) -> None:
    tracker = FactsTracker()

    tracker.output(7, [says(text)])

    (remark,) = tracker.finish().remarks
    assert (remark.call, remark.kind) == (7, "lost_sight")


@pytest.mark.parametrize(
    "text",
    [
        "The cache evicted the entry because its time to live had passed.",
        "I removed the unused import and the output is empty, as it should be.",
        "This option is no longer supported; the list is now empty.",
        "I already read this file earlier.",
        "Run the tests twice.",
        "The old handler is gone and the results are sorted.",
    ],
)
def test_talk_about_the_task_is_not_taken_for_lost_sight(text: str) -> None:
    tracker = FactsTracker()

    tracker.output(7, [says(text)])

    assert tracker.finish().remarks == []


def test_a_receipt_quoted_in_arguments_is_misread_only_while_it_is_there() -> None:
    receipt = "[Old tool result content cleared]"
    tracker = FactsTracker()
    tracker.see(4, Part("tool", "tool_result", "receipt:Read", receipt), 3, request=None, asked=None)

    tracker.output(5, [request("Write", {"file_path": "/a.py", "content": receipt})])
    tracker.output(6, [says(f"The answer now reads {receipt}.")])
    tracker.drop(4, 7)
    tracker.output(7, [request("Write", {"file_path": "/a.py", "content": receipt})])

    assert tracker.finish().remarks == [Remark(5, "receipt_misread", "4")]


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("The total is $400.", "answer"),
        ("Which of the two flights do you prefer?", "question"),
        ("Once you provide these details, I can complete the booking.", "question"),
        ("Unfortunately, basic economy tickets cannot be changed.", "refusal"),
        ("YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON.", "hand_over"),
        ("请提供您的订单号？", "question"),
        ("很抱歉，无法退款。", "refusal"),
    ],
)
def test_the_last_words_are_an_answer_a_question_a_refusal_or_a_hand_over(text: str, ending: str) -> None:
    assert ending_of(text) == ending


def test_a_goodbye_leaves_what_was_said_before() -> None:
    assert ending_of("You're welcome! Have a great day!", before="refusal") == "refusal"
    assert ending_of("You're welcome! Have a great day!", before="answer") == "answer"


def test_a_goodbye_that_waits_for_something_is_a_question() -> None:
    assert ending_of("You're welcome! Once you have the ID, I can help.", before="answer") == "question"


def test_a_long_text_with_an_offer_at_its_end_is_an_answer() -> None:
    assert ending_of("The parser fails on tabs. " * 80 + "Would you like me to fix it?") == "answer"


def test_a_tool_that_hands_in_a_text_is_an_answer_and_an_empty_submit_is_not() -> None:
    tracker = FactsTracker()

    tracker.output(1, [says("Done, I hand in."), request("submit", {})])
    before = tracker.finish().ending
    tracker.output(2, [request("submit", {"command": "submit flag{x}"})])

    assert (before, tracker.finish().ending) == ("tool_call", "answer")


def test_what_the_last_output_is_to_change_is_noted() -> None:
    tracker = FactsTracker()

    tracker.output(1, [request("Write", {"file_path": "/a.py", "content": "x"})])

    assert tracker.finish().last_writes == (digest("/a.py"),)


@pytest.mark.parametrize(
    "text",
    [
        "I'd like to change my flight to Monday.",
        "Please fix the bug in the parser.",
        "Could you help me cancel my order?",
        "Add a test for the empty list.",
        "Bitte lösche die alte Datei.",
        "请帮我取消订单",
    ],
)
def test_a_person_who_asks_for_a_change_is_noted(text: str) -> None:
    session = Session()

    session.user(text, call=3)

    assert session.facts().change_asked == 3


@pytest.mark.parametrize(
    "text",
    [
        "How many suitcases may I take?",
        "What does this function return?",
        "Explain the change in commit 3, please.",
        "Do not make any changes, and write me a report on the update policy.",
        "Find out where the cancel fee is computed.",
    ],
)
def test_a_person_who_asks_for_no_change_is_not(text: str) -> None:
    session = Session()

    session.user(text)

    assert session.facts().change_asked == 0


def test_a_change_that_was_taken_back_is_not_asked_for() -> None:
    session = Session()

    session.user("I want to cancel my order.", call=1)
    session.user("In that case I'd like to keep my current order as it is.", call=4)

    assert session.facts().change_asked == 0


def test_outputs_that_say_the_same_again_are_echoes_until_a_tool_is_called() -> None:
    tracker = FactsTracker()

    tracker.output(1, [says(WORDS)])
    tracker.output(2, [says("You are welcome.")])
    tracker.output(3, [says(WORDS.replace("trip", "flight"))])
    tracker.output(4, [request("think", {})])
    tracker.output(5, [says(WORDS)])

    (echo,) = tracker.finish().echoes
    assert echo == Echo(3, 2, 16 / 18)


@given(st.text(), st.sampled_from(["lost_sight", "refusal", "request", "change_asked", "goodbye"]))
def test_any_text_can_be_searched_for_phrases(text: str, topic: str) -> None:
    assert isinstance(phrase_in(plain(text), topic), str)  # type: ignore[arg-type]  # sampled literals


@given(st.text(max_size=40), st.text(max_size=80), st.text(max_size=80))
def test_any_tool_call_makes_one_step(tool: str, arguments: str, answer: str) -> None:
    session = Session()

    session.do(tool, arguments, answer)

    assert len(session.facts().steps) == 1
