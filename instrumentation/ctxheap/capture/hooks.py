"""List the libraries that are hooked; each is patched when the application imports it, or now."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import cast

from ctxheap.capture.imports import Hook, ImportHooks
from ctxheap.capture.patch import Patches

_HOOKED = {
    "httpx": "httpx_hook:patch",
    "httpx2": "httpx_hook:patch",
    "aiohttp": "aiohttp_hook:patch",
    "urllib3": "urllib3_hook:patch",
    "langchain_core.retrievers": "frameworks:patch_langchain",
    "llama_index.core.base.base_retriever": "frameworks:patch_llama_index",
}


def import_hooks(patches: Patches) -> ImportHooks:
    """Return what patches every library, as far as it is imported."""
    return ImportHooks({name: _hook(path, patches) for name, path in _HOOKED.items()})


def _hook(path: str, patches: Patches) -> Hook:
    file, _, function = path.partition(":")

    def patch(module: ModuleType) -> None:
        # Cannot be imported once the interpreter ends, and then the first spans of a short program may wait.
        import_module("concurrent.futures.thread")
        hook = import_module(f"ctxheap.capture.{file}")
        cast("Callable[[ModuleType, Patches], None]", getattr(hook, function))(module, patches)

    return patch
