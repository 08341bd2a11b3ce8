"""Limits hold over all workers, and keep nobody waiting for longer than they must."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.engine.limits import capacity, waiters
from geneva_drive.testing import drain
from geneva_drive.worker.housekeeping.limit_waiters import LimitWaiters
from tests.limiting import Gauge, StillClock, limits, occupy, parked
from tests.worker.conftest import MakeDrive
from tests.worker.watching import Watch, rows_of, wait, wait_until

KEYS = pytest.mark.parametrize("key", [None, lambda self: "crm"], ids=["step", "callable"])


@KEYS
def test_two_workers_together_never_run_more_at_once_than_the_limit(
    geneva: gd.Drive, make_drive: MakeDrive, key: Any
) -> None:
    gauge = Gauge(together=3)

    class Load(gd.Workflow):
        @gd.step(limit=gd.Limit(key, concurrency=3))
        def load(self) -> None:
            gauge.pass_through()

    for _ in range(12):
        Load.create()
    with geneva.worker(concurrency=4), make_drive().worker(concurrency=4):
        wait_until(lambda: len(parked(geneva)) == 9, "all that find no slot are parked")
        gauge.opened.set()
        wait_until(lambda: Load.finished().count() == 12, "all loads finished")

    assert gauge.highest == 3


def test_a_queue_has_a_limit_over_two_workers(geneva: gd.Drive, make_drive: MakeDrive) -> None:
    gauge = Gauge(together=2)
    limit = {"bulk": gd.Limit(concurrency=2)}

    class Load(gd.Workflow):
        queue = "bulk"

        @gd.step
        def load(self) -> None:
            gauge.pass_through()

        @gd.step
        def index(self) -> None: ...  # meets nobody: the last two may be of one workflow

    for _ in range(6):
        Load.create()
    one, other = make_drive(queue_limits=limit), make_drive(queue_limits=limit)
    with one.worker(concurrency=4), other.worker(concurrency=4):
        wait_until(lambda: len(parked(geneva)) == 4, "all that find no slot are parked")
        gauge.opened.set()
        wait_until(lambda: Load.finished().count() == 6, "all loads finished")

    assert gauge.highest == 2
    assert limits(geneva) == {"queue:bulk": (2, None)}


@pytest.fixture
def nobody_looks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the safety net away, so that a wake-up that is lost is not found later."""
    monkeypatch.setattr(capacity, "RECHECK_DELAY", timedelta(hours=1))
    monkeypatch.setattr(waiters, "RECHECK_DELAY", timedelta(hours=1))


