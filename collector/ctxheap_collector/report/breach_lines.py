"""Say breaches and bounds in words, one line each, for a log that people and programs read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ctxheap_collector.report.baseline import Uncompared
from ctxheap_collector.report.bounds import Bounds, Breach, Unknown
from ctxheap_collector.report.family import short_id
from ctxheap_collector.report.figures import plural
from ctxheap_collector.report.layout import printable

MOST_DIGITS: Final = 9


class _Form(NamedTuple):
    """Hold how a figure is called and written; what is kept as a share is written in percent."""

    name: str
    amount: str
    of: str = ""
    digits: int = 0
    scale: int = 1


_FORMS: Final = {
    "peak": _Form("peak context", "{} tokens"),
    "peak_share": _Form("peak context", "{} %", " of the window", 1, 100),
    "dead": _Form("surely dead", "{} %", " of the token-calls", 1, 100),
    "unused": _Form("without later use", "{} %", " of the token-calls", 1, 100),
    "rebill": _Form("re-bill factor", "{}", digits=1),
    "cost_usd": _Form("cost", "${}", digits=2),
    "tokens_per_call": _Form("billed", "{} tokens", " a call"),
    "growth_per_call": _Form("context growth", "{} tokens", " a call"),
    "dead_per_call": _Form("billed without later use", "{} tokens", " a call"),
}
_CAUSES: Final = {
    "cost_usd": "the price of {} is unknown: --max-cost cannot be checked in {}",
    "peak_share": "the window of {} is unknown: --max-peak PERCENT cannot be checked in {}",
}
_NAMED: Final = "--prices FILE can give it (docs/prices.md)"
_NAMELESS: Final = {
    "cost_usd": "check such sessions apart, without this bound",
    "peak_share": "bound TOKENS instead",
}


def breach_line(breach: Breach) -> str:
    """Return the session or agent, the figure, its value and its bound."""
    if breach.tag is not None:
        what = f"{breach.verdict} {printable(breach.tag)} {breach.value}, bound {breach.bound}"
        return f"{_who(breach)}: {what}: {breach.reason}"
    form = _FORMS[breach.figure]
    value = _above(float(breach.value), float(breach.bound), form)
    before = "" if breach.baseline is None else f" (baseline {_typed(breach.baseline, form)})"
    return f"{_who(breach)}: {form.name} {value}{form.of}, bound {_typed(float(breach.bound), form)}{before}"


def _who(breach: Breach) -> str:
    """Return a name that begins with a word of ours: a line of a log may start a command of the runner."""
    agent = f"agent {printable(breach.agent) or 'without a name'}"
    if not breach.session:
        return agent
    session = f"session {printable(short_id(breach.session))}"
    return f"{session} ({agent})" if breach.agent else session


def _above(value: float, bound: float, form: _Form) -> str:
    """Return a value with as many digits as it takes to see that it is above its bound."""
    value, bound = value * form.scale, bound * form.scale
    digits = range(form.digits, MOST_DIGITS)
    enough = next((count for count in digits if round(value, count) > bound), MOST_DIGITS)
    return form.amount.format(f"{value:,.{enough}f}")


def _typed(bound: float, form: _Form) -> str:
    """Return a bound as a person would type it: 30 rather than 30.0, and 3.77 in full."""
    digits = len(f"{bound * form.scale:.{MOST_DIGITS}f}".rstrip("0").partition(".")[2])
    return form.amount.format(f"{bound * form.scale:,.{max(digits, form.digits) if digits else 0}f}")


def unknown_lines(found: Sequence[Unknown]) -> Iterator[str]:
    """Yield what cannot be checked, and what to do about it, a line a model and figure."""
    for (figure, model), count in Counter((each.figure, each.model) for each in found).items():
        name = f"model {printable(model)}" if model else "a model without a name"
        cause = _CAUSES[figure].format(name, plural(count, "session"))
        yield f"{cause}; {_NAMED if model else _NAMELESS[figure]}"


def uncompared_lines(found: Sequence[Uncompared], baseline: str) -> Iterator[str]:
    """Yield what a baseline says nothing about, a line an agent."""
    for each in found:
        agent = f"agent {printable(each.agent) or 'without a name'}"
        names = ", ".join(_FORMS[name].name for name in each.figures)
        yield f"{agent}: not compared, since {printable(baseline)} lacks it: {names}"


def bounds_words(bounds: Bounds) -> list[str]:
    """Return the bounds in force ("peak context 150,000 tokens", "leaks major")."""
    values = {
        "peak": bounds.peak,
        "peak_share": bounds.peak_share,
        "dead": bounds.dead,
        "unused": bounds.unused,
        "rebill": bounds.rebill,
        "cost_usd": bounds.cost_usd,
    }
    words = [_bound(value, _FORMS[figure]) for figure, value in values.items() if value is not None]
    return words if bounds.leak is None else [*words, f"leaks {bounds.leak}"]


def _bound(value: float, form: _Form) -> str:
    return f"{form.name} {_typed(value, form)}{form.of}"
