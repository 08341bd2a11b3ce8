"""What time it is, as something that tests can move."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol

from geneva_drive import checks
from geneva_drive.durations import Duration


class Clock(Protocol):
    """Tells the moment that schedules are measured by."""

    def now(self) -> datetime: ...


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class ShiftedClock:
    """Another clock, moved by a span that may grow."""

    def __init__(self, clock: Clock, shift: timedelta) -> None:
        self._clock = clock
        self._shift = shift

    def now(self) -> datetime:
        return self._clock.now() + self._shift

    def advance(self, span: Duration | str) -> None:
        """Move it on by a timedelta, seconds, or text such as '1d'; a negative timedelta, back."""
        self._shift += shift_of("advance", span)


def shift_of(caller: str, span: Duration | str) -> timedelta:
    """Read how far a clock is to be moved."""
    # A timedelta may be negative: tests may go back in time.
    return span if isinstance(span, timedelta) else checks.duration(f"{caller}()", span)
