"""Name and fill the attributes of an inference span: the GenAI conventions' and ours (docs/attributes.md)."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ctxheap.heap.live import Snapshot
from ctxheap.heap.model import Exchange, Part, Usage
from ctxheap.heap.tags import KINDS, kind_of
from ctxheap.providers.json_fields import Fields
from ctxheap.telemetry.content import Content
from ctxheap.telemetry.packed import Birth, Classes, Dead, PackedHeap, Used, encode
from ctxheap.telemetry.record import Inference

Value = str | bool | int | float | bytes | Sequence[str] | Sequence[int]
Attributes = dict[str, Value]

MAX_TAGS = 64
OTHER = "other"
_PARAMETERS = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "max_tokens": "gen_ai.request.max_tokens",
    "max_completion_tokens": "gen_ai.request.max_tokens",
    "max_output_tokens": "gen_ai.request.max_tokens",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "seed": "gen_ai.request.seed",
    "stream": "gen_ai.request.stream",
}


@dataclass(frozen=True, slots=True)
class Tags:
    """Hold billed input tokens by tag; `total` is their sum."""

    tokens: Mapping[str, int]
    total: int

    def by_kind(self) -> Counter[str]:
        """Return tokens by kind."""
        kinds: Counter[str] = Counter()
        for tag, tokens in self.tokens.items():
            kinds[kind_of(tag)] += tokens
        return kinds


def tags_of(snapshot: Snapshot) -> Tags:
    """Return who owns the input of a call."""
    tokens: dict[str, int] = {}
    objects = snapshot.objects
    for number, count in zip(snapshot.call.numbers, snapshot.call.tokens, strict=True):
        tag = objects[number].tag
        tokens[tag] = tokens.get(tag, 0) + count
    if snapshot.split.framing:
        tokens["framing"] = snapshot.split.framing
    if snapshot.split.unattributed:
        tokens["unattributed"] = snapshot.split.unattributed
    return Tags(tokens, sum(tokens.values()))


def request_attributes(inference: Inference) -> Attributes:
    """Return what is known of a call before anything is read: who and where."""
    call = inference.call
    found: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": call.endpoint.provider or _provider(call.endpoint.format),
        "server.address": call.endpoint.server,
        "ctxheap.attempts": call.attempts,
    }
    if call.endpoint.port:
        found["server.port"] = call.endpoint.port
    if call.model:
        found["gen_ai.request.model"] = call.model
    if call.scope.session:
        found["gen_ai.conversation.id"] = call.scope.session
    if call.scope.agent:
        found["gen_ai.agent.name"] = call.scope.agent
    if call.failures:
        found["ctxheap.failed_attempts"] = call.failures
    if call.scope.activity:
        found["ctxheap.activity"] = call.scope.activity
    if error := error_of(inference):
        found["error.type"] = error
    return found


def error_of(inference: Inference) -> str:
    """Return what failed: an exception's name or an HTTP status, "" for a call that went well."""
    call = inference.call
    if call.error:
        return call.error
    if call.status and not call.is_answered:
        return str(call.status)
    return ""


def _provider(format_name: str) -> str:
    return {"anthropic": "anthropic", "gemini": "gcp.gemini", "bedrock": "aws.bedrock"}.get(
        format_name, "openai"
    )


def response_attributes(inference: Inference) -> Attributes:
    """Return what the request and the response say, usage apart."""
    reading, exchange = inference.reading, inference.exchange
    if reading is None or exchange is None:
        return {}
    found: Attributes = dict(_parameters(reading.parameters))
    texts: dict[str, str | Sequence[str]] = {
        "gen_ai.request.model": reading.request_model,
        "gen_ai.response.model": exchange.model,
        "gen_ai.response.id": reading.exchange.call_id,
        "gen_ai.response.finish_reasons": reading.finish_reasons,
        "gen_ai.request.previous_response.id": reading.chain.previous,
        "gen_ai.conversation.id": exchange.session,
        "gen_ai.agent.name": exchange.agent,
        "ctxheap.session.parent": inference.parent,
    }
    found.update((name, text) for name, text in texts.items() if text)
    if inference.call.first_ns and reading.parameters.get("stream"):
        waited = inference.call.first_ns - inference.call.started_ns
        found["gen_ai.response.time_to_first_chunk"] = waited / 1e9
    return found


def _parameters(request: Fields) -> Iterator[tuple[str, Value]]:
    for key, name in _PARAMETERS.items():
        value = request.get(key)
        if isinstance(value, bool | int | float):
            yield name, value


def usage_attributes(usage: Usage | None) -> Attributes:
    """Return the usage, cache included in the input; nothing where none was reported."""
    if usage is None:
        return {}
    found: Attributes = {
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
    }
    for name, tokens in (
        ("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
        ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write),
        ("gen_ai.usage.reasoning.output_tokens", usage.reasoning),
    ):
        if tokens:
            found[name] = tokens
    return found


