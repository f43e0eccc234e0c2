"""List the HTTP libraries that are hooked; each is patched when the application imports it, or now."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import cast

from ctxheap.capture.imports import Hook, ImportHooks
from ctxheap.capture.patch import Patches

_HOOKED = {
    "httpx": "httpx_hook",
    "httpx2": "httpx_hook",
    "aiohttp": "aiohttp_hook",
    "urllib3": "urllib3_hook",
}


def import_hooks(patches: Patches) -> ImportHooks:
    """Return what patches every library, as far as it is imported."""
    return ImportHooks({name: _hook(file, patches) for name, file in _HOOKED.items()})


def _hook(file: str, patches: Patches) -> Hook:
    def patch(module: ModuleType) -> None:
        # Cannot be imported once the interpreter ends, and then the first spans of a short program may wait.
        import_module("concurrent.futures.thread")
        hook = import_module(f"ctxheap.capture.{file}")
        cast("Callable[[ModuleType, Patches], None]", hook.patch)(module, patches)

    return patch
