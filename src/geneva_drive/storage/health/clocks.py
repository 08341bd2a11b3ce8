"""A check that compares the clocks of this process and of the database."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Connection, select, type_coerce

from geneva_drive.clock import Clock
from geneva_drive.durations import describe
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.dialects.health_check import Check, Thresholds, ok, problem, reminder
from geneva_drive.storage.schema.column_types import Moment

_NAME = "clock"


def clock_skew(
    connection: Connection,
    dialect: Dialect,
    clock: Clock,
    lease: timedelta,
    thresholds: Thresholds,
) -> Check:
    """Compare the clocks: the process measures waits, the database measures leases."""
    asked_at = clock.now()
    there = connection.scalar(select(type_coerce(dialect.now(), Moment)))
    # The database read its clock about halfway between question and answer.
    here = asked_at + (clock.now() - asked_at) / 2
    assert there is not None, "a clock always answers"
    skew = here - there
    if abs(skew) <= thresholds.clock_skew:
        return ok(_NAME, "This process and the database show the same time.")
    span = describe(timedelta(seconds=round(abs(skew).total_seconds())))
    found = (
        f"This process is {span} {'ahead of' if skew > timedelta() else 'behind'} the database. "
        f"Waits use the clock of the process, leases that of the database."
    )
    way_out = "Synchronize the clocks of both machines with NTP (chrony, systemd-timesyncd)."
    return (problem if abs(skew) > lease / 2 else reminder)(_NAME, found, way_out)
