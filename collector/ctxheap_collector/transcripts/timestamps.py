"""Read times as transcripts have them (seconds, milliseconds, text) as nanoseconds since the epoch."""

from __future__ import annotations

from datetime import UTC, datetime

_MILLISECONDS_FROM = 1e11  # as seconds that would be the year 5138

# A zone can carry a time out of the years that can be written.
_END_NS = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp()) * 1_000_000_000
_ABSURD_FROM = 1e21  # later than that even in nanoseconds


def epoch_ns(value: object) -> int | None:
    """Return a time as nanoseconds since the epoch, None when it is none; text without a zone is UTC."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _from_number(value)
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    nanoseconds = ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1_000
    return nanoseconds if 0 <= nanoseconds < _END_NS else None


def _from_number(number: float) -> int | None:
    # Integers can be too large for a float, so they are compared before anything is done with them.
    if not 0 < number < _ABSURD_FROM:
        return None
    while number >= _MILLISECONDS_FROM:
        number /= 1_000
    return round(number * 1_000_000) * 1_000
