"""Read and write reclaim policies: which objects may be freed, how, and when (SPEC 8).

version: 1
trigger: on_demand            on_demand | economic | eager
budget_tokens: 120000         or budget_share: 0.6 of the window less the output's room
window_tokens: 200000         without it the model's own
reserve_tokens: 0             room kept for the output
keep_recent_calls: 3
minor_calls: 4                age at which an object is young no more
max_compactions: 5            bound on compactions of a session
cache:                        what is assumed of the prompt cache
  ttl_seconds: 300
  expected_calls: 40          R, the calls to come, where nothing better is known
pins:                         what stays, whatever the rules say
  - tags: [user_turn]
    contains: never touch production
rules:                        in order; the first that fits an object decides
  - action: evict             dedupe | truncate | evict | pin | compact
    match: {tags: ["tool_result:*"], tools: [grep], signature: 3f9a…}
    when: {superseded: true, idle_calls: 12, min_tokens: 500}
    max_tokens: 10000         of truncate
    reason: searches nobody looked at again
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Literal, cast, get_args

from ctxheap.heap.model import Part
from ctxheap.reclaim.policy_keys import Keys
from ctxheap.reclaim.policy_keys import PolicyError as PolicyError  # noqa: PLC0414 -- offered from here

Action = Literal["dedupe", "truncate", "evict", "pin", "compact"]
Trigger = Literal["on_demand", "economic", "eager"]
Generation = Literal["young", "old"]

VERSION: Final = 1
TRUNCATE_TOKENS: Final = 10_000
KEEP_RECENT_CALLS: Final = 3
MINOR_CALLS: Final = 4
WINDOW_TOKENS: Final = 200_000
BUDGET_SHARE: Final = 0.5
EXPECTED_CALLS: Final = 40
MAX_COMPACTIONS: Final = 5
READS: Final = ("Read", "read_file", "view_file", "open_file")


@dataclass(frozen=True, slots=True)
class Match:
    """Choose objects; every condition that is given must hold.

    Attributes:
        tags: Globs over the tag; one must fit. None given: any tag.
        tools: Globs over the tool's name; one must fit. None given: any tool, and none.
        signature: Signature of the leak trace (SPEC 6) that the rule was made for. Where the
            signature of an object is known it must be this one; where it is not, the globs decide.
        contains: Words that the content must hold, as they are written.
    """

    tags: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    signature: str = ""
    contains: str = ""

    def fits(self, part: Part, *, signature: str = "") -> bool:
        """Return whether an object is meant; `signature` is "" where it is not known."""
        if self.tags and not any(fnmatchcase(part.tag, glob) for glob in self.tags):
            return False
        if self.tools and not any(fnmatchcase(part.tool, glob) for glob in self.tools):
            return False
        if self.signature and signature and self.signature != signature:
            return False
        return self.contains in part.text


@dataclass(frozen=True, slots=True)
class When:
    """Say how dead an object must be; every condition that is given must hold.

    Attributes:
        superseded: Only what is surely dead: superseded, invalidated or an exact duplicate.
        older_calls: Only what was born this many calls ago or more (recency).
        idle_calls: Only what no call used for this many calls (reference counting).
        generation: `young`: reached the age of a minor collection without a use after the call that
            brought it. `old`: was used after it, and so survived (generations).
        min_tokens: Only objects of this size or more, in tokens.
    """

    superseded: bool = False
    older_calls: int = 0
    idle_calls: int = 0
    generation: Generation | None = None
    min_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Rule:
    """Hold one rule; `max_tokens` is what `truncate` leaves of an object, in tokens."""

    action: Action
    match: Match = field(default_factory=Match)
    when: When = field(default_factory=When)
    max_tokens: int = TRUNCATE_TOKENS
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CacheAssumptions:
    """Hold what is assumed of the prompt cache.

    Attributes:
        ttl_seconds: How long a prefix lives after it was last sent; None: an hour where the session
            stores for an hour, else five minutes.
        expected_calls: R, the calls to come, where nothing better is known.
        minimum_tokens: The least prefix that is stored.
        read_factor: r, the price of cached input over the plain one; None: the model's own.
        write_factor: w, the price of input that is stored over the plain one; None: the model's own.
    """

    ttl_seconds: int | None = None
    expected_calls: int = EXPECTED_CALLS
    minimum_tokens: int = 0
    read_factor: float | None = None
    write_factor: float | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """Hold a policy: rules in order, pins, and when to act.

    Attributes:
        budget_tokens: The size of prompt above which `on_demand` acts, in tokens; None: by share.
        budget_share: The same as a share of the window less `reserve_tokens`, 0 to 1.
        window_tokens: The window in tokens; None: the model's own where it is known, else 200,000.
        reserve_tokens: Room that is kept for the output, in tokens.
        keep_recent_calls: Objects born in the newest calls are neither evicted nor compacted; 3 at
            least (SPEC 8). Truncation may act on them: what was not sent yet is cut for free.
        minor_calls: Age at which an object is young no more, in calls.
        idempotent_tools: Globs over tools whose newer result may replace an older one that reads
            otherwise. `dedupe` frees equal content alone without them: most repeated calls of coding
            agents return something new (SPEC 5.2).
        max_compactions: Bound on the compactions of one session.
    """

    rules: tuple[Rule, ...] = ()
    pins: tuple[Match, ...] = ()
    trigger: Trigger = "on_demand"
    budget_tokens: int | None = None
    budget_share: float = BUDGET_SHARE
    window_tokens: int | None = None
    reserve_tokens: int = 0
    keep_recent_calls: int = KEEP_RECENT_CALLS
    minor_calls: int = MINOR_CALLS
    idempotent_tools: tuple[str, ...] = ()
    max_compactions: int = MAX_COMPACTIONS
    cache: CacheAssumptions = field(default_factory=CacheAssumptions)

    @property
    def budget(self) -> int:
        """Return the budget in tokens."""
        if self.budget_tokens is not None:
            return self.budget_tokens
        return int(self.budget_share * max(0, self.window - self.reserve_tokens))

    @property
    def window(self) -> int:
        """Return the window in tokens, a usual one where the policy names none."""
        return WINDOW_TOKENS if self.window_tokens is None else self.window_tokens


def default_policy() -> Policy:
    """Return the policy that acts on the lower dead end alone: duplicates, the superseded, huge results."""
    results = Match(tags=("tool_result:*", "retrieval:*"))
    return Policy(
        rules=(
            Rule("dedupe", results, When(superseded=True), reason="superseded"),
            Rule("truncate", results, When(min_tokens=TRUNCATE_TOKENS), reason="longer than one needs"),
        ),
        idempotent_tools=READS,
    )


def load_policy(path: Path) -> Policy:
    """Return the policy of a YAML (or JSON) file.

    Raises `PolicyError` where it cannot be read, used, or where PyYAML is missing.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path}: cannot be read: {error}") from error
    try:
        return policy_from(_parse(text))
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from error


