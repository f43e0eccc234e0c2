"""Bring the many spellings of a model's name to one, for every table that is keyed by it.

litellm_proxy/claude-3-5-sonnet-20241022          → claude-3-5-sonnet-20241022
us.anthropic.claude-3-5-sonnet-20241022-v2:0      → claude-3-5-sonnet-20241022
ft:gpt-4o-mini-2024-07-18:acme::abc               → gpt-4o-mini-2024-07-18
"""

from __future__ import annotations

import re

# Bedrock: an optional region, the vendor, the model, a version. DeepSeek's models need the vendor.
_BEDROCK = re.compile(
    r"^(?:(?:us|eu|ap|apac|jp|au|ca|sa|us-gov|global|regional)\.)?"
    r"(?:anthropic|openai|meta|mistral|qwen|amazon|cohere|google|ai21|moonshot|minimax|zai)\."
)
_BEDROCK_VERSION = re.compile(r"-v\d+(?::\d+)*(?::\d+k)?$")
_SUFFIX = re.compile(r"(?:\[1m\]|:(?:free|latest|beta|thinking|nitro|floor|extended|online|exacto))$")
_VERTEX_DATE = re.compile(r"@(\d{8}|default|latest)$")


def normal_name(model: str) -> str:
    """Return a model's name in lower case without route, vendor, region, version or variant marks.

    Dates stay: prices depend on them.
    """
    name = model.strip().lower().rstrip("/").rsplit("/", 1)[-1]
    if name.startswith("ft:"):
        name = name.split(":")[1]
    name = _SUFFIX.sub("", name)
    bare = _BEDROCK.sub("", name).replace("deepseek.", "deepseek-")
    if bare != name:
        name = _BEDROCK_VERSION.sub("", bare)
    return _VERTEX_DATE.sub(lambda found: f"-{found[1]}" if found[1].isdigit() else "", name)
