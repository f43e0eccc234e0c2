"""Count tokens offline: exact engines, family factors for the models that have no public tokenizer."""

from ctxheap.tokens.content import ContentClass, content_class
from ctxheap.tokens.counter import Counter, counter_for
from ctxheap.tokens.engines import Engine, EngineName, engine, preferred_engine, preload
from ctxheap.tokens.families import Family, family_of
from ctxheap.tokens.names import normal_name
from ctxheap.tokens.vocabulary import EncodingName, RanksDamagedError

__all__ = [
    "ContentClass",
    "Counter",
    "EncodingName",
    "Engine",
    "EngineName",
    "Family",
    "RanksDamagedError",
    "content_class",
    "counter_for",
    "engine",
    "family_of",
    "normal_name",
    "preferred_engine",
    "preload",
]
