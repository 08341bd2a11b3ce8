"""Deleting what ended long ago."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.testing import speedrun

DAY = timedelta(days=1)


class Delivery(gd.Workflow[Any]):
    type_name = "test_pruning.Delivery"

    @gd.step
    def pack(self) -> None: ...


def rows(drive: gd.Drive) -> dict[str, int]:
    """How many rows each table has, workers aside."""
    tables = drive.store.tables
    with drive.store.reading() as connection:
        return {
            name: len(connection.execute(getattr(tables, name).select()).all())
            for name in ("workflows", "step_executions", "audit_entries", "dead_letters")
        }


def test_workflows_that_ended_long_ago_are_deleted_with_all_that_belongs_to_them(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    speedrun(Delivery.create().pause().resume())
    Delivery.create().cancel()
    geneva_clock.advance(3 * DAY)

    assert geneva.prune(older_than=2 * DAY) == 2
    assert rows(geneva) == {
        "workflows": 0,
        "step_executions": 0,
        "audit_entries": 0,
        "dead_letters": 0,
    }


def test_workflows_that_ended_lately_are_kept(geneva: gd.Drive, geneva_clock: ShiftedClock) -> None:
    workflow = speedrun(Delivery.create())
    geneva_clock.advance(DAY)

    assert geneva.prune(older_than=2 * DAY) == 0
    assert workflow.reload().state == "finished"


def test_ongoing_workflows_are_kept_however_old(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    ready, paused = Delivery.create(), Delivery.create().pause()
    geneva_clock.advance(1000 * DAY)

    assert geneva.prune(older_than=DAY) == 0
    assert gd.Workflow.ongoing().ids() == [ready.id, paused.id]


def test_pruning_goes_on_until_nothing_is_left_to_delete(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("geneva_drive.worker.housekeeping.retention._BATCH", 2)
    for _ in range(5):
        Delivery.create().cancel()

    assert geneva.prune(older_than=0) == 5
    assert rows(geneva)["workflows"] == 0


def test_without_an_age_the_setting_rules(geneva: gd.Drive) -> None:
    workflow = Delivery.create().cancel()

    assert gd.Drive(geneva.engine, retention="7d").prune() == 0
    assert workflow.reload().state == "canceled"


def test_without_an_age_and_a_setting_nothing_is_deleted(geneva: gd.Drive) -> None:
    Delivery.create().cancel()

    with pytest.raises(gd.errors.InvalidInput) as refusal:
        geneva.prune()

    assert str(refusal.value) == "prune() needs older_than=..., or the setting retention."
    assert rows(geneva)["workflows"] == 1


def test_a_negative_age_is_refused(geneva: gd.Drive) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        geneva.prune(older_than=-1)

    assert str(refusal.value) == "prune(older_than=...): -1 is negative."
