"""The intake never blocks, drops whole calls when full, survives its worker, and starts anew in a child."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from ctxheap.capture.guard import faults
from ctxheap.capture.intake import Intake, Weighed


@dataclass(frozen=True)
class Item:
    name: str
    weight: int = 10


def intake(handle: Callable[[Weighed], None], *, max_bytes: int = 1_000) -> Intake:
    return Intake(handle, warm=lambda _: None, idle=lambda _: None, max_bytes=max_bytes)


def _waiting(gate: threading.Event) -> Callable[[Weighed], None]:
    def handle(item: Weighed) -> None:
        del item
        gate.wait(30)

    return handle


def test_items_are_handled_in_order_on_another_thread() -> None:
    seen: list[tuple[Weighed, bool]] = []
    made = intake(lambda item: seen.append((item, threading.current_thread() is threading.main_thread())))

    assert all(made.offer(Item(name)) for name in "abc")
    assert made.stop(30)

    assert seen == [(Item("a"), False), (Item("b"), False), (Item("c"), False)]


def test_overload_drops_whole_items_and_counts_them() -> None:
    gate = threading.Event()
    made = intake(_waiting(gate), max_bytes=25)

    taken = [made.offer(Item(name)) for name in "abcd"]
    gate.set()
    assert made.stop(30)

    assert taken == [True, True, False, False]
    assert (made.counts.taken, made.counts.dropped) == (2, 2)


def test_room_is_free_again_once_an_item_is_done() -> None:
    made = intake(lambda _: None, max_bytes=10)

    taken = [made.offer(Item("a")), made.flush(30), made.offer(Item("b"))]
    made.stop(30)

    assert taken == [True, True, True]


def test_faults_lose_one_item_and_are_counted() -> None:
    class Panic(BaseException):
        pass

    def handle(item: Weighed) -> None:
        if item == Item("bad"):
            raise Panic

    made = intake(handle)
    before = faults.counts["worker"]

    for name in ("a", "bad", "b"):
        made.offer(Item(name))
    assert made.stop(30)

    assert (made.counts.taken, made.counts.lost) == (3, 1)
    assert faults.counts["worker"] == before + 1


def test_worker_that_died_is_started_again() -> None:
    seen: list[Weighed] = []
    made = intake(seen.append)
    made.offer(Item("a"))
    made.stop(30)
    _wait(lambda: "ctxheap" not in [thread.name for thread in threading.enumerate()])

    made.offer(Item("b"))
    assert made.stop(30)

    assert seen == [Item("a"), Item("b")]
    assert made.counts.restarts == 1


def test_offering_takes_no_time_while_the_worker_is_busy() -> None:
    gate = threading.Event()
    made = intake(_waiting(gate), max_bytes=10_000_000)
    made.offer(Item("first"))

    started = time.perf_counter()
    for _ in range(1_000):
        made.offer(Item("more"))
    took = time.perf_counter() - started
    gate.set()
    made.stop(30)

    assert took < 0.2


def test_end_of_time_is_told_not_waited_for() -> None:
    gate = threading.Event()
    made = intake(_waiting(gate))
    made.offer(Item("slow"))

    assert not made.flush(0.05)
    gate.set()
    assert made.stop(30)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_child_starts_with_an_empty_intake_of_its_own() -> None:
    gate = threading.Event()
    made = intake(_waiting(gate), max_bytes=25)
    made.offer(Item("parent's"))
    made.offer(Item("parent's"))
    child = os.fork()
    if child == 0:
        made.after_fork()
        gate.set()
        is_taken = made.offer(Item("child's")) and made.flush(30)
        os._exit(0 if is_taken and made.counts.taken == 1 else 1)

    _, status = os.waitpid(child, 0)
    gate.set()
    assert made.stop(30)

    assert os.waitstatus_to_exitcode(status) == 0
    assert made.counts.taken == 2


def _wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not until() and time.monotonic() < end:
        time.sleep(0.01)
    assert until()
