"""The room of a limit: how many executions may start now. Counted under its lock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from geneva_drive.limit import Limit, Rate
from geneva_drive.storage.schema.records import LimitRecord
from geneva_drive.storage.store import Store

# A full limit is checked again this soon, because a worker with a slot may have died.
RECHECK_DELAY = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Room:
    """How many executions may start now, and when there may be room for one more."""

    free: int
    more_at: datetime


def measure(
    connection: Connection,
    store: Store,
    record: LimitRecord,
    limit: Limit,
    now: datetime,
    most: int,
) -> Room:
    """Count how many executions may start now, up to `most`."""
    window = limit.window
    free, more_at = most, now
    if window is not None:
        free, more_at = _room_in_window(connection, store, record, window, now, most)
    if limit.concurrency is not None:
        running = store.limits.running(
            connection, record.limit_key, counts_starts=window is not None
        )
        left = max(limit.concurrency - running, 0)
        if left <= free:
            # If both bounds are reached, the later moment counts.
            later = more_at if left == free else now
            free, more_at = left, max(later, now + RECHECK_DELAY)
    return Room(free, more_at)


def _room_in_window(
    connection: Connection,
    store: Store,
    record: LimitRecord,
    window: Rate,
    now: datetime,
    most: int,
) -> tuple[int, datetime]:
    """Return how many executions the rate lets start now, and when one more may start.

    Starts are numbered. A start may happen one period after the start `count` numbers before it.
    So no span of one period has more than `count` starts. A number without a row is a start that
    was deleted because its period was over.
    """
    above = record.last_number - window.count
    starts = store.limits.starts(connection, record.limit_key, above=above, most=most)
    for number, started_at in starts:
        free = number - above - 1
        if free < most and started_at + window.period > now:
            return free, started_at + window.period
    return (window.count, now + window.period) if window.count < most else (most, now)
