"""Due sleepers are woken in batches, between which a poller may claim."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.worker.housekeeping import wake_due
from geneva_drive.worker.housekeeping.duty import Round
from tests.worker.at_once import at_once
from tests.worker.conftest import MakeDrive

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
    assert wake_due(geneva.environment) == Round(0, False)
    geneva_clock.advance(DAY)

    rounds = [wake_due(geneva.environment) for _ in range(2)]

    assert rounds == [Round(2, True), Round(1, False)]
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
