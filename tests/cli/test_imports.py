"""Check that a run imports no heavy package that it can do without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CODE = """
import sys
from ctxheap_collector.cli.main import main
code = main()
heavy = {"rich", "genai_prices", "opentelemetry", "httpx", "asyncio"}
print(*sorted(heavy & set(sys.modules)), file=sys.stderr)
sys.exit(code)
"""
CHAT = '{"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]}'


def imported(folder: Path, *arguments: str) -> str:
    (folder / "chat.json").write_text(CHAT, "utf-8")
    command = [sys.executable, "-c", CODE, "profile", *arguments, str(folder / "chat.json")]
    environment = {**os.environ, "CTXHEAP_CACHE": str(folder / "cache")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stderr.strip()


def test_json_needs_no_rich_and_a_second_run_no_price_list(tmp_path: Path) -> None:
    first = imported(tmp_path, "--json")
    second = imported(tmp_path, "--json")
    report = imported(tmp_path)

    assert (second, report) == ("", "rich")
    assert "rich" not in first
    assert "opentelemetry" not in first
