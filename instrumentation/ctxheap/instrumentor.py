"""Offer the capture to `opentelemetry-instrument`, which finds it by the entry point `ctxheap`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxheap.instrument import instrument, uninstrument

if TYPE_CHECKING:
    from collections.abc import Collection


class CtxheapInstrumentor:
    """Switch the capture on and off as OpenTelemetry's instrumentors are.

    It has their methods and none of their base class, which is in a package that we do not need.
    """

    def instrumentation_dependencies(self) -> Collection[str]:
        """Return nothing: any HTTP library will do."""
        return ()

    def instrument(self, **options: Any) -> None:
        """Capture from now on; takes `tracer_provider` and `meter_provider`."""
        instrument(
            tracer_provider=options.get("tracer_provider"), meter_provider=options.get("meter_provider")
        )

    def uninstrument(self, **options: Any) -> None:
        """Restore everything."""
        del options
        uninstrument()