def _parse(text: str) -> object:
    try:
        from ctxheap.reclaim import policy_yaml  # noqa: PLC0415 -- only files need it, the agent's own process does not
    except ImportError as error:
        raise PolicyError('PyYAML is missing; run: pip install "ctxheap[profile]"') from error
    return policy_yaml.parse(text)


def policy_from(data: object) -> Policy:
    """Return the policy that a mapping describes; raises `PolicyError` with key, value and remedy."""
    keys = Keys("", data)
    if (version := keys.whole("version", VERSION)) != VERSION:
        raise PolicyError(f"version: {version}; this release reads version {VERSION}")
    policy = Policy(
        rules=tuple(_rule(f"rules[{i}]", item) for i, item in enumerate(keys.items("rules"))),
        pins=tuple(_match(f"pins[{i}]", item) for i, item in enumerate(keys.items("pins"))),
        trigger=_trigger(keys),
        budget_tokens=keys.whole("budget_tokens", None, least=1),
        budget_share=keys.share("budget_share", BUDGET_SHARE),
        window_tokens=keys.whole("window_tokens", None, least=1),
        reserve_tokens=keys.whole("reserve_tokens", 0),
        keep_recent_calls=keys.whole("keep_recent_calls", KEEP_RECENT_CALLS, least=KEEP_RECENT_CALLS),
        minor_calls=keys.whole("minor_calls", MINOR_CALLS, least=1),
        idempotent_tools=keys.globs("idempotent_tools"),
        max_compactions=keys.whole("max_compactions", MAX_COMPACTIONS),
        cache=_cache(keys.inner("cache")),
    )
    keys.close()
    return policy


