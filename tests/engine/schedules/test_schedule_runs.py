"""A schedule starts a workflow at each of its moments, once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, time_travel
from tests.scheduling import at, drain_at, runs_of, set_clock
from tests.worker.watching import Watch


def test_a_run_starts_a_workflow_at_its_moment(monday: gd.Drive) -> None:
    class Digest(gd.Workflow):
        schedule = gd.cron("0 9 * * *")

        @gd.step
        def send(self) -> None: ...

    drain_at(monday, at(8, 30), at(8, 59, 59))
    assert monday.schedules.runs(Digest) == []
    drain_at(monday, at(9), at(9), at(9, 30))

    [workflow] = Digest.finished()
    [run] = monday.schedules.runs(Digest)
    assert (run.at, run.workflow_id, run.skipped_reason) == (at(9), workflow.id, None)
    assert (workflow.started_by, workflow.scheduled_at) == ("schedule", at(9))
    assert monday.schedules.get(Digest).next_at == at(9, day=3)


def test_the_first_run_comes_after_the_schedule_was_first_seen(monday: gd.Drive) -> None:
    class Digest(gd.Workflow):
        schedule = gd.cron("0 * * * *", missed="all")

        @gd.step
        def send(self) -> None: ...

    drain_at(monday, at(8, 30))

    assert Digest.finished().count() == 0
    assert monday.schedules.runs(Digest) == []


def test_two_drives_that_see_the_same_moment_start_one_workflow(
    monday: gd.Drive, geneva_database_url: str
) -> None:
    class Digest(gd.Workflow):
        schedule = gd.cron("0 9 * * *", overlap="allow")

        @gd.step
        def send(self) -> None: ...

    other = gd.Drive(geneva_database_url)
    drain_at(monday, at(8, 30))
    set_clock(other, at(9))

    drain_at(monday, at(9))
    drain(other)
    other.close()

    assert runs_of(monday, Digest) == [("02 09:00", "started")]
    assert Digest.finished().count() == 1


@pytest.mark.parametrize(
    ("first_look", "expected"),
    [
        pytest.param(datetime(2026, 3, 28, 23, 45, tzinfo=UTC), "29 01:00", id="gap"),
        pytest.param(datetime(2026, 10, 24, 23, 45, tzinfo=UTC), "25 00:30", id="repeat"),
    ],
)
def test_a_night_with_a_change_of_clocks_has_one_run(
    geneva: gd.Drive, first_look: datetime, expected: str
) -> None:
    class Nightly(gd.Workflow):
        schedule = gd.cron("30 2 * * *", timezone="Europe/Amsterdam", missed="all")

        @gd.step
        def work(self) -> None: ...

    drain_at(geneva, *(first_look + number * timedelta(minutes=15) for number in range(16)))

    assert runs_of(geneva, Nightly) == [(expected, "started")]


def test_time_travel_fires_schedules(geneva: gd.Drive) -> None:
    class Hourly(gd.Workflow):
        schedule = gd.cron("0 * * * *")

        @gd.step
        def count(self) -> None: ...

    with time_travel("1h", geneva):
        drain(geneva)

    assert Hourly.finished().count() == 1


def test_a_worker_fires_a_schedule_when_its_moment_comes(geneva: gd.Drive, watch: Watch) -> None:
    class Ticking(gd.Workflow):
        schedule = gd.cron("* * * * * *", overlap="allow")

        @gd.step
        def tick(self) -> None: ...

    with geneva.worker():
        watch.wait_for_workflows(2)

    runs = geneva.schedules.runs(Ticking)
    assert {run.at.microsecond for run in runs} == {0}
    assert len({run.workflow_id for run in runs}) == len(runs) >= 2
