"""What becomes of the runs that were due while no worker was running."""

from __future__ import annotations

import pytest

import geneva_drive as gd
from geneva_drive.definition.schedule import MissedName
from tests.scheduling import at, drain_at, runs_of

MISSED = ["02 09:00", "02 10:00", "02 11:00"]


@pytest.mark.parametrize(
    ("missed", "fates"),
    [
        ("latest", ["missed", "missed", "started"]),
        ("skip", ["missed", "missed", "missed"]),
        ("all", ["started", "started", "started"]),
    ],
)
def test_missed_runs_are_started_or_recorded(
    monday: gd.Drive, missed: MissedName, fates: list[str]
) -> None:
    class Hourly(gd.Workflow):
        schedule = gd.cron("0 * * * *", overlap="allow", missed=missed)

        @gd.step
        def work(self) -> None: ...

    drain_at(monday, at(8, 30), at(11, 30))

    assert runs_of(monday, Hourly) == list(zip(MISSED, fates, strict=True))
    started = [workflow.scheduled_at for workflow in Hourly.finished()]
    hours = (at(9), at(10), at(11))
    assert started == [hour for hour, fate in zip(hours, fates, strict=True) if fate == "started"]


def test_a_run_that_is_a_little_late_was_not_missed(monday: gd.Drive) -> None:
    class Strict(gd.Workflow):
        schedule = gd.cron("0 * * * *", missed="skip")

        @gd.step
        def work(self) -> None: ...

    drain_at(monday, at(8, 30), at(9, 1), at(10, 1, 1))

    assert runs_of(monday, Strict) == [("02 09:00", "started"), ("02 10:00", "missed")]


def test_missed_runs_are_not_made_up_for_if_one_is_due_right_now(monday: gd.Drive) -> None:
    class Minutely(gd.Workflow):
        schedule = gd.cron("*/10 * * * *", overlap="allow")

        @gd.step
        def work(self) -> None: ...

    drain_at(monday, at(8, 30), at(9))

    assert runs_of(monday, Minutely) == [
        ("02 08:40", "missed"),
        ("02 08:50", "missed"),
        ("02 09:00", "started"),
    ]


def test_more_missed_runs_than_one_transaction_takes_are_all_recorded(monday: gd.Drive) -> None:
    class Minutely(gd.Workflow):
        schedule = gd.cron("* * * * *")

        @gd.step
        def work(self) -> None: ...

    drain_at(monday, at(8, 30), at(15, 30, 30))

    runs = monday.schedules.runs(Minutely, limit=None)
    assert [run.state for run in runs] == ["started", *["skipped"] * 419]
    assert (runs[0].at, runs[-1].at) == (at(15, 30), at(8, 31))


def test_missed_runs_that_are_all_started_wait_for_one_another_in_a_queue(
    monday: gd.Drive,
) -> None:
    class Ledger(gd.Workflow):
        schedule = gd.cron("0 * * * *", overlap="queue", missed="all")

        @gd.step
        def book(self) -> None: ...

    drain_at(monday, at(8, 30), at(11, 30))

    assert [workflow.scheduled_at for workflow in Ledger.finished()] == [at(9), at(10), at(11)]
