"""Profile the context of LLM agents as a heap."""

from ctxheap._version import __version__

__all__ = ["__version__"]
