"""Profile the context of LLM agents as a heap."""

from ctxheap._version import __version__
from ctxheap.instrument import activity, instrument, pin, session, tag, uninstrument

__all__ = ["__version__", "activity", "instrument", "pin", "session", "tag", "uninstrument"]
