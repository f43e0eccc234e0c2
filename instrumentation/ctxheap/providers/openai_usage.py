"""Normalise the usage of OpenAI-compatible endpoints into disjoint input classes (SPEC 3.1)."""

from __future__ import annotations

from ctxheap.heap.model import Usage
from ctxheap.providers.json_fields import Fields, fields, string, tokens

# The last of each is Ollama's.
_INPUT_KEYS = ("prompt_tokens", "input_tokens", "prompt_eval_count")
_OUTPUT_KEYS = ("completion_tokens", "output_tokens", "eval_count")
_ANTHROPIC_KEYS = ("cache_read_input_tokens", "cache_creation_input_tokens")
# DeepSeek's and Moonshot's own names; Anthropic's are what LiteLLM passes on.
_READ_KEYS = ("cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens")
_WRITE_DETAIL_KEYS = ("cache_write_tokens", "cache_creation_tokens")


def reports_usage(raw: object) -> bool:
    """Say whether a `usage` value holds counts at all; streams without usage send null or {}."""
    usage = fields(raw)
    return any(usage.get(key) is not None for key in (*_INPUT_KEYS, *_OUTPUT_KEYS, "total_tokens"))


def usage_of(raw: object, *, service_tier: str = "") -> Usage:
    """Return the usage of a Chat Completions or Responses body; missing and odd fields count as 0.

    The input total holds what the cache served and what was written to it. So it does beside Anthropic's
    fields as LiteLLM passes them on: cached + written + rest = `prompt_tokens` at every call of OpenHands'
    files. Only Anthropic's own `input_tokens`, and a total too small to hold its cache fields, exclude them.
    """
    usage = fields(raw)
    output, reasoning = _output(usage)
    uncached, read, written, written_1h = _input(usage)
    return Usage(
        uncached=uncached,
        cache_read=read,
        cache_write_5m=written - written_1h,
        cache_write_1h=written_1h,
        output=output,
        reasoning=reasoning,
        service_tier=service_tier or string(usage.get("service_tier")),
    )


def _input(usage: Fields) -> tuple[int, int, int, int]:
    details = fields(usage.get("prompt_tokens_details")) or fields(usage.get("input_tokens_details"))
    total = _total_input(usage)
    read = max(_largest(usage, _READ_KEYS), tokens(details.get("cached_tokens")))
    written, written_1h = _written(usage, details)
    if _excludes_cache(usage, total, read + written):
        return total, read, written, written_1h
    read = min(read, total)
    written = min(written, total - read)
    return total - read - written, read, written, min(written, written_1h)


def _excludes_cache(usage: Fields, total: int, cached: int) -> bool:
    if all(usage.get(key) is None for key in _ANTHROPIC_KEYS):
        return False
    is_native = usage.get("prompt_tokens") is None and usage.get("input_tokens_details") is None
    return is_native or total < cached


def _total_input(usage: Fields) -> int:
    for key in _INPUT_KEYS:
        if usage.get(key) is not None:
            return tokens(usage[key])
    return max(0, tokens(usage.get("total_tokens")) - _largest(usage, _OUTPUT_KEYS))


def _written(usage: Fields, details: Fields) -> tuple[int, int]:
    """Return the tokens written to the cache, and those of them that stay an hour."""
    written = max(tokens(usage.get("cache_creation_input_tokens")), _largest(details, _WRITE_DETAIL_KEYS))
    lifetimes = fields(usage.get("cache_creation")) or fields(details.get("cache_creation_token_details"))
    an_hour = tokens(lifetimes.get("ephemeral_1h_input_tokens"))
    written = max(written, an_hour + tokens(lifetimes.get("ephemeral_5m_input_tokens")))
    return written, an_hour


def _output(usage: Fields) -> tuple[int, int]:
    output = _largest(usage, _OUTPUT_KEYS)
    details = fields(usage.get("completion_tokens_details")) or fields(usage.get("output_tokens_details"))
    reasoning = max(tokens(details.get("reasoning_tokens")), tokens(usage.get("reasoning_tokens")))
    total = tokens(usage.get("total_tokens"))
    # xAI and Gemini's compatible endpoint count reasoning beside the completion; the total tells.
    if reasoning > output or (reasoning and total == _total_input(usage) + output + reasoning):
        output += reasoning
    return output, reasoning


def _largest(usage: Fields, keys: tuple[str, ...]) -> int:
    return max(tokens(usage.get(key)) for key in keys)
