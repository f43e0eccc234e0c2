"""Plant foreign paragraphs in a recorded agent's system prompt and see which are called unused.

    benchmarks/paragraphs.py [--data FILE] [--json]

Prints, for the agent's own paragraphs and for the planted ones, in how many sessions an output took
something up, and which are called unused.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ctxheap.analysis.study import study
from ctxheap.analysis.upstream import Paragraph, never_taken_up, prompt_paragraphs
from ctxheap.heap.model import Exchange, Part
from ctxheap_collector.report.build import heaps_of
from ctxheap_collector.transcripts.detect import read_all

ROOT = Path(__file__).resolve().parents[1]
SESSIONS = ROOT.parent / "shared/data/tau-bench/historical_trajectories/gpt-4o-airline.json"
PLANTED = (
    (
        "## PDF export\n- Reports are exported as PDF with the layout template named by the tenant; embed"
        " fonts, set the page margins to 20 mm and number the pages from the second."
    ),
    (
        "- When the database migration fails, restore the snapshot from the replica, run the schema checker"
        " and reopen the incident channel before any retry of the batch job."
    ),
    (
        "- SIM cards: for an unlocked phone, toggle airplane mode, reseat the SIM card, check the APN"
        " settings and the roaming status before you raise the data usage limit of the line."
    ),
    (
        "- Gift cards can be used for exchange of delivered items when the product variant is of the same"
        " type and the price difference is paid by the original payment method."
    ),
)


def main() -> int:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=SESSIONS, help="recorded sessions with a system prompt")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if not options.data.is_file():
        print(f"skipped: {options.data.name} of the shared corpus is not there", file=sys.stderr)
        return 0
    heaps = heaps_of(planted(options.data))
    show(prompt_paragraphs(study(heap, lambda _call: None) for heap in heaps), as_json=options.json)
    return 0


def planted(path: Path) -> Iterator[Exchange]:
    """Yield the exchanges of a file with the foreign paragraphs behind every system prompt."""
    known: dict[bytes, Part] = {}
    for reading in read_all([str(path)]):
        for exchange in reading.exchanges:
            yield replace(exchange, prompt=[with_planted(part, known) for part in exchange.prompt])


def with_planted(part: Part, known: dict[bytes, Part]) -> Part:
    """Return a part, the same one each time; a system prompt with the foreign paragraphs."""
    if part.tag != "system_prompt" or part.kind != "text":
        return part
    if part.identity not in known:
        text = "\n\n".join((part.text, *PLANTED))
        known[part.identity] = replace(part, text=text, identity=b"")
    return known[part.identity]


def show(paragraphs: Sequence[Paragraph], *, as_json: bool) -> None:
    """Print the figures for a machine or for a person."""
    openings = {" ".join(text.split())[:30] for text in PLANTED}
    unused = {each.digest for each in never_taken_up(paragraphs)}
    groups = {
        "planted": [each for each in paragraphs if each.title[:30] in openings],
        "own": [each for each in paragraphs if each.title[:30] not in openings],
    }
    figures = {
        name: {
            "paragraphs": len(members),
            "called_unused": sum(each.digest in unused for each in members),
            "never_taken_up": sum(each.sessions_used == 0 for each in members),
            "sessions_used": {each.title: each.sessions_used for each in members},
        }
        for name, members in groups.items()
    }
    print(json.dumps(figures, indent=None if as_json else 2))


if __name__ == "__main__":
    sys.exit(main())
