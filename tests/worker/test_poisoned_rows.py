"""A row that the database refuses to change stands in nobody's way, whatever it waits for."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.engine.limits import waiters
from geneva_drive.engine.limits.capacity import RECHECK_DELAY
from geneva_drive.engine.waits import wait
from geneva_drive.testing import drain
from geneva_drive.worker.housekeeping.limit_waiters import LimitWaiters
from geneva_drive.worker.housekeeping.waits.unreleased_waits import UnreleasedWaits
from tests.worker.poison import poisoned

KEY = "test_poisoned_rows.dock"


class Unloading(gd.Workflow[Any]):
    type_name = "test_poisoned_rows.Unloading"

    @gd.step(limit=gd.Limit(key=KEY, concurrency=2))
    def unload(self) -> None: ...


class Other(gd.Workflow[Any]):
    type_name = "test_poisoned_rows.Other"

    @gd.step
    def work(self) -> None: ...


class Voyage(gd.Workflow[Any]):
    type_name = "test_poisoned_rows.Voyage"

    inner = gd.child(Other)


def _park(drive: gd.Drive, ships: list[gd.WorkflowHandle[Any]]) -> None:
    """Let all of them wait for the limit, as if others had held it a moment ago."""
    store = drive.store
    table = store.tables.step_executions

    with drive.engine.begin() as connection:
        store.limits.insert(connection, KEY)
        store.limits.change(
            connection, KEY, concurrency=2, rate=None, wakes_at=drive.environment.clock.now()
        )
        connection.execute(
            table.update()
            .where(table.c.workflow_id.in_([ship.id for ship in ships]))
            .values(claimable=False, limit_key=KEY)
        )


def test_parked_behind_a_row_that_cannot_be_let_go(
    geneva: gd.Drive, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    refused = Unloading.create(priority=66)
    ships = [Unloading.create() for _ in range(3)]
    _park(geneva, [refused, *ships])

    with poisoned(geneva, database, "OLD.priority = 66"):
        Other.create()
        geneva.worker().run_until_idle()

    assert (Other.finished().count(), Unloading.finished().count()) == (1, 3)
    key = refused.step_executions[0].id
    told = [message for message in caplog.messages if "cannot be woken" in message]
    assert [m.startswith(f"Execution {key} waits for a limit") for m in told] == [True]


def test_who_cannot_be_let_go_is_let_go_by_another_once_the_row_is_mended(
    geneva: gd.Drive, database: str
) -> None:
    ship = Unloading.create(priority=66)
    _park(geneva, [ship])
    parked, before = LimitWaiters(geneva.environment), geneva.clock.now()

    with poisoned(geneva, database, "OLD.priority = 66"):
        let_go = [parked.wake_due() for _ in range(2)]
    with geneva.store.reading() as connection:
        limit = geneva.store.limits.get(connection, KEY)

    assert let_go == [0, 0]
    assert limit is not None
    assert limit.wakes_at is not None
    assert limit.wakes_at >= before + RECHECK_DELAY  # not at once, and again and again
    assert LimitWaiters(geneva.environment).wake_for([KEY]) == 1
    drain(geneva)
    assert ship.reload().state == "finished"


def test_more_that_cannot_be_let_go_than_one_look_takes(
    geneva: gd.Drive, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiters, "_MOST_WOKEN", 3)
    refused = [Unloading.create(priority=66) for _ in range(5)]
    ship = Unloading.create()
    _park(geneva, [*refused, ship])
    parked = LimitWaiters(geneva.environment)

    with poisoned(geneva, database, "OLD.priority = 66"):
        let_go = [parked.wake_for([KEY]) for _ in range(3)]

    assert sum(let_go) == 1
    drain(geneva)
    assert ship.reload().state == "finished"


def test_parents_behind_a_node_that_cannot_be_woken(
    geneva: gd.Drive,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    refused = Voyage.create(priority=66)
    voyages = [Voyage.create() for _ in range(3)]
    with monkeypatch.context() as crash:
        crash.setattr(wait, "release", lambda environment, execution_ids: 0)
        drain(geneva)
    assert Voyage.finished().count() == 0

    monkeypatch.setattr("geneva_drive.worker.housekeeping.waits.unreleased_waits._BATCH", 1)
    waits = UnreleasedWaits()
    with poisoned(geneva, database, "OLD.priority = 66"):
        rounds = [waits(geneva.environment).changed for _ in range(5)]

    assert sum(rounds) == 3
    told = [message for message in caplog.messages if "cannot be released" in message]
    assert len(told) == 1
    drain(geneva)
    assert {voyage.reload().state for voyage in voyages} == {"finished"}
    assert refused.reload().state == "finished"  # by a duty that has not met with a refusal
