"""Find which conversation a line of a Claude Code transcript continues, by `parentUuid` and `sessionId`.

parent is the newest line of its conversation → that conversation
parent is an older line, a response lies between → a fork: a session that shares the past up to there
parent is in another conversation → a resumed session (shares its past) or a sub-agent (does not)
parent is unknown → the newest conversation with the same ids, or a new one
"""

from __future__ import annotations

from collections.abc import Callable

from ctxheap.providers.json_fields import Fields, fields, items, string
from ctxheap_collector.transcripts.claude_code_branch import Branch, Key, Segment

Skip = Callable[[int, str], None]
Position = tuple[Segment, int]

_CONTENT_TYPES = frozenset({"user", "assistant", "system", "attachment"})


class Chains:
    """Hold the conversations of one file and where in them its lines stand."""

    def __init__(self, *, fallback_session: str, agent_of: Callable[[Fields], str]) -> None:
        self.branches: list[Branch] = []
        self._fallback_session = fallback_session
        self._agent_of = agent_of
        self._positions: dict[str, Position] = {}
        self._tips: dict[Key, Branch] = {}

    def has(self, uuid: str) -> bool:
        """Say whether a line was there before."""
        return uuid in self._positions

    def place(self, uuid: str, branch: Branch) -> None:
        """Remember that a line stands at the end of a conversation."""
        if uuid:
            self._positions[uuid] = (branch.segment, branch.segment.epoch)

    def epoch_of(self, uuid: str, branch: Branch) -> int | None:
        """Return the epoch of a line in the running context of a conversation, None when it is not there."""
        segment, epoch = self._positions.get(uuid, (None, 0))
        return epoch if segment is branch.segment else None

    def branch_of(self, line: Fields, kind: str, number: int, skip: Skip) -> Branch | None:
        """Return the conversation of a line; None for a line that belongs to none and adds nothing."""
        key = self._key(line)
        parent = string(line.get("parentUuid")) or string(line.get("logicalParentUuid"))
        position = self._positions.get(parent)
        if position is not None:
            return self._follow(position, key, line, kind)
        tip = self._tips.get(key)
        if kind not in _CONTENT_TYPES and (tip is not None or "uuid" not in line):
            return tip
        if tip is None or _is_new_sidechain(tip, line, kind, parent):
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
        # A compaction leaves lines that still point at the end of the context before it.
        is_open = segment in (owner.segment, owner.before) and epoch >= segment.answered
        if is_open or not _steps_back(owner, line, kind):
            return owner
        return self._fork(owner, position, key, line)

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
            branch = Branch(key, f"{session}/{name}", session, self._agent_of(line))
        if skip is not None:
            branch.is_incomplete = True
            skip(number, "the line before it is not in the file: the prompt is not whole")
        return self._add(branch)

    def _add(self, branch: Branch) -> Branch:
        self._tips[branch.key] = branch
        self.branches.append(branch)
        return branch


def _steps_back(owner: Branch, line: Fields, kind: str) -> bool:
    """Say whether a line that continues an older one than the newest is a step back in the conversation."""
    message = fields(line.get("message"))
    if kind == "assistant":
        return response_key(message, line) not in owner.answered
    return kind == "user" and not has_tool_result(message) and not line.get("isCompactSummary")


def _is_new_sidechain(tip: Branch, line: Fields, kind: str, parent: str) -> bool:
    """Say whether a line opens another of the sub-agents that share a file without having ids."""
    _, is_child, agent_id = tip.key
    return is_child and not agent_id and not parent and _starts_anew(line, kind)


def _starts_anew(line: Fields, kind: str) -> bool:
    return kind == "user" and "parentUuid" in line and not line.get("isCompactSummary")


def response_key(message: Fields, line: Fields) -> str:
    """Return what all lines of one response share; "" when they have no ids."""
    return string(message.get("id")) or string(line.get("requestId"))


def has_tool_result(message: Fields) -> bool:
    """Say whether a message answers a tool call, rather than being something that somebody wrote."""
    return any(string(fields(block).get("type")) == "tool_result" for block in items(message.get("content")))
