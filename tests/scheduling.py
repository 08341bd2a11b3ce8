"""Schedules in tests: a clock that stands until it is set, and what became of the runs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import geneva_drive as gd
from geneva_drive.testing import drain

# A Monday.
MORNING = datetime(2026, 3, 2, 8, 30, tzinfo=UTC)


class WallClock:
    """Shows the same moment until it is set to another."""

    def __init__(self, moment: datetime = MORNING) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment


def at(hour: int, minute: int = 0, second: int = 0, *, day: int = 2) -> datetime:
    """Return a moment of March 2026, in UTC."""
    return datetime(2026, 3, day, hour, minute, second, tzinfo=UTC)


def drain_at(drive: gd.Drive, *moments: datetime) -> None:
    """Set the Drive's clock to each moment in turn, and run what is due there."""
    for moment in moments:
        set_clock(drive, moment)
        drain(drive)


def set_clock(drive: gd.Drive, moment: datetime) -> None:
    drive.clock = WallClock(moment)


def runs_of(drive: gd.Drive, scheduled: Any) -> list[tuple[str, str]]:
    """Return the time of day and the fate of each run, the oldest first."""
    return [
        (f"{run.at:%d %H:%M}", run.skipped_reason or run.state)
        for run in reversed(drive.schedules.runs(scheduled))
    ]
