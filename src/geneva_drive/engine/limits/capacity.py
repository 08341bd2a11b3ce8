"""How much room a limit has, counted under its lock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from geneva_drive.limit import Limit, Rate
from geneva_drive.storage.schema.records import LimitRecord
from geneva_drive.storage.store import Store

# How soon somebody looks again who waits for others to end: their worker may have died, and with
# it the word that they did.
LOOK_AGAIN = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Room:
    """How many more may start now, and when there may be room for the one after them."""

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
    """Count what may start now, up to `most`."""
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
            # Both bounds may be reached: then it is the later one that counts.
            later = more_at if left == free else now
            free, more_at = left, max(later, now + LOOK_AGAIN)
    return Room(free, more_at)


def _room_in_window(
    connection: Connection,
    store: Store,
    record: LimitRecord,
    window: Rate,
    now: datetime,
    most: int,
) -> tuple[int, datetime]:
    """Look at the starts that the next ones must be a whole period behind.

    Starts are numbered. The next one may be made a period after the one `count` numbers before it:
    so of any span of that length no two starts are alike in their number modulo `count`. One that
    is missing was forgotten, as it was over.
    """
    above = record.last_number - window.count
    starts = store.limits.starts(connection, record.limit_key, above=above, most=most)
    for number, started_at in starts:
        free = number - above - 1
        if free < most and started_at + window.period > now:
            return free, started_at + window.period
    return (window.count, now + window.period) if window.count < most else (most, now)
