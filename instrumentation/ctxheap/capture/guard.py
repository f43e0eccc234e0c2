"""Keep our faults from the host: one guard wraps every entry point.

A fault is counted, logged once a site, and swallowed; `strict` lets it through, for tests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
D = TypeVar("D")


class Faults:
    """Count our own faults by site; `strict` re-raises them."""

    def __init__(self) -> None:
        self.strict = False
        self.counts: Counter[str] = Counter()

    def note(self, site: str, error: BaseException) -> None:
        """Count a fault, and log the first one of a site."""
        self.counts[site] += 1
        if self.counts[site] == 1:
            _log(site, error)


def _log(site: str, error: BaseException) -> None:
    import logging  # noqa: PLC0415 -- not needed while all is well

    logger = logging.getLogger("ctxheap")
    if not logger.handlers:
        # Without a handler of its own the message would go to the host's standard error.
        logger.addHandler(logging.NullHandler())
    logger.warning("ctxheap failed in %s and goes on without: %r", site, error, exc_info=error)


faults = Faults()


def guarded(site: str, otherwise: D) -> Callable[[Callable[P, R]], Callable[P, R | D]]:
    """Return a decorator that turns every fault of a function into `otherwise`."""

    def decorate(function: Callable[P, R]) -> Callable[P, R | D]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R | D:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                faults.note(site, error)
                if faults.strict:
                    raise
                return otherwise

        return call

    return decorate
