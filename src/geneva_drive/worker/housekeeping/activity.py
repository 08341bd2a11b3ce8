"""Every `heartbeat_interval`: count the executions that ended, minute by minute, for charts.

A minute is counted when it has ended, and again ten minutes later, because a worker with a slow
clock or connection may commit an outcome late. The second count replaces the first, and the marks
move only if no other worker has moved them, so nothing is counted twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from geneva_drive.engine.environment import Environment
from geneva_drive.states import StepState
from geneva_drive.storage.statements.activity import ActivityCount, ActivityMarks
from geneva_drive.storage.store import Store
from geneva_drive.worker.housekeeping.duty import Duty, DutyRound

MINUTE = timedelta(minutes=1)
HALF_HOUR = timedelta(minutes=30)  # for charts of days and weeks
SETTLED_AFTER = timedelta(minutes=10)
_COUNTED_AT_FIRST = timedelta(days=7)  # in a database that was used before it had counters
_MINUTES_KEPT = timedelta(hours=26)
_HALF_HOURS_KEPT = timedelta(days=60)
_MINUTES_PER_ROUND = 10


def beginning_of(span: timedelta, moment: datetime) -> datetime:
    """Return when the minute or half hour of a moment began."""
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return epoch + (moment - epoch) // span * span


def duty(every: timedelta) -> Duty:
    return Duty(name="activity", every=every, do_round=_do_round, max_rounds=100)


@dataclass(frozen=True, slots=True)
class _CountedMinutes:
    """The minutes up to `until` in which executions ended, with their counts."""

    until: datetime
    minutes: list[datetime]
    counts: list[ActivityCount]


def _do_round(environment: Environment) -> DutyRound:
    store, now = environment.store, environment.clock.now()
    marks = store.read(store.activity.marks)
    if marks is None:
        began = beginning_of(HALF_HOUR, now - _COUNTED_AT_FIRST)
        marks = ActivityMarks(began, began)
        store.write(lambda connection: store.activity.set_marks(connection, marks))
        return DutyRound(0, has_more=True)
    over = beginning_of(MINUTE, now)
    settling = beginning_of(MINUTE, now - SETTLED_AFTER)
    settled = min(settling, marks.counted_until)
    if marks.counted_until >= over and marks.settled_until >= settled:
        return DutyRound(0, has_more=False)
    # Count in a transaction that only reads: SQLite has one writer.
    with store.reading() as connection:
        first = _count(connection, store, marks.counted_until, over)
        again = _count(connection, store, marks.settled_until, settled)
    if not first.minutes and not again.minutes and over - marks.settled_until < HALF_HOUR:
        return DutyRound(0, has_more=False)  # write nothing to an idle database
    after = ActivityMarks(first.until, again.until)
    is_own = store.write(lambda c: _save(c, store, marks, after, [again, first], now))
    is_behind = first.until < over or again.until < min(settling, first.until)
    # Counters are a by-product and do not count as changes.
    return DutyRound(0, has_more=is_own and is_behind)


def _count(connection: Connection, store: Store, start: datetime, end: datetime) -> _CountedMinutes:
    """Count the ends in the next few minutes of a window; minutes without any are skipped."""
    found = _CountedMinutes(end, [], [])
    while start < end:
        first = store.activity.first_end(connection, start, end)
        if first is None:
            return found
        minute = beginning_of(MINUTE, first)
        if len(found.minutes) == _MINUTES_PER_ROUND:
            return _CountedMinutes(minute, found.minutes, found.counts)
        start = minute + MINUTE
        found.minutes.append(minute)
        found.counts.extend(store.activity.count_ends(connection, minute, start))
    return found


def _save(
    connection: Connection,
    store: Store,
    before: ActivityMarks,
    after: ActivityMarks,
    counted: Sequence[_CountedMinutes],
    now: datetime,
) -> bool:
    if not store.activity.move_marks(connection, before, after):
        return False  # another worker counted the same minutes
    for one in counted:
        store.activity.replace(connection, MINUTE, one.minutes, one.counts)
    start = beginning_of(HALF_HOUR, before.settled_until)
    end = beginning_of(HALF_HOUR, after.settled_until)
    if start < end:
        _fold(connection, store, start, end)
        store.activity.delete_before(connection, MINUTE, now - _MINUTES_KEPT)
        store.activity.delete_before(connection, HALF_HOUR, now - _HALF_HOURS_KEPT)
    return True


def _fold(connection: Connection, store: Store, start: datetime, end: datetime) -> None:
    """Sum up the minutes of each half hour whose minutes are all settled."""
    totals: Counter[tuple[datetime, str, StepState]] = Counter()
    for one in store.activity.between(connection, MINUTE, start, end):
        totals[beginning_of(HALF_HOUR, one.began_at), one.type, one.state] += one.total
    counts = [ActivityCount(*key, total=total) for key, total in totals.items()]
    store.activity.replace(connection, HALF_HOUR, {one.began_at for one in counts}, counts)
