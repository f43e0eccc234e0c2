"""Price what a call used, and tell a model's context window, offline and by date."""

from ctxheap.prices.book import PriceBook, default_book, load_book, rates, window
from ctxheap.prices.overrides import OverrideError
from ctxheap.prices.rates import Cost, Rates, cost_usd

__all__ = [
    "Cost",
    "OverrideError",
    "PriceBook",
    "Rates",
    "cost_usd",
    "default_book",
    "load_book",
    "rates",
    "window",
]
