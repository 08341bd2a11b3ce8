"""Spans of time as users write them: a timedelta, seconds, or `30s`, `15m`, `24h`."""

from __future__ import annotations

import math
import re
from datetime import timedelta

from geneva_drive.display import shown

Duration = timedelta | float | int | str  # text such as "30s"

_UNITS = {
    "ms": "milliseconds",
    "s": "seconds",
    "m": "minutes",
    "h": "hours",
    "d": "days",
}
# Databases and datetime can represent now plus this span.
_LONGEST = timedelta(days=365_000)
_TEXT = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*$")


def parse_duration(value: object) -> timedelta:
    """Return the span of time, or raise a `ValueError` with a clause that says what is wrong."""
    try:
        span = _read(value)
    except OverflowError:
        span = timedelta.max
    if span < timedelta(0):
        raise ValueError(f"{shown(value)} is negative")
    if span > _LONGEST:
        raise ValueError(f"{shown(value)} is too long a time")
    return span


def _read(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, bool):
        raise ValueError(f"{shown(value)} is not a duration")  # noqa: TRY004 - one kind of error for callers
    if isinstance(value, int | float):
        if math.isnan(value):
            raise ValueError(f"{shown(value)} is not a duration")
        return timedelta(seconds=value)
    if isinstance(value, str) and (match := _TEXT.match(value)):
        return timedelta(**{_UNITS[match[2] or "s"]: float(match[1])})
    raise ValueError(
        f"{shown(value)} is not a duration (a timedelta, seconds, or text such as '30s')"
    )


def describe(span: timedelta) -> str:
    """Return a span of time in its one or two largest units, such as '2h 5m'."""
    seconds = int(span.total_seconds())
    if seconds < 1:
        return f"{span.total_seconds() * 1000:.0f} ms"
    parts = []
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2])
