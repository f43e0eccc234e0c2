"""Read the YAML of a policy file: no aliases, no key twice, no types but those of JSON."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, cast

import yaml
from yaml.events import AliasEvent

from ctxheap.reclaim.policy_keys import PolicyError, shown

if TYPE_CHECKING:
    from yaml.events import Event
    from yaml.nodes import MappingNode, Node

_LETTERS = 400
_TIMESTAMP = "tag:yaml.org,2002:timestamp"
# What PyYAML's own conversions let out, as of a number of too many digits; it nests calls as a file
# nests lists.
_FAULTS = (
    yaml.YAMLError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


class _Loader(yaml.SafeLoader):
    """Read a document whose size is that of its text."""

    # A date is text here, as in JSON.
    yaml_implicit_resolvers = {  # noqa: RUF012 -- PyYAML's own name for it
        first: [(tag, pattern) for tag, pattern in found if tag != _TIMESTAMP]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        """Return the next node; an alias is refused, since nine of them can stand for a billion items."""
        if self.check_event(AliasEvent):
            event = cast("Event", self.peek_event())  # type: ignore[no-untyped-call]  # the stubs leave it out
            line = event.start_mark.line + 1 if event.start_mark else 0
            raise PolicyError(f"line {line}: an alias (*); write what it stands for")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Hashable, object]:
        """Return a mapping whose keys stand once each."""
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)  # pyright: ignore[reportUnknownMemberType] -- the same
            if not isinstance(key, str):
                line = key_node.start_mark.line + 1
                raise PolicyError(f"line {line}: {shown(key)} as a key; text is wanted")
            if key in seen:
                raise PolicyError(
                    f"line {key_node.start_mark.line + 1}: {shown(key)} stands twice; leave one out"
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def parse(text: str) -> object:
    """Return what a document holds; raises `PolicyError` where it is no document or an empty one."""
    try:
        found = yaml.load(text, _Loader)  # noqa: S506 -- a SafeLoader
    except PolicyError:
        raise
    except RecursionError as error:
        raise PolicyError("nested too deep: a policy has lists in lists in mappings, no more") from error
    except _FAULTS as error:
        raise PolicyError(f"no YAML: {str(error)[:_LETTERS]}") from error
    if found is None:
        raise PolicyError("nothing in it; a policy that frees nothing is `version: 1`")
    return found
