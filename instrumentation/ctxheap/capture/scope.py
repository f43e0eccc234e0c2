"""Hold what the application says about its calls and texts, in the caller's own context."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scope:
    """Say whose call it is; "" where the application says nothing.

    Attributes:
        session: Explicit session id.
        agent: Name of the agent.
        parent: Session that started this one.
        activity: What the agent is doing besides its task, such as `compaction`.
    """

    session: str = ""
    agent: str = ""
    parent: str = ""
    activity: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """Say what some texts are; with an empty tag, that they are pinned."""

    texts: tuple[str, ...]
    tag: str = ""

    @property
    def weight(self) -> int:
        """Return about how many bytes it keeps alive."""
        return 500 + sum(map(len, self.texts))


NOTHING = Scope()

scope: ContextVar[Scope] = ContextVar("ctxheap_scope", default=NOTHING)
inside: ContextVar[bool] = ContextVar("ctxheap_inside", default=False)
"""Whether a hook further out already captures this call: one HTTP library may sit on another."""
