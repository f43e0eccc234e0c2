"""Read moatless: `trajectory.json` of its tree search, and the older `trajs/*.json` of its state machine.

    trajectory.json  nodes[].completions.{build_action, execute_action}: {"input", "response", "usage"}
    trajs/*.json     transitions[].actions[]: {"action", "output", "input_tokens", "output_tokens"}

In a tree every call holds its whole input; what an action asks a model for on its own (`execute_action`) is a
session with the agent as parent, and so is every further child of a node. The state machine builds a prompt
for each state and writes it nowhere: what is known of it is the task and the state's own earlier answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ctxheap.heap.model import Exchange, Part, Usage
from ctxheap.heap.tags import result_parts
from ctxheap.providers import openai
from ctxheap.providers.json_fields import EMPTY, Fields, fields, items, json_text, objects, string, tokens
from ctxheap_collector.transcripts.conversation import Conversations
from ctxheap_collector.transcripts.message_lists import elements, skip_odd_counts, stem_of
from ctxheap_collector.transcripts.source import Head, Source
from ctxheap_collector.transcripts.wire import ANTHROPIC, OPENAI, provider_of, provider_on

FORMAT = "moatless"

_TREE_OPENING = Part("system", "hidden", "system_prompt", where="not in the trajectory: tool definitions")
_STATE_OPENING = Part(
    "system", "hidden", "system_prompt", where="not in the trajectory: system prompt, code, tool definitions"
)
_NO_ANSWER = frozenset({"Pending", "Finished", "Rejected"})


def looks_like(head: Head) -> bool:
    """Say whether the source is a tree of nodes with completions, or a list of transitions with actions."""
    document = fields(head.document)
    return _is_tree(document) or _is_machine(document)


def _is_tree(document: Fields) -> bool:
    nodes = objects(document.get("nodes")) or objects([document.get("root")])
    return any("node_id" in node and "completions" in node for node in nodes[:5])


def _is_machine(document: Fields) -> bool:
    steps = objects(document.get("transitions"))
    return "initial_message" in document and all("actions" in step for step in steps[:5])


def read(source: Source) -> Iterator[Exchange]:
    """Yield the calls of a trajectory in the order in which its nodes or transitions were made."""
    for _, value in elements(source):
        document = fields(value)
        about = fields(document.get("metadata")) or fields(document.get("info"))
        session = string(about.get("instance_id")) or stem_of(source)
        made = _Tree(source, session, document) if _is_tree(document) else _Machine(source, session, document)
        count = 0
        for exchange in made.calls():
            count += 1
            yield exchange
        if not count:
            source.skip(0, f"{session}: no answer of a model, so no call")


class _Tree:
    def __init__(self, source: Source, session: str, document: Fields) -> None:
        self._source = source
        self._session = session
        self._document = document
        self._conversations = Conversations()
        self._sessions: dict[str, str] = {}
        self._has_child: set[str] = set()
        prompt = string(fields(document.get("agent")).get("system_prompt"))
        own = [Part("system", "text", "system_prompt", prompt, where="agent.system_prompt")] if prompt else []
        self._opening = [_TREE_OPENING, *own]

    def calls(self) -> Iterator[Exchange]:
        """Yield the calls of all nodes."""
        for node in _nodes(self._document):
            session, parent = self._place(node)
            for name, value in fields(node.get("completions")).items():
                is_own = name == "build_action"
                where = f"node {node.get('node_id')}: {name}"
                owner = (session, parent) if is_own else (f"{session}/{name}/{node.get('node_id')}", session)
                yield from self._call(fields(value), owner, where, is_own=is_own)

    def _place(self, node: Fields) -> tuple[str, str | None]:
        """Return session and parent of a node: the first child of a node goes on, the others are forks."""
        node_id, parent_id = str(node.get("node_id")), str(node.get("parent_id"))
        parent = self._sessions.get(parent_id, self._session)
        is_fork = node.get("parent_id") is not None and parent_id in self._has_child
        self._has_child.add(parent_id)
        session = f"{self._session}/node-{node_id}" if is_fork else parent
        self._sessions[node_id] = session
        return session, parent if is_fork else None if session == self._session else self._session

    def _call(
        self, completion: Fields, owner: tuple[str, str | None], where: str, *, is_own: bool
    ) -> Iterator[Exchange]:
        response = fields(completion.get("response"))
        messages = items(completion.get("input"))
        if not messages or not response:
            self._source.skip(0, f"{where} holds no {'response' if messages else 'input'}")
            return
        wire = ANTHROPIC if response.get("type") == "message" or "choices" not in response else OPENAI
        conversation = self._conversations.of(wire, messages)
        prompt = conversation.parts(messages)
        answers = (
            [response] if wire is ANTHROPIC else [choice.get("message") for choice in _choices(response)]
        )
        output = [part for item in answers for part in conversation.answer(item, where=where)]
        conversation.remember(output)
        raw = response.get("usage") or completion.get("usage")
        skip_odd_counts(self._source, 0, raw, f"{where}: usage")
        model = string(response.get("model")) or string(completion.get("model"))
        yield Exchange(
            call_id=string(response.get("id")) or f"{self._session}/{where}",
            prompt=(*(self._opening if is_own else self._opening[:1]), *prompt),
            output=tuple(output),
            session=owner[0],
            parent=owner[1],
            agent="" if is_own else where.rpartition(" ")[2],
            model=model,
            provider=provider_on(wire, model),
            usage=wire.usage_of(raw) if openai.reports_usage(raw) else None,
        )


def _choices(response: Fields) -> list[Fields]:
    return objects(response.get("choices"))


def _nodes(document: Fields) -> Iterator[Fields]:
    """Yield nodes, listed or nested, parents first."""
    waiting = objects(document.get("nodes")) or objects([document.get("root")])
    while waiting:
        node = waiting.pop(0)
        yield node
        waiting = [*objects(node.get("children")), *waiting]


@dataclass(slots=True)
class _State:
    """Hold what is known of the prompts of one kind of state: answers and what came of them."""

    session: str
    parent: str | None
    past: list[Part] = field(default_factory=list[Part])


class _Machine:
    def __init__(self, source: Source, session: str, document: Fields) -> None:
        self._source = source
        self._session = session
        self._document = document
        self._states: dict[str, _State] = {}
        task = string(document.get("initial_message"))
        told = openai.message_parts({"role": "user", "content": task}, tools={}, where="initial_message")
        self._opening = [_STATE_OPENING, *told]

    def calls(self) -> Iterator[Exchange]:
        """Yield one call for each action."""
        for number, step in enumerate(objects(self._document.get("transitions"))):
            name = string(step.get("name"))
            actions = objects(step.get("actions"))
            if not actions and name not in _NO_ANSWER:
                self._source.skip(0, f"transition {number} ({name}): no action")
            yield from self._step(number, name, fields(step.get("state")), actions)

    def _step(self, number: int, name: str, told: Fields, actions: list[Fields]) -> Iterator[Exchange]:
        state = self._state(name)
        remembered = list(state.past) if told.get("include_message_history") is True else []
        model = string(told.get("model"))
        for index, action in enumerate(actions):
            where = f"transitions:{number}:{index}"
            skip_odd_counts(self._source, 0, action, where)
            call_id = f"{self._session}/{number}:{index}"
            output = _asked(action, name, call_id, where)
            yield Exchange(
                call_id=call_id,
                prompt=(*self._opening, *remembered),
                output=tuple(output),
                session=state.session,
                parent=state.parent,
                agent=name,
                model=model,
                provider=provider_of(model),
                usage=_usage(action),
                incomplete=True,
            )
            remembered += [*output, *_came_of_it(action, name, call_id, where)]
            state.past += remembered[-2:]

    def _state(self, name: str) -> _State:
        if name not in self._states:
            first = next(iter(self._states.values()), None)
            parent = first.session if first else None
            self._states[name] = _State(f"{self._session}/{name}", parent)
        return self._states[name]


def _asked(action: Fields, name: str, call_id: str, where: str) -> list[Part]:
    text = json_text(action.get("action", EMPTY))
    return [Part("assistant", "tool_call", f"tool_call:{name}", text, name, call_id, where=where)]


def _came_of_it(action: Fields, name: str, call_id: str, where: str) -> list[Part]:
    retry = string(action.get("retry_message"))
    text = retry or json_text(action.get("output") or EMPTY)
    return result_parts(text, tool=name, call_id=call_id, error=bool(retry), where=where)[:1]


def _usage(action: Fields) -> Usage | None:
    if action.get("input_tokens") is None:
        return None
    return Usage(uncached=tokens(action.get("input_tokens")), output=tokens(action.get("output_tokens")))
