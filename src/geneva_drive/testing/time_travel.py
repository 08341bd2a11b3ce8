"""Time travel for tests: the clock and the leases of a Drive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from geneva_drive.clock import ShiftedClock, shift_of
from geneva_drive.drive.drive import Drive
from geneva_drive.durations import Duration
from geneva_drive.engine.schedules import registration
from geneva_drive.engine.served_schedules import ServedSchedules
from geneva_drive.testing.arguments import drive_or_default


@contextmanager
def time_travel(span: Duration | str, drive: Drive | None = None) -> Iterator[ShiftedClock]:
    """Move a Drive's clock within the block; it affects schedules, timeouts and prune, not leases.

    `span` is a timedelta, seconds, or text such as `1d`. Schedules of classes that are defined
    before the block count from its beginning, and are fired by `drain` or a worker within it.

    >>> from geneva_drive.testing import drain, time_travel
    >>> with time_travel("2d"):  # doctest: +SKIP
    ...     drain(drive)
    """
    traveller = drive_or_default("time_travel", drive)
    former = traveller.clock
    if ServedSchedules().all():
        # A schedule fires from the moment at which it is first seen.
        registration.register_served(traveller.environment)
    shifted = ShiftedClock(former, shift_of("time_travel", span))
    traveller.clock = shifted
    try:
        yield shifted
    finally:
        traveller.clock = former


def expire_leases(drive: Drive | None = None) -> None:
    """End the lease of every worker, as if all had died."""
    store = drive_or_default("expire_leases", drive).store
    store.write(store.workers.expire_all)
