"""Draw the pictures of the README from a real run: `make docs`."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from ctxheap_collector.report.build import profile_paths
from ctxheap_collector.report.contract import Options
from ctxheap_collector.report.sheet import Sheet, View
from ctxheap_collector.report.terminal import report

ROOT = Path(__file__).resolve().parents[1]
SESSION = ROOT / "collector" / "ctxheap_collector" / "demo" / "session.jsonl.gz"
PICTURE = ROOT / "docs" / "pictures" / "profile.svg"
WIDTH, ROWS = 108, 7
LAST_SECTION = "cache breaks"
# The picture must not fetch fonts: any monospaced one fits, the text has fixed lengths.
FONT_FACES = re.compile(r"@font-face \{.*?\}", re.DOTALL)


def main() -> None:
    """Write the picture of the demo's report, down to the largest objects."""
    profile = profile_paths([str(SESSION)], options=Options(top=ROWS, timeline=True))
    lines = report(profile, View(width=WIDTH, top=ROWS, in_colour=True))
    end = next(i for i, line in enumerate(lines) if line and line[0][0].startswith(LAST_SECTION))
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(Sheet(lines[: end - 1]), crop=False, end="")
    svg = console.export_svg(title="ctxheap demo", theme=MONOKAI, unique_id="profile")
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(FONT_FACES.sub("", svg), encoding="utf-8")


if __name__ == "__main__":
    main()