def heap_attributes(inference: Inference, tags: Tags, content: Content, *, as_text: bool) -> Attributes:
    """Return our own attributes: tokens by tag, data quality, and the packed heap.

    `as_text` packs as base64, for versions of the SDK that do not keep bytes.
    """
    snapshot, exchange = inference.snapshot, inference.exchange
    if snapshot is None or exchange is None:
        return {}
    kinds = tags.by_kind()
    found: Attributes = {f"ctxheap.tokens.{kind}": kinds[kind] for kind in KINDS if kinds[kind]}
    found["ctxheap.tokens.total"] = tags.total
    found["ctxheap.tokens.unattributed"] = snapshot.split.unattributed
    found["ctxheap.tokens.method"] = snapshot.split.method
    found["ctxheap.tokens.factor"] = round(snapshot.split.factor, 4)
    found["ctxheap.objects"] = len(snapshot.call.numbers)
    names, counts = _largest(tags)
    found["ctxheap.tags"], found["ctxheap.tag_tokens"] = names, counts
    if exchange.usage is None:
        found["ctxheap.usage.missing"] = True
    if exchange.incomplete:
        found["ctxheap.incomplete"] = True
    if not snapshot.split.is_plausible:
        found["ctxheap.tokens.implausible"] = True
    packed = encode(pack(inference, content))
    found["ctxheap.heap"] = base64.b64encode(packed).decode() if as_text else packed
    return found


def _largest(tags: Tags) -> tuple[list[str], list[int]]:
    ordered = sorted(tags.tokens.items(), key=lambda item: (-item[1], item[0]))
    if len(ordered) > MAX_TAGS:
        tail = sum(tokens for _, tokens in ordered[MAX_TAGS - 1 :])
        ordered = [*ordered[: MAX_TAGS - 1], (OTHER, tail)]
    return [tag for tag, _ in ordered], [tokens for _, tokens in ordered]


def pack(inference: Inference, content: Content) -> PackedHeap:
    """Return the heap of a call as it travels."""
    snapshot, exchange = inference.snapshot, inference.exchange
    if snapshot is None or exchange is None:
        raise ValueError("a call without a heap")
    call, objects, usage = snapshot.call, snapshot.objects, exchange.usage
    return PackedHeap(
        heap_id=inference.heap_id,
        call=call.number,
        usage=_classes(usage),
        numbers=call.numbers,
        tags=[objects[number].tag for number in call.numbers],
        tokens=call.tokens,
        framing=snapshot.split.framing,
        unattributed=snapshot.split.unattributed,
        births=_births(snapshot, content),
        refreshed=[(n, content.identity(bytes.fromhex(objects[n].id[:32]))) for n in inference.refreshed],
        uses=[Used(use.number, use.rule, use.score, use.grade == "probable") for use in snapshot.uses],
        dead=[Dead(each.number, each.by, each.reason) for each in snapshot.superseded],
        revived=snapshot.revived,
        extends=call.extends,
        is_exact=call.exact,
        is_incomplete=exchange.incomplete,
        is_compacted=exchange.compaction is not None,
    )


def _classes(usage: Usage | None) -> Classes | None:
    if usage is None:
        return None
    return (
        usage.uncached,
        usage.cache_read,
        usage.cache_write_5m,
        usage.cache_write_1h,
        usage.output,
        usage.reasoning,
    )


def _births(snapshot: Snapshot, content: Content) -> list[Birth]:
    calls = {part.call_id: part for part in snapshot.parts if part.kind == "tool_call"}
    births: list[Birth] = []
    for number, part in zip(snapshot.born, snapshot.parts, strict=True):
        item = snapshot.objects[number]
        _, _, occurrence = item.id.partition("#")
        name, preview = content.preview(part, calls.get(part.call_id))
        births.append(
            Birth(
                number=number,
                identity=content.identity(part.identity),
                kind=item.kind,
                occurrence=int(occurrence or 1),
                tokens=item.raw,
                answers=item.answers,
                is_pinned=item.pinned,
                is_error=item.error,
                is_known=item.known,
                name=name,
                preview=preview,
            )
        )
    return births


def content_attributes(exchange: Exchange, finish_reasons: Sequence[str], content: Content) -> Attributes:
    """Return the messages themselves; nothing unless content is captured in full."""
    if content.mode != "full":
        return {}
    system = [part for part in exchange.prompt if part.role == "system" and part.kind != "tool_definition"]
    tools = [part for part in exchange.prompt if part.kind == "tool_definition"]
    rest: list[Part] = [part for part in exchange.prompt if part.role != "system"]
    found: Attributes = {
        "gen_ai.input.messages": content.messages(rest),
        "gen_ai.output.messages": content.messages(
            exchange.output, finish_reasons[0] if finish_reasons else ""
        ),
    }
    if system:
        found["gen_ai.system_instructions"] = content.instructions(system)
    if tools:
        found["gen_ai.tool.definitions"] = content.definitions(tools)
    return found
