"""`ctxheap run` reports the calls of an unchanged program and of those it starts; nothing else changes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from capture.otlp import Collected, collecting
from capture.server import Server, serving

pytest.importorskip("httpx")
AGENT = str(Path(__file__).with_name("agent.py"))
RUN = [sys.executable, "-c", "from ctxheap_collector.cli.main import main; raise SystemExit(main())", "run"]


@pytest.fixture
def server() -> Generator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def collected() -> Generator[Collected]:
    with collecting() as running:
        yield running


def _run(collected: Collected, *command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, "--service", "coder", "--endpoint", collected.url, "--", *command],
        env={**os.environ, "OTEL_METRICS_EXPORTER": "none", "CTXHEAP_EXIT_SECONDS": "60", **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_calls_of_an_unchanged_program_are_reported(server: Server, collected: Collected) -> None:
    done = _run(collected, sys.executable, AGENT, server.url)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split()[1:] == ["Two."]
    assert [(span["name"], span["service"], span["ctxheap.tokens.total"]) for span in collected.spans] == [
        ("chat gpt-4o", "coder", 100),
        ("chat gpt-4o", "coder", 100),
    ]
    assert len({span["gen_ai.conversation.id"] for span in collected.spans}) == 1


def test_calls_of_programs_below_are_reported(server: Server, collected: Collected) -> None:
    code = f"import subprocess, sys; subprocess.run([sys.executable, {AGENT!r}, {server.url!r}], check=True)"

    done = _run(collected, sys.executable, "-c", code)

    assert (done.returncode, done.stderr) == (0, "")
    assert len(collected.spans) == 2


def test_forked_workers_report_their_calls(server: Server, collected: Collected, tmp_path: Path) -> None:
    script = tmp_path / "workers.py"
    script.write_text(
        "import multiprocessing, sys, httpx\n"
        "def call(n):\n"
        f"    httpx.post('{server.url}/chat/completions', json={{'model': 'm',"
        " 'messages': [{'role': 'user', 'content': f'question {n}'}]})\n"
        "if __name__ == '__main__':\n"
        "    call(0)\n"
        "    made = [multiprocessing.get_context('fork').Process(target=call, args=(n,)) for n in (1, 2)]\n"
        "    [each.start() for each in made]\n"
        "    [each.join() for each in made]\n"
    )

    done = _run(collected, sys.executable, str(script))

    assert done.returncode == 0
    assert len(collected.spans) == 3


def test_exit_code_is_the_programs_own(collected: Collected) -> None:
    done = _run(collected, sys.executable, "-c", "raise SystemExit(7)")

    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")


def test_dead_collector_changes_nothing_and_is_not_waited_for(server: Server) -> None:
    dead = Collected(url="http://127.0.0.1:9")

    started = time.monotonic()
    done = _run(dead, sys.executable, AGENT, server.url, CTXHEAP_EXIT_SECONDS="1")
    took = time.monotonic() - started

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split()[1:] == ["Two."]
    assert took < 30


def test_sitecustomize_of_the_host_still_runs(collected: Collected, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.host_was_here = True\n")

    done = _run(collected, sys.executable, "-c", "print(host_was_here)", PYTHONPATH=str(tmp_path))

    assert (done.stdout, done.stderr) == ("True\n", "")


def test_program_that_is_not_there_is_named(collected: Collected) -> None:
    done = _run(collected, "no-such-program")

    assert (done.returncode, done.stdout) == (2, "")
    assert "no-such-program: no such program" in done.stderr
