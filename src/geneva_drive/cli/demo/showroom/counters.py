"""What the charts count of a week: also the steps of workflows that the shop no longer keeps."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import Connection

import geneva_drive as gd
from geneva_drive.states import StepState
from geneva_drive.storage.statements.activity import ActivityCount, ActivityMarks
from geneva_drive.storage.store import Store
from geneva_drive.worker.housekeeping.activity import HALF_HOUR, MINUTE, beginning_of

_TYPE = "StockCheck"
_DAYS = 7
_MINUTES_KEPT = timedelta(hours=26)
_OUTAGE = timedelta(minutes=26)
_BUSIEST = 40  # steps in a minute
_SUNDAY = 6


def add_counters(drive: gd.Drive) -> None:
    """Add the steps of the week to what workers have counted, so that no worker counts it again."""
    now = beginning_of(MINUTE, drive.clock.now())
    minutes = list(_minutes(now))
    halves = Counter[datetime]()
    for at, count in minutes:
        halves[beginning_of(HALF_HOUR, at)] += count
    del halves[beginning_of(HALF_HOUR, now)]  # not over yet
    drive.store.write(
        lambda connection: _save(
            connection,
            drive.store,
            now,
            [_done(at, count) for at, count in minutes if at >= now - _MINUTES_KEPT],
            [_done(at, count) for at, count in halves.items()],
        )
    )


def _save(
    connection: Connection,
    store: Store,
    now: datetime,
    minutes: list[ActivityCount],
    halves: list[ActivityCount],
) -> None:
    before = store.activity.marks(connection)
    if before is None:
        return
    start, end = (beginning_of(HALF_HOUR, at) for at in (before.settled_until, now))
    unfolded = Counter[tuple[datetime, str, StepState]]()
    for one in store.activity.between(connection, MINUTE, start, end):
        unfolded[beginning_of(HALF_HOUR, one.began_at), one.type, one.state] += one.total
    folded = [ActivityCount(*key, total=total) for key, total in unfolded.items()]
    store.activity.replace(connection, HALF_HOUR, {one.began_at for one in folded}, folded)
    store.activity.replace(connection, HALF_HOUR, (), halves)
    store.activity.replace(connection, MINUTE, (), minutes)
    store.activity.move_marks(connection, before, ActivityMarks(now, now))


def _done(at: datetime, count: int) -> ActivityCount:
    return ActivityCount(at, _TYPE, StepState.COMPLETED, count)


def _minutes(now: datetime) -> Iterator[tuple[datetime, int]]:
    """Yield how much was done in each minute: by day more than by night, on Sundays less."""
    chance = random.Random(84)  # the same week each time
    for number in range(_DAYS * 24 * 60, 0, -1):
        at = now - number * MINUTE
        hour = at.hour + at.minute / 60
        by_day = 0.4 + 0.6 * max(0.0, math.sin((hour - 5) / 16 * math.pi))
        share = by_day * (0.5 if at.weekday() == _SUNDAY else 1)
        if at >= now - _OUTAGE:
            share *= 0.55
        yield at, max(1, round(_BUSIEST * share * chance.uniform(0.8, 1.2)))
