"""Follow the chains of a Claude Code transcript line by line and make calls of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ctxheap.heap.model import Exchange, Part, Role
from ctxheap.providers.anthropic import block_parts
from ctxheap.providers.json_fields import Fields, fields, items, string, tokens
from ctxheap_collector.transcripts.claude_code_attachments import attachment_parts
from ctxheap_collector.transcripts.claude_code_branch import Branch, Key, Response, Segment

Skip = Callable[[int, str], None]
Position = tuple[Segment, int]

_CONTENT_TYPES = frozenset({"user", "assistant", "system", "attachment"})
_SYNTHETIC = "<synthetic>"
_TASK_TOOLS = frozenset({"Task", "Agent"})
_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2}))?(?!\d)")
# Claude 4.1 and older bill the reasoning of the running turn only; since 4.5 it stays. Seen in the growth of
# billed input at new user turns: docs/formats.md has the numbers.
_KEEPS_REASONING_SINCE = (4, 5)


class Reader:
    """Turn lines into calls; content is kept for the contexts that are still open only."""

    def __init__(self, *, fallback_session: str) -> None:
        self.repeated = 0
        self._fallback_session = fallback_session
        self._positions: dict[str, Position] = {}
        self._tips: dict[Key, Branch] = {}
        self._branches: list[Branch] = []
        self._tools: dict[str, str] = {}
        self._tasks: dict[str, str] = {}
        self._finished: set[str] = set()

    def feed(self, number: int, record: object, skip: Skip) -> Iterator[Exchange]:
        """Take in one line and yield the calls that it ends."""
        line = fields(record)
        kind = string(line.get("type")) or ("assistant" if "message" in line else "")
        if not kind:
            skip(number, "no line of a transcript: " + ("no type" if line else "no object"))
            return
        if kind in ("user", "assistant") and not isinstance(line.get("message"), dict):
            skip(number, f"{kind} line without a message")
            return
        uuid = string(line.get("uuid"))
        if uuid and uuid in self._positions:
            self.repeated += 1
            return
        branch = self._branch_of(line, kind, number, skip)
        if branch is None:
            return
        yield from self._take(branch, line, kind, number, skip)
        if uuid:
            self._positions[uuid] = (branch.segment, branch.segment.epoch)

    def finish(self) -> Iterator[Exchange]:
        """Yield the calls that were still open at the end."""
        for branch in self._branches:
            yield from branch.finish_response()

    def _take(self, branch: Branch, line: Fields, kind: str, number: int, skip: Skip) -> Iterator[Exchange]:
        if kind == "assistant":
            yield from self._take_response(branch, line, number, skip)
        elif kind == "user":
            yield from self._take_input(branch, line, number)
        elif kind == "system":
            yield from self._take_system(branch, line, number)
        elif kind == "attachment":
            branch.append(attachment_parts(fields(line.get("attachment")), where=str(number)))

    # Which conversation a line belongs to.

    def _branch_of(self, line: Fields, kind: str, number: int, skip: Skip) -> Branch | None:
        key = self._key(line)
        parent = string(line.get("parentUuid")) or string(line.get("logicalParentUuid"))
        position = self._positions.get(parent)
        if position is not None:
            return self._follow(position, key, line, kind)
        tip = self._tips.get(key)
        if kind not in _CONTENT_TYPES and (tip is not None or "uuid" not in line):
            return tip
        if tip is None or self._is_new_sidechain(tip, line, kind, parent):
            return self._open(key, line, number, skip if parent and kind != "system" else None)
        if not parent and tip.is_linked and _starts_anew(line, kind):
            tip.restart()
        return tip

    def _key(self, line: Fields) -> Key:
        agent = string(line.get("agentId"))
        session = string(line.get("sessionId")) or self._fallback_session
        return (session, bool(agent) or line.get("isSidechain") is True, agent)

    def _follow(self, position: Position, key: Key, line: Fields, kind: str) -> Branch:
        segment, epoch = position
        owner = segment.branch
        if owner.key != key:
            return self._leave(owner, position, key, line)
        owner.is_linked = True
        at_tip = segment is owner.segment and epoch == segment.epoch
        # A compaction leaves lines that still point at the end of the context before it.
        at_old_tip = segment is owner.before and epoch == segment.epoch
        if at_tip or at_old_tip or not self._forks(owner, line, kind):
            return owner
        return self._fork(owner, position, key, line)

    def _forks(self, owner: Branch, line: Fields, kind: str) -> bool:
        """Say whether a line that does not continue the newest one is a step back in the conversation."""
        message = fields(line.get("message"))
        if kind == "assistant":
            key = _response_key(message, line)
            is_running = owner.response is not None and owner.response.key == key
            return not is_running and key not in self._finished
        return kind == "user" and not _has_tool_result(message) and not line.get("isCompactSummary")

    def _leave(self, owner: Branch, position: Position, key: Key, line: Fields) -> Branch:
        """Return the branch of a line that continues another conversation."""
        tip = self._tips.get(key)
        if key[1] or owner.key[1]:
            # A sub-agent's first line may point at the call that started it; its context is its own.
            return tip if tip is not None and (key[2] or not key[1]) else self._open(key, line, 0, None)
        return tip if tip is not None else self._fork(owner, position, key, line)

    def _fork(self, owner: Branch, position: Position, key: Key, line: Fields) -> Branch:
        """Return a session that shares the past of `owner` up to an epoch."""
        segment, epoch = position
        uuid = string(line.get("uuid"))[:8]
        session = key[0] if key[0] != owner.key[0] else f"{owner.key[0]}/fork-{uuid}"
        fork = Branch(key, session, owner.session, owner.agent, is_linked=True)
        fork.is_incomplete = owner.is_incomplete or not segment.parts
        if segment.parts:
            fork.segment.parts[:] = segment.until(epoch)
        return self._add(fork)

    def _open(self, key: Key, line: Fields, number: int, skip: Skip | None) -> Branch:
        session, is_child, agent_id = key
        if not is_child:
            branch = Branch(key, session)
        else:
            name = agent_id or f"sidechain-{string(line.get('uuid'))[:8]}"
            branch = Branch(key, f"{session}/{name}", session, self._agent_name(line))
        if skip is not None:
            branch.is_incomplete = True
            skip(number, "the line before it is not in the file: the prompt is not whole")
        return self._add(branch)

    def _add(self, branch: Branch) -> Branch:
        self._tips[branch.key] = branch
        self._branches.append(branch)
        return branch

    def _is_new_sidechain(self, tip: Branch, line: Fields, kind: str, parent: str) -> bool:
        """Say whether a line opens another of the sub-agents that share a file without having ids."""
        _, is_child, agent_id = tip.key
        return is_child and not agent_id and not parent and kind == "user" and "parentUuid" in line

    def _agent_name(self, line: Fields) -> str:
        for key in ("agentName", "attributionAgent", "agentType"):
            if name := string(line.get(key)):
                return name
        return self._tasks.get(_first_text(fields(line.get("message"))), "")

    # What a line adds.

    def _take_response(self, branch: Branch, line: Fields, number: int, skip: Skip) -> Iterator[Exchange]:
        message = fields(line.get("message"))
        if string(message.get("model")) == _SYNTHETIC or line.get("isApiErrorMessage") is True:
            # The client's own words to the person: nothing was billed, and they are not sent back.
            return
        key = _response_key(message, line) or f"line {number}"
        response = branch.response
        if response is None or response.key != key:
            yield from branch.finish_response()
            if key in self._finished:
                branch.append(self._parts(message, "assistant", number))
                return
            self._finished.add(key)
            response = self._begin(branch, line, key, number, skip)
        response.note_usage(message.get("usage"))
        branch.answer(self._parts(message, "assistant", number))

    def _begin(self, branch: Branch, line: Fields, key: str, number: int, skip: Skip) -> Response:
        message = fields(line.get("message"))
        model = string(message.get("model"))
        if not keeps_reasoning(model):
            branch.strip_old_reasoning()
        response = Response(key, _call_id(branch, message, line, number), model, branch.take_started(line))
        response.note_usage(message.get("usage"))
        if response.usage is not None and (count := branch.clear_unlogged(response.usage.input)):
            skip(number, f"billed input fell: {count} old tool results are taken as cleared")
        branch.begin_response(response)
        return response

    def _take_input(self, branch: Branch, line: Fields, number: int) -> Iterator[Exchange]:
        message = fields(line.get("message"))
        branch.last_input = line.get("timestamp")
        if line.get("isCompactSummary") is True:
            yield from branch.finish_response()
            where = f"{number}:0"
            branch.summarise([Part("user", "text", "summary", _first_text(message), where=where)])
            return
        if line.get("isVisibleInTranscriptOnly") is True:
            return
        parts = self._parts(message, "user", number, plain="harness:meta" if line.get("isMeta") else "")
        if any(part.tag == "user_turn" for part in parts) and not _has_tool_result(message):
            branch.begin_turn()
        branch.append(parts)

    def _take_system(self, branch: Branch, line: Fields, number: int) -> Iterator[Exchange]:
        subtype = string(line.get("subtype"))
        if subtype == "compact_boundary":
            yield from branch.finish_response()
            metadata = fields(line.get("compactMetadata"))
            before = tokens(metadata.get("preTokens")) or None
            kept = self._positions.get(string(fields(metadata.get("preservedSegment")).get("headUuid")))
            kept_from = kept[1] if kept is not None and kept[0] is branch.segment else None
            branch.compact(before, string(metadata.get("trigger")), kept_from=kept_from)
        elif subtype == "microcompact_boundary":
            cleared = items(fields(line.get("microcompactMetadata")).get("compactedToolIds"))
            branch.clear_results({string(call_id) for call_id in cleared} - {""})
        elif subtype == "local_command":
            branch.append(block_parts(line.get("content"), role="user", tools={}, where=str(number)))

    def _parts(self, message: Fields, role: Role, number: int, plain: str = "") -> list[Part]:
        content = message.get("content")
        parts: list[Part] = []
        for index, block in enumerate(items(content) or (content,)):
            where = f"{number}:{index}"
            parts += block_parts(block, role=role, tools=self._tools, where=where, plain=plain)
            self._note_task(block)
        return parts

    def _note_task(self, block: object) -> None:
        body = fields(block)
        if body.get("type") == "tool_use" and string(body.get("name")) in _TASK_TOOLS:
            task = fields(body.get("input"))
            self._tasks[string(task.get("prompt"))] = string(task.get("subagent_type"))


def keeps_reasoning(model: str) -> bool:
    """Say whether a model's input still holds the reasoning of earlier turns; unknown models are new ones."""
    version = _VERSION.search(model)
    if version is None:
        return True
    return (int(version[1]), int(version[2] or 0)) >= _KEEPS_REASONING_SINCE


def _response_key(message: Fields, line: Fields) -> str:
    return string(message.get("id")) or string(line.get("requestId"))


def _call_id(branch: Branch, message: Fields, line: Fields, number: int) -> str:
    """Return the provider's two ids, which are the same in every copy, or one that holds for the session."""
    message_id, request_id = string(message.get("id")), string(line.get("requestId"))
    return (
        f"{message_id}:{request_id}"
        if message_id and request_id
        else f"{branch.session}:{message_id or number}"
    )


def _starts_anew(line: Fields, kind: str) -> bool:
    return kind == "user" and "parentUuid" in line and not line.get("isCompactSummary")


def _has_tool_result(message: Fields) -> bool:
    return any(string(fields(block).get("type")) == "tool_result" for block in items(message.get("content")))


def _first_text(message: Fields) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, (string(fields(block).get("text")) for block in items(content))))
