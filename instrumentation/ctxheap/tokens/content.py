"""Tell what kind of text a content is, cheaply: estimates need a factor per kind."""

from __future__ import annotations

import re
from typing import Literal

ContentClass = Literal["code", "english", "json", "chinese"]

SAMPLE_CHARS = 2_048
CHINESE_SHARE = 0.15
CODE_SHARE = 0.03

_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_JSON_OPEN = re.compile(r"\s*(?:\{\s*[\"'}]|\[\s*[\[{\"'\]\d-])")
_JSON_MARK = re.compile(r"[\"'}\]]\s*[:,]")
# Symbols, indentation, columns and numbers: what listings, paths, diffs and logs have and prose lacks.
_CODE_MARK = re.compile(r"[{}()\[\]<>=;_/\\|&*+#@$%^~`]|\n[ \t]+|[ \t]{2,}|\d{2,}")


def content_class(text: str) -> ContentClass:
    """Return the class of a text from at most three samples of it (start, middle, end).

    Listings, paths, diffs and logs count as code: tokenizers differ on symbols and indentation.
    """
    sample = _sample(text)
    size = max(len(sample), 1)
    if len(_CJK.findall(sample)) / size >= CHINESE_SHARE:
        return "chinese"
    if _JSON_OPEN.match(sample) and len(_JSON_MARK.findall(sample)) / size >= 0.01:
        return "json"
    return "code" if len(_CODE_MARK.findall(sample)) / size >= CODE_SHARE else "english"


def _sample(text: str) -> str:
    if len(text) <= 3 * SAMPLE_CHARS:
        return text
    middle = (len(text) - SAMPLE_CHARS) // 2
    return text[:SAMPLE_CHARS] + text[middle : middle + SAMPLE_CHARS] + text[-SAMPLE_CHARS:]
