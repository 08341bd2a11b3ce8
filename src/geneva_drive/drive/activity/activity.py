"""How many steps were done and failed in the last hour, day or week: `drive.activity()`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from geneva_drive import checks
from geneva_drive.durations import Duration
from geneva_drive.errors import InvalidInput
from geneva_drive.states import StepState
from geneva_drive.worker.housekeeping.activity import HALF_HOUR, MINUTE, beginning_of

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

_MOST_BUCKETS = 500
_LONGEST_IN_MINUTES = timedelta(hours=24)  # older counts are kept by the half hour only


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityBucket:
    """The executions that ended in a span of time."""

    start: datetime
    end: datetime
    done: int  # completed
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityChart:
    """The buckets, oldest first. Workers count each minute after it has ended."""

    buckets: tuple[ActivityBucket, ...]
    until: datetime  # the end of the last minute that was counted

    @property
    def done(self) -> int:
        return sum(one.done for one in self.buckets)

    @property
    def failed(self) -> int:
        return sum(one.failed for one in self.buckets)


def activity_chart(
    drive: Drive, last: Duration, buckets: int, type_name: str | None
) -> ActivityChart:
    """Return the chart of the time span `last` up to now. Reads only the counters."""
    span = checks.positive_duration("activity(last=...)", last)
    checks.whole_number("activity(buckets=...)", buckets, at_least=1, at_most=_MOST_BUCKETS)
    width = span / buckets
    unit = MINUTE if span <= _LONGEST_IN_MINUTES and width < HALF_HOUR else HALF_HOUR
    if width % unit:
        raise InvalidInput(
            f"activity(): {span} cannot be divided into {buckets} buckets of whole "
            f"{'minutes' if unit == MINUTE else 'half hours'}. Choose another number of buckets."
        )
    # The last bucket includes the current, unfinished span.
    end = beginning_of(unit, drive.clock.now()) + (timedelta(0) if unit == MINUTE else unit)
    start = end - span
    rows, until = _read(drive, unit, start, end, type_name)
    done, failed = [0] * buckets, [0] * buckets
    for began_at, state, total in rows:
        place = (began_at - start) // width
        if state is StepState.COMPLETED:
            done[place] += total
        elif state is StepState.FAILED:
            failed[place] += total
    found = tuple(
        ActivityBucket(
            start=start + place * width,
            end=start + (place + 1) * width,
            done=done[place],
            failed=failed[place],
        )
        for place in range(buckets)
    )
    return ActivityChart(buckets=found, until=until)


def _read(
    drive: Drive, unit: timedelta, start: datetime, end: datetime, type_name: str | None
) -> tuple[list[tuple[datetime, StepState, int]], datetime]:
    store = drive.store

    def read(connection: Connection) -> tuple[list[tuple[datetime, StepState, int]], datetime]:
        marks = store.activity.marks(connection)
        until = start if marks is None else marks.counted_until
        if unit == MINUTE or marks is None:
            return store.activity.totals(connection, MINUTE, start, end, type_name), until
        # The minutes of a half hour are summed into one row after their second, final count. Until
        # then, each minute has its own row.
        folded = max(start, beginning_of(HALF_HOUR, marks.settled_until))
        old = store.activity.totals(connection, HALF_HOUR, start, folded, type_name)
        return [*old, *store.activity.totals(connection, MINUTE, folded, end, type_name)], until

    return store.read(read)
