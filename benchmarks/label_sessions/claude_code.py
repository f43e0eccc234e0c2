"""Load Claude Code sessions: responses over several lines, forks by parentUuid, compactions.

    line 4   assistant A, message.id m1, block text       } one output, named "4:0"
    line 5   assistant A, message.id m1, block tool_use x }
    line 6   user, tool_result of x      parent: line 5
    line 7   assistant, message.id m1, block tool_use y     still the output of line 4
    line 8   user, tool_result of y
    line 9   assistant, message.id m2    parent: line 8     sees lines 4-8

What an output saw is its chain of parents, and the results of every call on that chain: parallel
results hang off the line of their own call and are no ancestors of the next output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ctxheap.heap.model import Part

from .jsonish import Mapping, blocks, jsonl, mapping, text
from .messages import message_parts
from .turns import Placed, Track, Turn

HARNESS_MARKS = (
    "<command-", "<local-command", "<system-reminder", "<bash-", "<user-memory", "<task-notification",
    "Caveat:", "[Request interrupted", "<ide_",
)  # fmt: skip


@dataclass(slots=True)
class _Line:
    number: int
    uuid: str
    parent: str
    message_id: str
    placed: list[Placed] = field(default_factory=list[Placed])


def claude_code(content: str, session: int) -> list[Track]:
    """Return one track for every branch of the session; branches share their past."""
    del session
    lines = _lines(jsonl(content))
    by_uuid = {line.uuid: line for line in lines if line.uuid}
    turns = _turns(lines, by_uuid)
    return [_track(path) for path in _branches(turns)]


def _lines(rows: Sequence[Mapping]) -> list[_Line]:
    names: dict[str, str] = {}
    seen: set[str] = set()
    lines: list[_Line] = []
    for number, row in enumerate(rows, start=1):
        uuid = text(row.get("uuid"))
        if not uuid or uuid in seen:
            continue
        seen.add(uuid)
        parent = text(row.get("parentUuid")) or text(row.get("logicalParentUuid"))
        message = mapping(row.get("message"))
        line = _Line(number, uuid, parent, text(message.get("id")))
        line.placed = _placed(number, row, message, names)
        lines.append(line)
    return lines


def _placed(number: int, row: Mapping, message: Mapping, names: dict[str, str]) -> list[Placed]:
    if row.get("type") == "system" and row.get("subtype") == "compact_boundary":
        return [Placed("boundary", Part("system", "text", "framing"))]
    if row.get("type") not in ("user", "assistant"):
        return []
    return [
        Placed(f"{number}:{place}", _tagged(part, row))
        for place, block in enumerate(blocks(message.get("content")))
        for part in message_parts({**message, "content": [block]}, names=names)
    ]


def _tagged(part: Part, row: Mapping) -> Part:
    if part.tag != "user_turn":
        return part
    if row.get("isCompactSummary"):
        return Part("user", "text", "summary", text=part.text)
    if row.get("isMeta") or part.text.lstrip().startswith(HARNESS_MARKS):
        return Part("user", "text", "harness:claude_code", text=part.text)
    return part


@dataclass(slots=True)
class _Response:
    """Hold one response, all its lines, and the response whose prompt it continues."""

    lines: list[_Line]
    seen: list[_Line]
    before: _Response | None = None
    compacted: bool = False
    last: bool = True


def _turns(lines: Sequence[_Line], by_uuid: dict[str, _Line]) -> list[_Response]:
    responses: dict[str, _Response] = {}
    results = _results_by_response(lines, by_uuid)
    for line in lines:
        if not _is_own(line):
            continue
        key = line.message_id or line.uuid
        if key in responses:
            responses[key].lines.append(line)
        else:
            responses[key] = _opened(line, by_uuid, responses, results)
    return list(responses.values())


def _is_own(line: _Line) -> bool:
    return bool(line.placed) and line.placed[0].part.role == "assistant"


def _results_by_response(lines: Sequence[_Line], by_uuid: dict[str, _Line]) -> dict[str, list[_Line]]:
    found: dict[str, list[_Line]] = {}
    for line in lines:
        parent = by_uuid.get(line.parent)
        if parent and _is_own(parent) and any(p.part.kind == "tool_result" for p in line.placed):
            found.setdefault(parent.message_id or parent.uuid, []).append(line)
    return found


def _opened(
    line: _Line,
    by_uuid: dict[str, _Line],
    responses: dict[str, _Response],
    results: dict[str, list[_Line]],
) -> _Response:
    """Return the response that starts with this line and what came in since the one before."""
    seen: dict[int, _Line] = {}
    response = _Response(lines=[line], seen=[])
    above = by_uuid.get(line.parent)
    while above and not _is_own(above):
        if not response.compacted:
            seen[above.number] = above
        response.compacted |= any(placed.key == "boundary" for placed in above.placed)
        above = by_uuid.get(above.parent)
    if above:
        key = above.message_id or above.uuid
        response.before = responses.get(key)
        if response.before:
            response.before.last = False
        if not response.compacted:
            late = [found for found in results.get(key, []) if found.number < line.number]
            seen.update({found.number: found for found in late})
    response.seen = [seen[number] for number in sorted(seen)]
    return response


def _branches(responses: Sequence[_Response]) -> list[list[_Response]]:
    paths: list[list[_Response]] = []
    for leaf in (response for response in responses if response.last):
        path = [leaf]
        while path[-1].before:
            path.append(path[-1].before)
        paths.append(path[::-1])
    return paths


def _track(path: Sequence[_Response]) -> Track:
    track: Track = []
    resident: list[str] = []
    own: list[Placed] = []
    for response in path:
        dropped = tuple(resident) if response.compacted else ()
        resident = [] if response.compacted else resident
        news = [placed for line in response.seen for placed in line.placed if placed.key != "boundary"]
        seen = news if response.compacted else own + news
        resident.extend(placed.key for placed in seen)
        own = [placed for line in response.lines for placed in line.placed]
        output = tuple(placed.part for placed in own)
        track.append(Turn(key=own[0].key, seen=tuple(seen), output=output, dropped=dropped))
    return track
