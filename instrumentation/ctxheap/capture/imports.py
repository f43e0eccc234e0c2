"""Run a function once a module is imported: now, if it is already there, and without importing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, cast

from ctxheap.capture.guard import guarded

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
    from importlib.machinery import ModuleSpec

Hook = Callable[[ModuleType], None]


class ImportHooks:
    """Watch for the import of some modules; each hook runs when its module has been executed."""

    def __init__(self, hooks: Mapping[str, Hook]) -> None:
        self._hooks = {name: guarded(f"hook {name}", None)(hook) for name, hook in hooks.items()}
        self._searching: set[str] = set()

    def install(self) -> None:
        """Run the hooks of the modules that are there and watch for the others."""
        # Not a subclass of what importlib.abc has: importing that takes as long as all of ours together.
        finder = cast("MetaPathFinder", self)
        if finder not in sys.meta_path:
            sys.meta_path.insert(0, finder)
        for name, hook in self._hooks.items():
            module = sys.modules.get(name)
            spec = getattr(module, "__spec__", None)
            # One that is just being imported is not whole yet.
            if module is not None and not getattr(spec, "_initializing", False):
                hook(module)

    def uninstall(self) -> None:
        """Watch no more."""
        finder = cast("MetaPathFinder", self)
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that the other finders give, its loader telling us when it is done."""
        del path, target
        if fullname not in self._hooks or fullname in self._searching:
            return None
        from importlib.util import find_spec  # noqa: PLC0415 -- only where something is hooked

        self._searching.add(fullname)
        try:
            spec = find_spec(fullname)
        finally:
            self._searching.discard(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _Telling(spec.loader, self._hooks[fullname]))
        return spec


class _Telling:
    """Load as the other loader does, then call a hook."""

    def __init__(self, loader: Loader, hook: Callable[[ModuleType], object]) -> None:
        self._loader = loader
        self._hook = hook

    def __getattr__(self, name: str) -> object:
        """Return what else the loader has: resources, sources."""
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module as the other loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, give it its own loader back, and call the hook."""
        self._loader.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._hook(module)
