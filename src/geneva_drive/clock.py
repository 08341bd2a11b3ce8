"""The clock, which tests can replace."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol

from geneva_drive import checks
from geneva_drive.display import shown
from geneva_drive.durations import Duration
from geneva_drive.errors import InvalidInput


class Clock(Protocol):
    """The source of the current time for the engine."""

    def now(self) -> datetime: ...


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class ClockInUtc:
    """Wraps a user's clock, which may return the time in another zone.

    Spans must be added in UTC: in a local zone, Python adds them to the wall-clock time, which is
    off by an hour where daylight saving begins or ends.
    """

    def __init__(self, name: str, clock: Clock) -> None:
        self._name = name
        self._clock = clock

    def now(self) -> datetime:
        found: object = self._clock.now()
        if not isinstance(found, datetime):
            raise self._refusal(found, "is not a datetime")
        if found.utcoffset() is None:
            raise self._refusal(found, "has no time zone")
        return found.astimezone(UTC)

    def _refusal(self, found: object, fault: str) -> InvalidInput:
        return InvalidInput(
            f"{self._name}: now() returned {shown(found)}, which {fault}. Return an aware "
            f"datetime, such as datetime.now(UTC)."
        )


class ShiftedClock:
    """Another clock, shifted by a span."""

    def __init__(self, clock: Clock, shift: timedelta) -> None:
        self._clock = checked_clock("The clock of a ShiftedClock", clock)
        self._shift = shift

    def now(self) -> datetime:
        return self._clock.now() + self._shift

    def advance(self, span: Duration | str) -> None:
        """Shift the clock by a timedelta (also a negative one), seconds, or text such as '1d'."""
        self._shift += shift_of("advance", span)


def checked_clock(name: str, clock: object) -> Clock:
    """Return a clock that returns UTC, or raise an error that begins with `name`."""
    if isinstance(clock, SystemClock | ShiftedClock | ClockInUtc):
        return clock
    if not callable(getattr(clock, "now", None)):
        raise _no_clock(name, clock)
    in_utc = ClockInUtc(name, clock)  # type: ignore[arg-type]  # it has a method now()
    try:
        in_utc.now()
    except TypeError as error:  # a class instead of an instance
        raise _no_clock(name, clock) from error
    return in_utc


def _no_clock(name: str, given: object) -> InvalidInput:
    return InvalidInput(
        f"{name} must be an object with a method now() that takes no argument and returns an aware "
        f"datetime, got {shown(given)}."
    )


def shift_of(caller: str, span: Duration | str) -> timedelta:
    """Return the span by which to shift a clock."""
    # A timedelta may be negative: tests may go back in time.
    return span if isinstance(span, timedelta) else checks.duration(f"{caller}()", span)