def _rule(where: str, data: object) -> Rule:
    keys = Keys(where, data)
    rule = Rule(
        action=keys.choice("action", get_args(Action)),
        match=_match(f"{where}.match", keys.take("match", {})),
        when=_when(keys.inner("when")),
        max_tokens=keys.whole("max_tokens", TRUNCATE_TOKENS, least=1),
        reason=keys.words("reason"),
    )
    keys.close()
    return rule


def _match(where: str, data: object) -> Match:
    keys = Keys(where, data)
    match = Match(keys.globs("tags"), keys.globs("tools"), keys.words("signature"), keys.words("contains"))
    keys.close()
    return match


def _when(keys: Keys) -> When:
    when = When(
        superseded=keys.flag("superseded"),
        older_calls=keys.whole("older_calls", 0),
        idle_calls=keys.whole("idle_calls", 0),
        generation=_generation(keys),
        min_tokens=keys.whole("min_tokens", 0),
    )
    keys.close()
    return when


def _trigger(keys: Keys) -> Trigger:
    found: Trigger = keys.choice("trigger", get_args(Trigger)) if keys.has("trigger") else "on_demand"
    return found


def _generation(keys: Keys) -> Generation | None:
    found: Generation | None = (
        keys.choice("generation", get_args(Generation)) if keys.has("generation") else None
    )
    return found


def _cache(keys: Keys) -> CacheAssumptions:
    cache = CacheAssumptions(
        ttl_seconds=keys.whole("ttl_seconds", None, least=1),
        expected_calls=keys.whole("expected_calls", EXPECTED_CALLS, least=1),
        minimum_tokens=keys.whole("minimum_tokens", 0),
        read_factor=keys.factor("read_factor"),
        write_factor=keys.factor("write_factor"),
    )
    keys.close()
    return cache


def mapping_of(policy: Policy) -> dict[str, object]:
    """Return a policy as the mapping that `policy_from` reads, without what is as it is by default."""
    found = _changed(policy, Policy(), leave=("rules", "pins", "cache"))
    found |= {"cache": cache} if (cache := _changed(policy.cache, CacheAssumptions())) else {}
    found |= {"pins": [_changed(match, Match()) for match in policy.pins]} if policy.pins else {}
    return {"version": VERSION, **found, "rules": [_rule_mapping(rule) for rule in policy.rules]}


def _rule_mapping(rule: Rule) -> dict[str, object]:
    found: dict[str, object] = {"action": rule.action}
    found |= {"match": match} if (match := _changed(rule.match, Match())) else {}
    found |= {"when": when} if (when := _changed(rule.when, When())) else {}
    return found | _changed(rule, Rule(rule.action), leave=("action", "match", "when"))


def _changed(item: object, usual: object, *, leave: Sequence[str] = ()) -> dict[str, object]:
    names = cast("dict[str, object]", getattr(item, "__dataclass_fields__", {}))
    pairs = {name: cast("object", getattr(item, name)) for name in names if name not in leave}
    kept = {name: value for name, value in pairs.items() if value != getattr(usual, name)}
    return {
        name: list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value
        for name, value in kept.items()
    }
