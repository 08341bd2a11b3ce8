"""What time it is, as something that tests can move."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol


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

    def advance(self, span: timedelta) -> None:
        self._shift += span
