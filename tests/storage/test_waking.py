"""The timer makes sleepers claimable when their time has come."""

from __future__ import annotations

from datetime import timedelta

import geneva_drive as gd
from tests.storage.rows import NOW, Rows

SECOND = timedelta(seconds=1)
MICROSECOND = timedelta(microseconds=1)


def wake(drive: gd.Drive, limit: int = 100) -> int:
    store = drive.store
    return store.write(lambda connection: store.executions.wake(connection, NOW, limit))


def is_claimable(rows: Rows, execution_id: object) -> tuple[bool, bool]:
    row = rows.read(rows.tables.step_executions, execution_id)
    return row["claimable"], row["wakes_at"] is None


def test_sleepers_whose_time_has_come_become_claimable(geneva: gd.Drive, rows: Rows) -> None:
    past = rows.due(claimable=False, wakes_at=NOW - SECOND)
    now = rows.due(claimable=False, wakes_at=NOW)
    future = rows.due(claimable=False, wakes_at=NOW + MICROSECOND)

    assert wake(geneva) == 2

    assert is_claimable(rows, past) == (True, True)
    assert is_claimable(rows, now) == (True, True)
    assert is_claimable(rows, future) == (False, False)
    assert wake(geneva) == 0


def test_the_longest_overdue_wake_first_and_no_more_than_the_limit(
    geneva: gd.Drive, rows: Rows
) -> None:
    late = rows.due(claimable=False, wakes_at=NOW - SECOND)
    later = rows.due(claimable=False, wakes_at=NOW - 3 * SECOND)
    latest = rows.due(claimable=False, wakes_at=NOW - 2 * SECOND)

    assert wake(geneva, limit=2) == 2

    assert [is_claimable(rows, each)[0] for each in (late, later, latest)] == [False, True, True]


def test_a_held_execution_sleeps_on(geneva: gd.Drive, rows: Rows) -> None:
    held = rows.due(claimable=False, stop="pause", scheduled_for=NOW - SECOND)

    assert wake(geneva) == 0

    assert is_claimable(rows, held) == (False, True)


def test_the_next_moment_to_wake_is_the_earliest(geneva: gd.Drive, rows: Rows) -> None:
    store = geneva.store
    with store.reading() as connection:
        assert store.next_wakes.earliest(connection) is None
    rows.due(claimable=False, wakes_at=NOW + SECOND)
    rows.due(claimable=False, wakes_at=NOW)
    rows.due()

    with store.reading() as connection:
        assert store.next_wakes.earliest(connection) == NOW
