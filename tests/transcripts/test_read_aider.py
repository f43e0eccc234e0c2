"""Check the reader of aider's chat histories; none that may be passed on was at hand."""

from __future__ import annotations

from pathlib import Path

from ctxheap.heap.model import Usage
from ctxheap_collector.transcripts.detect import read_all
from transcripts.written import grows, read_file, tags, texts

HISTORY = """
# aider chat started at 2024-12-07 12:00:00

> Aider v0.69.0
> Main model: claude-3-5-sonnet-20241022 with diff edit format

#### add a test
#### for the parser

I will add one:

```python
# a comment
```

> Tokens: 3.2k sent, 1,024 cache write, 2.0k cache hit, 110 received. Cost: $0.01 message, $0.01 session.
> Applied edit to test.py

#### thanks

You are welcome.

# aider chat started at 2024-12-08 12:00:00

#### hello

Hi.
> Tokens: 1.5M sent, 3 received.
"""


def test_answers_are_calls_with_aiders_own_rounded_counts(tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(HISTORY, encoding="utf-8")

    name, calls, skipped = read_file(path)

    assert (name, skipped) == ("aider", [])
    assert [call.usage for call in calls] == [
        Usage(uncached=176, cache_read=2000, cache_write_5m=1024, output=110),
        None,
        Usage(uncached=1_500_000, output=3),
    ]
    assert [call.implied for call in calls] == [False, True, False]
    assert [call.session.rpartition("#")[2] for call in calls] == ["1", "1", "2"]
    assert {(call.model, call.provider) for call in calls} == {("claude-3-5-sonnet-20241022", "anthropic")}
    assert tags(calls[1].prompt) == ["system_prompt", "user_turn", "agent_output", "user_turn"]
    assert texts(calls[0].output) == ["I will add one:\n\n```python\n# a comment\n```"]
    assert texts(calls[0].prompt)[1] == "add a test\nfor the parser"
    assert grows(calls[:2])


def test_histories_are_found_in_folders_and_half_a_line_waits(tmp_path: Path) -> None:
    (tmp_path / ".aider.chat.history.md").write_text(HISTORY + "#### mo", encoding="utf-8")
    (tmp_path / "README.md").write_text("# something else\n", encoding="utf-8")
    (tmp_path / "empty.md").write_text("# aider chat started at 2024-12-07 12:00:00\n", encoding="utf-8")

    readings = list(read_all([str(tmp_path)]))
    calls = [len(list(reading.exchanges)) for reading in readings]

    assert [reading.format for reading in readings] == ["aider", "aider"]
    assert calls == [3, 0]
    assert [[item.reason for item in reading.source.skipped] for reading in readings] == [
        ["truncated"],
        ["no answer of a model, so no call"],
    ]
