"""Schedules and their runs have the types that the page on schedules promises."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import assert_type

import geneva_drive as gd


class Report(gd.Workflow):
    schedule = gd.cron("0 9 * * 1-5", timezone="Europe/Amsterdam", overlap="queue", jitter="5m")

    @gd.step
    def write(self) -> datetime | None:
        return self.handle.scheduled_at


class Plain(gd.Workflow[int]):
    schedule = gd.cron("0 9 * * *", missed="all", jitter=timedelta(minutes=5))


def looking(drive: gd.Drive) -> None:
    assert_type(drive.schedules.list(), list[gd.Schedule])
    assert_type(drive.schedules.get(Plain).next_at, datetime | None)
    assert_type(drive.schedules.next("Report", 5), list[datetime])
    assert_type(drive.schedules.runs(Report), list[gd.ScheduleRun])
    assert_type(drive.schedules.pause(Report, actor="ann"), gd.Schedule)
    assert_type(drive.schedules.resume("Report").is_paused, bool)
    assert_type(drive.schedules.run_now(Plain).at, datetime)