@pytest.mark.usefixtures("nobody_looks_again")
def test_no_wake_up_is_lost_between_one_that_ends_and_one_that_is_refused(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    ran: list[int] = []

    class Turn(gd.Workflow):
        @gd.step(limit=gd.Limit(key=lambda self: "turnstile", concurrency=1))
        def turn(self) -> None:
            ran.append(self.id)

    turns = [Turn.create().id for _ in range(24)]
    # Both long enough asleep that only the ending of a step can let the next one go.
    one, other = make_drive(poll_interval="10m"), make_drive(poll_interval="10m")
    with one.worker(concurrency=4), other.worker(concurrency=4):
        wait_until(lambda: Turn.finished().count() == 24, "all turns finished")

    assert sorted(ran) == turns


@pytest.mark.usefixtures("nobody_looks_again")
def test_steps_that_are_parked_together_all_run(geneva: gd.Drive, make_drive: MakeDrive) -> None:
    class Turn(gd.Workflow):
        @gd.step(limit=gd.Limit(concurrency=2))
        def turn(self) -> None: ...

    for _ in range(24):
        Turn.create()
    with make_drive(poll_interval="10m").worker(concurrency=8):
        wait_until(lambda: Turn.finished().count() == 24, "all turns finished")

    assert parked(geneva) == []


@pytest.mark.usefixtures("chains_as_long_as_they_like")
def test_a_step_under_a_limit_is_not_taken_along_by_the_step_before(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(queue_limits={"print": gd.Limit(concurrency=1)})
    watch = Watch(drive)

    class Order(gd.Workflow):
        @gd.step
        def reserve(self) -> None: ...

        @gd.step(limit=gd.Limit(concurrency=1))
        def charge(self) -> None: ...

        @gd.step(queue="print")
        def label(self) -> None:
            if self.attempt == 1:
                self.reattempt()

        @gd.step(transaction=True, limit=gd.Limit(concurrency=1))
        def book(self, session: Any) -> None:
            if self.attempt == 1:
                self.reattempt()

        @gd.step
        def ship(self) -> None: ...

    order = Order.using(drive).create()
    drive.worker().run_until_idle()

    assert order.reload().state == "finished"
    claimed = [e.step_name for e in watch.steps("in_progress") if e.from_state == "scheduled"]
    assert claimed == ["reserve", "charge", "label", "label", "book", "book"]


@pytest.mark.usefixtures("nobody_looks_again")
def test_a_class_with_many_that_must_wait_keeps_nobody_else_from_running(
    geneva: gd.Drive, watch: Watch
) -> None:
    class Load(gd.Workflow):
        @gd.step(limit=gd.Limit(concurrency=1))
        def load(self) -> None: ...

    class Other(gd.Workflow):
        @gd.step
        def look(self) -> None: ...

    Load.create()
    occupy(geneva)
    for _ in range(200):
        Load.create()
    other = Other.create()

    geneva.worker(concurrency=1).run_until_idle()

    assert other.reload().state == "finished"
    assert len(parked(geneva)) == 200
    # The first that was refused took the others with it: they were not claimed one by one.
    asked = [event.step_name for event in watch.steps("in_progress")]
    assert asked == ["load", "load", "look"]


@pytest.mark.usefixtures("nobody_looks_again")
def test_what_waits_is_not_looked_at_when_there_is_nothing_to_let_go(
    geneva: gd.Drive, watch: Watch
) -> None:
    class Load(gd.Workflow):
        @gd.step(limit=gd.Limit(concurrency=1))
        def load(self) -> None: ...

    Load.create()
    occupy(geneva)
    for _ in range(20):
        Load.create()
    drain(geneva)
    before = len(watch.steps("in_progress"))

    for _ in range(3):
        assert LimitWaiters(geneva.environment).wake_for(["Load.load"]) == 0
    geneva.worker().run_until_idle()

    assert len(watch.steps("in_progress")) == before


def test_a_worker_wakes_what_waits_for_its_rate_when_the_time_comes(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(poll_interval="10m")
    watch = Watch(drive)

    class Ping(gd.Workflow):
        @gd.step(limit=gd.Limit(rate="2/s"))
        def ping(self) -> None: ...

    for _ in range(5):
        Ping.using(drive).create()
    with drive.worker():
        watch.wait_for_workflows(5)

    assert Ping.finished().count() == 5


def test_two_workers_together_start_no_more_than_the_rate(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    clock = StillClock()
    drives = [make_drive(), make_drive()]
    for drive in drives:
        drive.clock = clock

    class Ping(gd.Workflow):
        @gd.step(limit=gd.Limit(key=lambda self: "api", rate="3/h"))
        def ping(self) -> None: ...

    for _ in range(10):
        Ping.using(drives[0]).create()
    with drives[0].worker(concurrency=4), drives[1].worker(concurrency=4):
        wait_until(lambda: len(parked(geneva)) == 7, "all that find no slot are parked")
        wait_until(lambda: Ping.finished().count() == 3, "three finished")
        clock.advance(3600)
        wait_until(lambda: Ping.finished().count() == 6, "three more finished")
        wait_until(lambda: len(parked(geneva)) == 4, "the others wait on")

    assert Ping.finished().count() == 6


def test_a_worker_that_was_refused_frees_its_thread(geneva: gd.Drive, watch: Watch) -> None:
    begun, release = threading.Event(), threading.Event()

    class Load(gd.Workflow):
        @gd.step(limit=gd.Limit(concurrency=1))
        def load(self) -> None:
            begun.set()
            wait(release)

    class Other(gd.Workflow):
        @gd.step
        def look(self) -> None: ...

    loads = [Load.create() for _ in range(4)]
    with geneva.worker(concurrency=2):
        wait(begun)
        other = Other.create()
        watch.wait_for_workflows(1)
        assert other.reload().state == "finished"
        release.set()
        watch.wait_for_workflows(5)

    assert [rows_of(load) for load in loads] == [[("load", "completed", "success")]] * 4
