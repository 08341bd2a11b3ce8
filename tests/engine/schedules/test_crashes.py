"""A process that dies around the firing of a run neither loses it nor fires it twice."""

from __future__ import annotations

import pytest

import geneva_drive as gd
from geneva_drive.engine.crash_points import Point
from geneva_drive.testing import crash_after, drain
from tests.scheduling import at, drain_at, runs_of, set_clock


@pytest.mark.parametrize("point", ["fire", "fired"])
def test_a_run_is_fired_once_wherever_its_process_dies(monday: gd.Drive, point: Point) -> None:
    class Digest(gd.Workflow):
        schedule = gd.cron("0 9 * * *", overlap="allow")

        @gd.step
        def send(self) -> None: ...

    drain_at(monday, at(8, 30))
    set_clock(monday, at(9))

    with crash_after(point):
        drain(monday)
    after_the_crash = runs_of(monday, Digest), Digest.ready().count()
    drain(monday)

    was_committed = {"fire": ([], 0), "fired": ([("02 09:00", "started")], 1)}
    assert after_the_crash == was_committed[point]
    assert runs_of(monday, Digest) == [("02 09:00", "started")]
    assert Digest.finished().count() == 1


def test_a_crash_before_the_commit_leaves_the_workflow_before_it_running(monday: gd.Drive) -> None:
    class Replacing(gd.Workflow):
        schedule = gd.cron("0 * * * *", overlap="cancel_running")

        @gd.step(wait="5h")
        def work(self) -> None: ...

    drain_at(monday, at(8, 30), at(9))
    set_clock(monday, at(10))

    with crash_after("fire"):
        drain(monday)
    after_the_crash = Replacing.canceled().count(), Replacing.ongoing().count()
    drain(monday)

    assert after_the_crash == (0, 1)
    assert (Replacing.canceled().count(), Replacing.ongoing().count()) == (1, 1)


@pytest.mark.parametrize("point", ["fire", "fired"])
def test_a_queued_run_is_started_once_wherever_its_process_dies(
    monday: gd.Drive, point: Point
) -> None:
    class Queueing(gd.Workflow):
        schedule = gd.cron("0 * * * *", overlap="queue")

        @gd.step(wait="5h")
        def work(self) -> None: ...

    drain_at(monday, at(8, 30), at(9), at(10))
    [first] = Queueing.ongoing()
    first.cancel()

    with crash_after(point):
        drain(monday)
    drain(monday)

    assert runs_of(monday, Queueing) == [("02 09:00", "started"), ("02 10:00", "started")]
    assert Queueing.ongoing().count() == 1
    assert monday.schedules.get(Queueing).queued_count == 0
