"""Learn from agent frameworks what the wire cannot say: whose call it is, and what was retrieved."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from types import ModuleType
from typing import Any, cast

from ctxheap.capture.guard import guarded
from ctxheap.capture.patch import Function, Patches

_LANGCHAIN_CONFIG = "langchain_core.runnables.config"
_THREAD_KEYS = ("thread_id", "session_id", "conversation_id")


@guarded("frameworks.session", "")
def session_of_framework() -> str:
    """Return the thread of the LangGraph or LangChain run around a call, "" outside of one.

    Nothing is patched for it: the run's configuration stands in a context variable of LangChain's.
    """
    variable = getattr(sys.modules.get(_LANGCHAIN_CONFIG), "var_child_runnable_config", None)
    config = variable.get() if variable is not None else None
    if not isinstance(config, Mapping):
        return ""
    for part in ("configurable", "metadata"):
        known = cast("Mapping[str, object]", config).get(part)
        if isinstance(known, Mapping):
            for key in _THREAD_KEYS:
                if named := cast("Mapping[str, object]", known).get(key):
                    return str(named)
    return ""


def patch_langchain(module: ModuleType, patches: Patches) -> None:
    """Tag what LangChain's retrievers return."""
    patches.wrap(module.BaseRetriever, "invoke", _tagging)
    patches.wrap(module.BaseRetriever, "ainvoke", _tagging_async)


def patch_llama_index(module: ModuleType, patches: Patches) -> None:
    """Tag what LlamaIndex's retrievers return."""
    patches.wrap(module.BaseRetriever, "retrieve", _tagging)
    patches.wrap(module.BaseRetriever, "aretrieve", _tagging_async)


def _tagging(original: Function) -> Function:
    def retrieve(retriever: object, *args: Any, **options: Any) -> Any:
        documents = original(retriever, *args, **options)
        _tag(retriever, documents)
        return documents

    return retrieve


def _tagging_async(original: Callable[..., Awaitable[Any]]) -> Function:
    async def retrieve(retriever: object, *args: Any, **options: Any) -> Any:
        documents = await original(retriever, *args, **options)
        _tag(retriever, documents)
        return documents

    return retrieve


@guarded("frameworks.tag", None)
def _tag(retriever: object, documents: object) -> None:
    from ctxheap.instrument import tag  # noqa: PLC0415 -- it imports us

    name = getattr(retriever, "name", None)
    tag(documents, f"retrieval:{name if isinstance(name, str) and name else type(retriever).__name__}")
