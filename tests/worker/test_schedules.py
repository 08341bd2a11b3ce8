"""The timers of a worker look after schedules, if its process has any."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event

import geneva_drive as gd
from geneva_drive.worker.housekeeping.timers import Timers
from tests.scheduling import MORNING, at, runs_of, set_clock


@contextmanager
def statements_of(drive: gd.Drive) -> Iterator[list[str]]:
    """Collect the statements that are executed within the block."""
    seen: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    event.listen(drive.engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(drive.engine, "before_cursor_execute", note)


def test_a_worker_without_schedules_never_asks_for_them(geneva: gd.Drive) -> None:
    timers = Timers(geneva.environment)

    with statements_of(geneva) as without:
        timers.look()
        timers.wake_due()

    class Digest(gd.Workflow):
        schedule = gd.cron("0 9 * * *")

        @gd.step
        def send(self) -> None: ...

    with statements_of(geneva) as having:
        timers.look()

    assert without
    assert [one for one in without if "schedules" in one] == []
    assert [one for one in having if "schedules" in one]


def test_an_idle_worker_looks_at_its_timers_and_schedules_in_one_statement(
    geneva: gd.Drive,
) -> None:
    class Digest(gd.Workflow):
        schedule = gd.cron("0 9 1 1 *")

        @gd.step
        def send(self) -> None: ...

    timers = Timers(geneva.environment)
    timers.look()

    with statements_of(geneva) as again:
        timers.look()

    assert len(again) == 1


def test_the_poller_rests_until_the_next_run(geneva: gd.Drive) -> None:
    class Digest(gd.Workflow):
        schedule = gd.cron("0 9 * * *")

        @gd.step
        def send(self) -> None: ...

    set_clock(geneva, MORNING)
    timers = Timers(geneva.environment)
    timers.look()
    set_clock(geneva, at(8, 59, 58))

    assert timers.until_next(5.0) == 2.0
    assert timers.until_next(1.0) == 1.0


@pytest.mark.databases("postgresql", "mysql")  # SQLite has one writer
def test_a_schedule_that_another_process_holds_is_left_to_it(geneva: gd.Drive) -> None:

    class Digest(gd.Workflow):
        schedule = gd.cron("0 9 * * *")

        @gd.step
        def send(self) -> None: ...

    set_clock(geneva, MORNING)
    timers = Timers(geneva.environment)
    timers.look()
    set_clock(geneva, at(9))
    store = geneva.store
    with store.transaction() as connection:
        store.schedules.lock(connection, "Digest")
        fired = timers.look()

    assert (fired, timers.until_next(5.0)) == (0, 5.0)
    assert Timers(geneva.environment).wake_due().changed == 1


def test_a_schedule_that_cannot_be_fired_harms_no_other(
    geneva: gd.Drive, caplog: pytest.LogCaptureFixture
) -> None:
    class Bad(gd.Workflow):
        schedule = gd.cron("0 9 * * *")

        @gd.step
        def work(self) -> None: ...

    class Good(gd.Workflow):
        schedule = gd.cron("0 9 * * *")

        @gd.step
        def work(self) -> None: ...

    set_clock(geneva, MORNING)
    timers = Timers(geneva.environment)
    timers.look()
    store = geneva.store
    with store.transaction() as connection:
        known = store.schedules.lock(connection, "Bad")
        assert known is not None
        store.schedules.update(connection, known, {"timezone": "Mars/Olympus"})
    set_clock(geneva, at(9))

    with caplog.at_level(logging.WARNING):
        timers.look()
        timers.look()

    assert runs_of(geneva, Good) == [("02 09:00", "started")]
    assert caplog.messages == [
        "Schedule Bad cannot be fired by this worker: This machine does not know the time zone "
        "'Mars/Olympus', which another process has stored. Update its time zones, or the package "
        "tzdata."
    ]
