"""Ended executions are counted for charts: each once, whatever the workers do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

import geneva_drive as gd
from geneva_drive.errors import InvalidInput
from geneva_drive.storage.statements.activity import ActivityMarks
from geneva_drive.testing import drain
from geneva_drive.worker.housekeeping import activity

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ROUND = activity.duty(timedelta(seconds=10)).finish


class Clock:
    def __init__(self) -> None:
        self.moment = NOON

    def now(self) -> datetime:
        return self.moment


class Counted(gd.Workflow):
    type_name = "CountedWorkflow"

    @gd.step
    def works(self) -> None: ...

    @gd.step
    def breaks(self) -> None:
        raise ValueError("no")


@pytest.fixture
def clock(geneva: gd.Drive) -> Clock:
    """A clock that stands at noon, and counters that begin at that moment."""
    geneva.clock = moved = Clock()
    store = geneva.store
    store.write(lambda c: store.activity.set_marks(c, ActivityMarks(NOON, NOON)))
    return moved


def run(drive: gd.Drive, count: int = 1) -> None:
    for _ in range(count):
        Counted.create()
    drain(drive)


def minutes(drive: gd.Drive, last: str = "1h", buckets: int = 60) -> list[tuple[str, int, int]]:
    """Return the buckets in which anything ended."""
    chart = drive.activity(last, buckets)
    return [
        (f"{one.start:%H:%M}", one.done, one.failed)
        for one in chart.buckets
        if one.done or one.failed
    ]


def test_a_minute_is_counted_when_it_is_over(geneva: gd.Drive, clock: Clock) -> None:
    run(geneva, 3)
    ROUND(geneva.environment)
    assert minutes(geneva) == []

    clock.moment += timedelta(minutes=1)
    ROUND(geneva.environment)
    assert minutes(geneva) == [("12:00", 3, 3)]
    assert minutes(geneva, "24h", 48) == [("12:00", 3, 3)]


def test_to_count_again_changes_nothing(geneva: gd.Drive, clock: Clock) -> None:
    run(geneva, 2)
    for _ in range(4):
        clock.moment += timedelta(minutes=4)
        ROUND(geneva.environment)
        ROUND(geneva.environment)

    assert minutes(geneva) == [("12:00", 2, 2)]


def test_an_outcome_that_was_committed_late_is_counted_with_its_minute(
    geneva: gd.Drive, clock: Clock
) -> None:
    run(geneva)
    clock.moment += timedelta(minutes=2)
    ROUND(geneva.environment)
    late, table = clock.moment, geneva.store.tables.step_executions
    run(geneva)
    # As a worker does whose clock is slow: it ended in a minute that has been counted.
    geneva.store.write(
        lambda c: c.execute(
            update(table).where(table.c.finished_at == late).values(finished_at=NOON)
        )
    )
    ROUND(geneva.environment)
    assert minutes(geneva) == [("12:00", 1, 1)]

    clock.moment += timedelta(minutes=10)
    ROUND(geneva.environment)
    assert minutes(geneva) == [("12:00", 2, 2)]


def test_executions_that_end_out_of_order_are_all_counted(geneva: gd.Drive, clock: Clock) -> None:
    sleeping = Counted.create(wait=timedelta(minutes=45))
    run(geneva, 2)
    clock.moment += timedelta(minutes=30)
    run(geneva)
    ROUND(geneva.environment)
    clock.moment += timedelta(minutes=16)
    geneva.housekeep()
    drain(geneva)
    clock.moment += timedelta(minutes=1)
    ROUND(geneva.environment)

    assert sleeping.reload().state == "paused"
    assert minutes(geneva) == [("12:00", 2, 2), ("12:30", 1, 1), ("12:46", 1, 1)]


def test_of_two_workers_that_count_the_same_minute_one_writes(
    geneva: gd.Drive, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(geneva)
    clock.moment += timedelta(minutes=1)
    statements, own = geneva.store.activity, geneva.store.activity.count_ends

    def count(*given: Any) -> Any:
        counted = own(*given)
        monkeypatch.undo()
        ROUND(geneva.environment)  # another worker comes first
        return counted

    monkeypatch.setattr(statements, "count_ends", count)
    ROUND(geneva.environment)

    assert minutes(geneva) == [("12:00", 1, 1)]


def test_half_hours_are_kept_when_their_minutes_are_deleted(geneva: gd.Drive, clock: Clock) -> None:
    run(geneva, 2)
    clock.moment += timedelta(days=2, minutes=5)
    ROUND(geneva.environment)
    run(geneva)
    clock.moment += timedelta(minutes=2)
    ROUND(geneva.environment)

    assert minutes(geneva, "7d", 56) == [("09:30", 2, 2), ("09:30", 1, 1)]
    rows = geneva.store.read(
        lambda c: geneva.store.activity.between(
            c, activity.MINUTE, NOON - timedelta(days=9), clock.moment
        )
    )
    assert [f"{one.began_at:%d %H:%M}" for one in rows] == ["03 12:05", "03 12:05"]


def test_a_chart_is_divided_into_whole_minutes(geneva: gd.Drive) -> None:
    with pytest.raises(InvalidInput) as refused:
        geneva.activity("1h", 7)
    assert str(refused.value) == (
        "activity(): 1:00:00 cannot be divided into 7 buckets of whole minutes. Choose another "
        "number of buckets."
    )
