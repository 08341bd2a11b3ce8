"""Due sleepers are woken in batches, between which a poller may claim."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.worker.housekeeping.duty import DutyRound
from geneva_drive.worker.housekeeping.timers import Timers
from tests.worker.at_once import at_once
from tests.worker.conftest import MakeDrive
from tests.worker.poison import poisoned

DAY = timedelta(days=1)
BATCH = "geneva_drive.worker.housekeeping.timers._BATCH"


class Reminder(gd.Workflow[Any]):
    type_name = "test_waking.Reminder"

    @gd.step(wait=DAY)
    def remind(self) -> None: ...


def claimable(drive: gd.Drive) -> int:
    table = drive.store.tables.step_executions
    with drive.store.reading() as connection:
        return len(connection.execute(table.select().where(table.c.claimable)).all())


def test_a_round_wakes_one_batch_and_says_whether_more_are_due(
    geneva: gd.Drive, geneva_clock: ShiftedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BATCH, 2)
    for _ in range(3):
        Reminder.create()
    timers = Timers(geneva.environment)
    assert timers.wake_due() == DutyRound(0, False)
    geneva_clock.advance(DAY)

    rounds = [timers.wake_due() for _ in range(2)]

    assert rounds == [DutyRound(2, True), DutyRound(1, False)]
    assert claimable(geneva) == 3


def test_housekeeping_wakes_all_that_are_due(
    geneva: gd.Drive, geneva_clock: ShiftedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BATCH, 2)
    for _ in range(5):
        Reminder.create()
    geneva_clock.advance(DAY)

    assert geneva.housekeep() == 5

    assert claimable(geneva) == 5


def test_two_at_once_wake_each_sleeper_once(
    geneva: gd.Drive,
    make_drive: MakeDrive,
    geneva_clock: ShiftedClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BATCH, 3)
    for _ in range(30):
        Reminder.create()
    geneva_clock.advance(DAY)
    drives = [make_drive(clock=geneva_clock), make_drive(clock=geneva_clock)]

    counts = at_once(drives, lambda drive: drive.housekeep())

    assert sum(counts) == 30
    assert claimable(geneva) == 30


class Poison(gd.Workflow[Any]):
    type_name = "test_waking.Poison"

    @gd.step(wait=DAY, priority=66)
    def remind(self) -> None: ...


def test_a_row_that_cannot_be_changed_is_told_once_and_stands_in_nobodys_way(
    geneva: gd.Drive,
    database: str,
    geneva_clock: ShiftedClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(BATCH, 3)
    refused = Poison.create()
    for _ in range(5):
        Reminder.create()
    geneva_clock.advance(DAY)

    with poisoned(geneva, database, "OLD.priority = 66"):
        timers = Timers(geneva.environment)
        woken = [timers.look() for _ in range(4)]
        rests = timers.until_next(60.0)

    assert woken == [2, 3, 0, 0]
    assert claimable(geneva) == 5
    assert rests == 60.0  # it is no reason to look again
    key = refused.step_executions[0].id
    told = [message for message in caplog.messages if "cannot be woken" in message]
    assert [message.startswith(f"Execution {key} cannot be woken") for message in told] == [True]


def test_a_worker_works_beside_a_row_that_cannot_be_woken(
    geneva: gd.Drive, database: str, geneva_clock: ShiftedClock
) -> None:
    Poison.create()
    for _ in range(3):
        Reminder.create()
    geneva_clock.advance(DAY)

    with poisoned(geneva, database, "OLD.priority = 66"):
        geneva.worker().run_until_idle()

    assert Reminder.finished().count() == 3
