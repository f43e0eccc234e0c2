"""Turn the lines of a Claude Code transcript into calls."""

from __future__ import annotations

import marshal
import re
from collections.abc import Iterator
from typing import cast

from ctxheap.heap.model import Exchange, Part, Role
from ctxheap.providers.anthropic import block_parts
from ctxheap.providers.json_fields import Fields, fields, items, odd_counts, string, tokens
from ctxheap_collector.transcripts.claude_code_attachments import attachment_parts
from ctxheap_collector.transcripts.claude_code_branch import Branch, Response
from ctxheap_collector.transcripts.claude_code_chains import Chains, Skip, has_tool_result, response_key
from ctxheap_collector.transcripts.source import counted

_SYNTHETIC = "<synthetic>"
_TASK_TOOLS = frozenset({"Task", "Agent"})
_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2}))?(?!\d)")
# Claude 4.1 and older bill the reasoning of the running turn only; since 4.5 it stays. Seen in the growth of
# billed input at new user turns: docs/formats.md has the numbers.
_KEEPS_REASONING_SINCE = (4, 5)


class Reader:
    """Turn lines into calls; content is kept for the contexts that are still open only.

    `fallback_session` names the session of lines that have no id, `agent` the sub-agent whose file it is.
    """

    def __init__(self, *, fallback_session: str, agent: str = "") -> None:
        self.repeated = 0
        self._agent = agent
        self._chains = Chains(fallback_session=fallback_session, agent_of=self._agent_name)
        self._tools: dict[str, str] = {}
        self._tasks: dict[str, str] = {}
        self._finished: set[str] = set()
        self._lines: set[int] = set()

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
        if uuid and self._is_repeat(uuid, line, number, skip):
            self.repeated += 1
            return
        branch = self._chains.branch_of(line, kind, number, skip)
        if branch is None:
            return
        yield from self._take(branch, line, kind, number, skip)
        self._chains.place(uuid, branch)

    def finish(self) -> Iterator[Exchange]:
        """Yield the calls that were still open at the end."""
        for branch in self._chains.branches:
            yield from branch.finish_response()

    def _is_repeat(self, uuid: str, line: Fields, number: int, skip: Skip) -> bool:
        """Say whether a line was there before; one that only has the id of another is read all the same."""
        said = hash((uuid, *_said(line)))
        if said in self._lines:
            return True
        self._lines.add(said)
        if self._chains.has(uuid):
            skip(number, "its uuid is that of an earlier line, which says something else: both are read")
        return False

    def _take(self, branch: Branch, line: Fields, kind: str, number: int, skip: Skip) -> Iterator[Exchange]:
        if kind == "assistant":
            yield from self._take_response(branch, line, number, skip)
        elif kind == "user":
            yield from self._take_input(branch, line, number)
        elif kind == "system":
            yield from self._take_system(branch, line, number)
        elif kind == "attachment":
            branch.append(attachment_parts(fields(line.get("attachment")), where=str(number)))

    def _agent_name(self, line: Fields) -> str:
        for key in ("agentName", "attributionAgent", "agentType"):
            if name := string(line.get(key)):
                return name
        return self._agent or self._tasks.get(_first_text(fields(line.get("message"))), "")

    def _take_response(self, branch: Branch, line: Fields, number: int, skip: Skip) -> Iterator[Exchange]:
        message = fields(line.get("message"))
        if string(message.get("model")) == _SYNTHETIC or line.get("isApiErrorMessage") is True:
            # The client's own words to the person: nothing was billed, and they are not sent back.
            return
        key = response_key(message, line) or f"line {number}"
        response = branch.response
        if response is None or response.key != key:
            yield from branch.finish_response()
            branch.answered.add(key)
            if key in self._finished:
                branch.append(self._parts(message, "assistant", number))
                return
            self._finished.add(key)
            response = self._begin(branch, line, key, number, skip)
        _note_usage(response, message, number, skip)
        branch.answer(self._parts(message, "assistant", number))

    def _begin(self, branch: Branch, line: Fields, key: str, number: int, skip: Skip) -> Response:
        message = fields(line.get("message"))
        model = string(message.get("model"))
        if not keeps_reasoning(model):
            branch.strip_old_reasoning()
        response = Response(key, _call_id(branch, message, line, number), model, branch.take_started(line))
        _note_usage(response, message, number, skip)
        if response.usage is not None and (count := branch.clear_unlogged(response.usage.input)):
            are_taken = counted(count, "old tool result is taken", "old tool results are taken")
            skip(number, f"billed input fell: {are_taken} as cleared")
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
        plain = _hidden_tag(branch) if line.get("isMeta") is True else ""
        parts = self._parts(message, "user", number, plain=plain)
        if parts and not has_tool_result(message):
            branch.begin_turn()
        branch.append(parts)

    def _take_system(self, branch: Branch, line: Fields, number: int) -> Iterator[Exchange]:
        subtype = string(line.get("subtype"))
        if subtype == "compact_boundary":
            yield from branch.finish_response()
            metadata = fields(line.get("compactMetadata"))
            before = tokens(metadata.get("preTokens")) or None
            head = string(fields(metadata.get("preservedSegment")).get("headUuid"))
            kept_from = self._chains.epoch_of(head, branch) if head else None
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


def _hidden_tag(branch: Branch) -> str:
    """Return the tag of words that nobody typed: behind a command's name they are what it stands for."""
    return "harness:command" if branch.segment.parts[-1].tag == "harness:command" else "harness:meta"


def _call_id(branch: Branch, message: Fields, line: Fields, number: int) -> str:
    """Return the provider's two ids, which are the same in every copy, or one that holds for the session."""
    message_id, request_id = string(message.get("id")), string(line.get("requestId"))
    return (
        f"{message_id}:{request_id}"
        if message_id and request_id
        else f"{branch.session}:{message_id or number}"
    )


def _note_usage(response: Response, message: Fields, number: int, skip: Skip) -> None:
    """Take a line's usage, and list the counts in it that cannot be right; most lines repeat the last one."""
    reported = message.get("usage")
    if reported != response.raw_usage:
        for problem in odd_counts(reported, "usage"):
            skip(number, problem)
        response.note_usage(reported)


def _said(line: Fields) -> tuple[str, str, bytes]:
    """Return what two lines have in common if they say the same, whatever session they were copied to."""
    message = fields(line.get("message"))
    content = message.get("content", line.get("content", line.get("attachment")))
    # Format 2 has no references between objects, so that equal values are equal bytes.
    told = marshal.dumps(cast("dict[str, str]", content), 2)
    return string(line.get("type")), response_key(message, line), told


def _first_text(message: Fields) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, (string(fields(block).get("text")) for block in items(content))))
