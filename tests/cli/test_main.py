"""Check the command line as a process: quick to start, light to import, quiet when it must end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.worlds import FakeProfiler, Pipe
from ctxheap import __version__
from ctxheap_collector.cli.demo import NEXT, show
from ctxheap_collector.cli.main import build_parser, main
from ctxheap_collector.cli.world import World
from report.samples import profile

TESTS = Path(__file__).parents[1]
# Where a shell started the tests in the background, SIGINT is ignored and children inherit that.
SLEEPER = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from ctxheap_collector.cli.main import main
from ctxheap_collector.cli.world import World
def profiler(paths, *, options, progress=None):
    print("reading", flush=True)
    time.sleep(60)
sys.exit(main(["profile", "a"], world=World(profiler=profiler)))
"""
WRITER = """
import sys
from report.samples import profile
from ctxheap_collector.cli.main import main
from ctxheap_collector.cli.world import World
sys.exit(main(["profile", "a", *sys.argv[1:]], world=World(profiler=lambda paths, **_: profile())))
"""
BASE_INSTALL = """
import sys
sys.modules.update(dict.fromkeys(("rich", "genai_prices")))
from ctxheap_collector.cli.main import main
from ctxheap_collector.cli.world import World
sys.exit(main(["profile", "a"], world=World(is_installed=lambda name: sys.modules.get(name, 0) is not None)))
"""
IMPORTS = """
import sys
from ctxheap_collector.cli.main import build_parser
build_parser().format_help()
print(*sorted({"rich", "orjson", "tiktoken", "genai_prices", "opentelemetry"} & set(sys.modules)))
"""


def python(code: str, *argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert (ended.value.code, capsys.readouterr().out) == (0, f"ctxheap {__version__}\n")


@pytest.mark.parametrize("command", [[], ["profile"]])
def test_help_shows_examples(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])

    assert ended.value.code == 0
    assert "examples:\n  ctxheap " in capsys.readouterr().out


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["profile", "--top", "-1"], ["profile", "--nonsense"]])
def test_wrong_use_ends_with_code_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv)

    assert ended.value.code == 2
    assert "usage: ctxheap" in capsys.readouterr().err


def test_help_imports_nothing_heavy() -> None:
    out, _ = python(IMPORTS).communicate()

    assert out == "\n"


def test_base_install_says_what_to_install() -> None:
    process = python(BASE_INSTALL)
    out, err = process.communicate()

    assert (process.returncode, out) == (2, "")
    assert 'pip install "ctxheap[profile]"' in err


def test_parser_is_made_at_once() -> None:
    began = time.process_time()
    build_parser().format_help()

    assert time.process_time() - began < 0.15


def test_interrupt_of_the_process_leaves_one_line_and_code_130() -> None:
    process = python(SLEEPER)
    assert process.stdout is not None
    assert process.stdout.readline() == "reading\n"

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)

    assert (process.returncode, out, err) == (130, "", "ctxheap: interrupted\n")


@pytest.mark.parametrize("form", ["--json", "--top=0"])
def test_reader_that_leaves_early_hears_no_complaint(form: str) -> None:
    process = python(WRITER, form)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()

    code = process.wait(timeout=20)
    err = process.stderr.read()
    process.stderr.close()

    assert (code, err) == (0, "")


def test_demo_shows_a_report_and_what_to_do_next(tmp_path: Path) -> None:
    out = Pipe()
    profiler = FakeProfiler(profile())

    show("session.jsonl.gz", World(out=out, env={}, home=tmp_path, profiler=profiler))

    out.seek(0)
    words = out.read()
    assert words.startswith("session 7f3a9c12")
    assert words.endswith(NEXT)


def entry(*argv: str, close: int) -> subprocess.CompletedProcess[str]:
    """Run the command line as a process that finds one of its streams closed."""
    program = "import sys; from ctxheap_collector.cli.entry import main; sys.exit(main())"
    command = f'exec "$0" -c "$1" {" ".join(argv)} {close}>&-'
    return subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, program], capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(sys.platform == "win32", reason="closes streams the way a POSIX shell does")
@pytest.mark.parametrize(
    ("close", "words"), [(0, "standard input is closed"), (1, "standard output is closed")]
)
def test_closed_stream_is_named(close: int, words: str) -> None:
    done = entry("profile", "-", close=close)

    assert (done.returncode, done.stderr) == (2, f"ctxheap: {words}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_full_disk_is_named_and_is_nobodys_bug() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", WRITER],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=TESTS,
        )

    assert (done.returncode, done.stderr) == (2, "ctxheap: writing the output: No space left on device\n")


def test_interrupt_while_importing_leaves_one_line_and_code_130() -> None:
    program = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'ctxheap_collector.cli.main': raise KeyboardInterrupt\n"
        "from ctxheap_collector.cli.entry import main\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "sys.exit(main())\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (130, "ctxheap: interrupted\n")
