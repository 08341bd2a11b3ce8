"""The clock, which tests can replace."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol

from geneva_drive import checks
from geneva_drive.durations import Duration


class Clock(Protocol):
    """Returns the moment by which the engine schedules."""

    def now(self) -> datetime: ...


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class ShiftedClock:
    """Another clock, shifted by a span."""

    def __init__(self, clock: Clock, shift: timedelta) -> None:
        self._clock = clock
        self._shift = shift

    def now(self) -> datetime:
        return self._clock.now() + self._shift

    def advance(self, span: Duration | str) -> None:
        """Shift the clock by a timedelta (also a negative one), seconds, or text such as '1d'."""
        self._shift += shift_of("advance", span)


def shift_of(caller: str, span: Duration | str) -> timedelta:
    """Return the span by which to shift a clock."""
    # A timedelta may be negative: tests may go back in time.
    return span if isinstance(span, timedelta) else checks.duration(f"{caller}()", span)
