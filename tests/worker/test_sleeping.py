"""Executions that sleep are woken when their time comes."""

from __future__ import annotations

import threading
from datetime import timedelta

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from tests.worker.conftest import MakeDrive
from tests.worker.watching import Watch, rows_of, wait


def test_a_sleeper_is_woken_when_its_time_comes(
    geneva: gd.Drive, geneva_clock: ShiftedClock, watch: Watch
) -> None:
    class Trial(gd.Workflow):
        @gd.step
        def start(self) -> None: ...

        @gd.step(wait=timedelta(days=30))
        def charge(self) -> None: ...

    trial = Trial.create()
    with geneva.worker():
        watch.wait_for_steps(1, "completed")
        assert rows_of(trial) == [("start", "completed", "success"), ("charge", "scheduled", None)]

        geneva_clock.advance(timedelta(days=30, seconds=1))
        watch.wait_for_workflows(1)

    assert trial.reload().state == "finished"


def test_a_short_sleep_is_over_long_before_the_next_poll(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(poll_interval="10m")
    watch = Watch(drive)

    class Nap(gd.Workflow):
        @gd.step(wait=0.2)
        def sleep(self) -> None: ...

    Nap.using(drive).create()
    with drive.worker():
        watch.wait_for_workflows(1)

    assert Nap.finished().count() == 1


def test_a_sleeper_is_woken_however_much_else_is_due(
    geneva: gd.Drive, geneva_clock: ShiftedClock, make_drive: MakeDrive
) -> None:
    drive = make_drive(poll_interval=0.05)
    drive.clock = geneva_clock
    ran: list[str] = []
    rung = threading.Event()

    class Alarm(gd.Workflow):
        priority = 10

        @gd.step(wait=timedelta(hours=1))
        def ring(self) -> None:
            ran.append("ring")
            rung.set()

    class Treadmill(gd.Workflow):
        @gd.step
        def turn(self) -> None:
            # There is always more to do than there are slots, until the alarm rings.
            if not rung.is_set():
                Treadmill.using(drive).create()
                ran.append("turn")

    Alarm.using(drive).create()
    for _ in range(2):
        Treadmill.using(drive).create()
    with drive.worker(concurrency=1):
        geneva_clock.advance(timedelta(hours=2))
        wait(rung)

    assert "ring" in ran


def test_a_sleeper_on_hold_is_left_asleep(geneva: gd.Drive, geneva_clock: ShiftedClock) -> None:
    class Trial(gd.Workflow):
        @gd.step(wait=timedelta(days=30))
        def charge(self) -> None: ...

    trial = Trial.create()
    trial.pause()
    geneva_clock.advance(timedelta(days=31))

    geneva.worker().run_until_idle()
    assert rows_of(trial) == [("charge", "scheduled", None)]

    trial.resume()
    geneva.worker().run_until_idle()
    assert rows_of(trial) == [("charge", "completed", "success")]
