"""Moving a Drive's time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from geneva_drive.clock import ShiftedClock
from geneva_drive.drive.default import current_drive
from geneva_drive.drive.drive import Drive


@contextmanager
def time_travel(span: timedelta, drive: Drive | None = None) -> Iterator[ShiftedClock]:
    """Move a Drive's clock within the block: schedules, timeouts and prune; not leases.

    >>> from datetime import timedelta
    >>> from geneva_drive.testing import drain, time_travel
    >>> with time_travel(timedelta(days=2)):  # doctest: +SKIP
    ...     drain(drive)
    """
    traveller = drive or current_drive()
    former = traveller.clock
    shifted = ShiftedClock(former, span)
    traveller.clock = shifted
    try:
        yield shifted
    finally:
        traveller.clock = former


def expire_leases(drive: Drive | None = None) -> None:
    """Let the lease of every worker run out, as if all had died."""
    store = (drive or current_drive()).store
    store.write(store.workers.expire_all)
